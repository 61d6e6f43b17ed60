// Checkpoint: a model as its makers publish it for diffusers: a folder with model_index.json and one folder per component.
//
//   const Checkpoint checkpoint = Checkpoint::open("stable-diffusion-v1-5");
//   const Config config = checkpoint.config("unet");
//   Weights weights(checkpoint.tensors("unet", variant), backend, {.ignore = checkpoint.ignored("unet")});
#pragma once

#include <filesystem>
#include <optional>

#include "core/config.h"
#include "weights/checkpoint_files.h"

namespace hearth {

struct Component {
  std::string name, library, class_name;  // "unet", "diffusers", "UNet2DConditionModel"
};

class Checkpoint {
 public:
  // IoError for a folder that is missing, empty or without model_index.json, and for a malformed one. Components nobody asks for
  // may lack their folders: many people delete the safety checker's.
  static Checkpoint open(const std::filesystem::path& root);

  const std::filesystem::path& root() const { return root_; }
  const std::string& pipeline_class() const { return pipeline_class_; }     // "StableDiffusionPipeline"
  const std::vector<Component>& components() const { return components_; }  // without those that are null
  const Config& index() const { return index_; }                            // model_index.json; components count as read

  bool has(std::string_view name) const { return find(name) != nullptr; }  // named in the index and not null
  // WeightError for a component that the checkpoint lacks.
  const Component& component(std::string_view name) const;
  std::filesystem::path folder(std::string_view name) const;  // IoError when it is not there
  // UnsupportedError naming class and component unless its class is one of these.
  void require_class(std::string_view name, std::initializer_list<std::string_view> classes) const;

  // config.json; scheduler_config.json, tokenizer_config.json or preprocessor_config.json for classes of these kinds.
  Config config(std::string_view name) const;

  // The component's tensors under their official names (weights/published_names.h). With a variant that this component lacks but
  // another one has, its full-precision files, as the reference does: files() tells. Errors: weights/checkpoint_files.h.
  std::shared_ptr<TensorSource> tensors(std::string_view name, const std::string& variant = {}) const;
  WeightFiles files(std::string_view name, const std::string& variant = {}) const;
  std::vector<std::string> ignored(std::string_view name) const;

 private:
  const Component* find(std::string_view name) const;

  std::filesystem::path root_;
  std::string pipeline_class_;
  std::vector<Component> components_;
  Config index_;
};

}  // namespace hearth
