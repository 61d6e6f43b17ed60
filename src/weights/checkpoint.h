// Checkpoint: a model as its makers publish it, shown as diffusers lays it out: model_index.json and components, each with a
// configuration and tensors under official names. What it is made of: a diffusers folder, or one in a DDUF file; a single file, safetensors
// or pickled, in CompVis' or Stability's layout (weights/layout); either with components in place of its own.
//
//   const Checkpoint checkpoint = models::open_checkpoint("stable-diffusion-v1-5");
//   const Config config = checkpoint.config("unet");
//   Weights weights(checkpoint.tensors("unet", variant), backend, {.ignore = checkpoint.ignored("unet")});
#pragma once

#include <filesystem>
#include <optional>

#include "core/files/config.h"
#include "weights/checkpoint_files.h"
#include "weights/layout/dduf.h"
#include "weights/layout/single_file.h"
#include "weights/model_index.h"

namespace hearth {

// What a checkpoint is read by, and where parts of it lie that are not under its own path.
struct CheckpointPlaces {
  std::vector<KnownFamily> families;  // models/checkpoints.h has those of this build
  std::filesystem::path assets;       // vocabularies, for what the configurations of a single file leave out
  // Of a single file: a diffusers folder whose configurations are to hold, weights or not. What it lacks, a component or its
  // model_index.json, is that of the built-in configuration which would have been taken without it; notes() tells.
  std::filesystem::path config;
  std::map<std::string, std::filesystem::path> components;  // by name, in place of its own
  bool averaged = false;  // of a single file: the denoiser's moving average (model_ema.…) in place of its weights
};

class Checkpoint {
 public:
  // IoError for a folder that is missing, empty or without model_index.json, and for a malformed one. Components nobody asks for
  // may lack their folders: many people delete the safety checker's. Of a single file: UnsupportedError where it is none that hearth
  // knows. UsageError for a place that the checkpoint has no use for.
  static Checkpoint open(const std::filesystem::path& path, const CheckpointPlaces& places);

  const std::filesystem::path& root() const { return root_; }  // the folder or file
  bool is_file() const { return single_file_ || archive_; }
  bool is_single_file() const { return single_file_; }  // networks alone, in one file: neither a folder nor DDUF
  // What the built-in configurations of a single file are of, and what it changes of them, "NAME, v-prediction"; empty for anything else.
  const std::string& published_name() const { return published_name_; }
  // Networks that a single file lacks and nobody has given: "vae".
  std::vector<std::string> lacking() const;
  // A file as reports call it: relative to the checkpoint's folder where it is inside, else absolute.
  std::string shown(const std::filesystem::path& file) const;
  std::filesystem::path found(const std::string& shown) const;              // and back
  const std::vector<std::string>& notes() const { return notes_; }          // one line each: tensors that nobody knows and nothing uses
  const std::string& pipeline_class() const { return pipeline_class_; }     // `_class_name`
  const std::vector<Component>& components() const { return components_; }  // without those that are null
  const Config& index() const { return index_; }                            // model_index.json; components count as read

  bool has(std::string_view name) const { return find(name) != nullptr; }  // named in the index and not null
  // WeightError for a component that the checkpoint lacks.
  const Component& component(std::string_view name) const;
  std::filesystem::path folder(std::string_view name) const;  // IoError when it is not there
  // What messages call a component's place: its folder, or what stands for it.
  std::string place_of(std::string_view name) const { return (configs_of(name) / component(name).name).string(); }
  std::string spoken_name(std::string_view name) const { return hearth::spoken_name(families_, name); }
  bool is_there(std::string_view name) const;  // its folder, or what stands for it
  // A text file of a component (of a tokenizer: vocab.json …); nothing where it is not there. Those that the configurations of a single
  // file leave out are the built-in ones (Vocabulary). IoError where it cannot be read, and where neither the configurations given for a
  // single file nor a built-in one have the component.
  std::optional<std::string> text_file(std::string_view name, const std::string& file) const;
  // UnsupportedError naming class and component unless its class is one of these.
  void require_class(std::string_view name, std::initializer_list<std::string_view> classes) const;

  // config.json; scheduler_config.json, tokenizer_config.json or preprocessor_config.json for classes of these kinds.
  Config config(std::string_view name) const;
  std::string config_text(std::string_view name) const;       // its JSON
  std::string config_file_name(std::string_view name) const;  // "config.json", "scheduler_config.json"
  std::string index_text() const;                             // that of model_index.json

  // The component's tensors under their official names. With a variant that this component lacks but
  // another one has, its full-precision files, as the reference does: files() tells. Errors: weights/checkpoint_files.h.
  std::shared_ptr<TensorSource> tensors(std::string_view name, const std::string& variant = {}) const;
  WeightFiles files(std::string_view name, const std::string& variant = {}) const;
  std::vector<std::string> ignored(std::string_view name) const;
  bool is_decoder_alone(std::string_view name) const;  // an autoencoder without its encoder, given in place of the checkpoint's own
  // What tells a component's tensors from others in the same files, for whoever keeps what is made of them; empty where they have files of
  // their own.
  std::string part_of_files(std::string_view name) const;

 private:
  const Component* find(std::string_view name) const;
  void read_index();
  void take_single_file(const CheckpointPlaces& places);
  void note_published();
  void fill_slots(std::vector<SingleFile::Part> parts);
  void take_component(const std::string& name, GivenComponent given);
  void name_given_classes();                                                 // a component is of a class of the network in its place
  std::optional<std::string> read(const std::filesystem::path& file) const;  // "unet/config.json"
  const GivenComponent* given(std::string_view name) const;
  [[noreturn]] void refuse_absent(std::string_view name) const;
  bool is_published(std::string_view name) const;  // a component (or model_index.json) that published_ says, not configs_
  const std::filesystem::path& configs_of(std::string_view name) const { return is_published(name) ? published_ : configs_; }

  std::vector<KnownFamily> families_;
  std::filesystem::path root_, configs_;      // configs_: the folder with the configurations
  std::filesystem::path published_, assets_;  // published_: of a single file, the built-in ones; empty where none have its geometry
  std::vector<const ImageFiles*> may_be_of_;  // SingleFile::families
  bool single_file_ = false, averaged_ = false;
  std::shared_ptr<const DdufFile> archive_;  // of a DDUF file
  std::string published_name_;
  std::string contents_;                         // of the single file, for messages
  std::map<std::string, GivenComponent> given_;  // not from the folders
  std::map<std::string, std::string> patch_;     // Chosen::patch
  std::vector<std::string> notes_;
  std::string pipeline_class_;
  std::vector<Component> components_;
  Config index_;
};

}  // namespace hearth
