// Checkpoint: a published image model, presented in the layout of diffusers: model_index.json and components, each with a configuration and
// tensors under official names. It is a diffusers folder, a DDUF file (such a folder in one archive), or a single file, safetensors or
// pickled, in CompVis' or Stability's layout (weights/layout). In each, the user can replace components.
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

// What opening a checkpoint needs: the tables of the families, and the paths of files outside the checkpoint.
struct CheckpointPlaces {
  std::vector<KnownFamily> families;  // models/checkpoints.h lists those of this build
  std::filesystem::path assets;       // tokenizer files that the configurations of a single file omit
  // For a single file: a diffusers folder, with or without weights, whose configurations replace the built-in ones. A component or
  // model_index.json that it lacks comes from the built-in configuration that would have been used without it; notes() reports this.
  std::filesystem::path config;
  std::map<std::string, std::filesystem::path> components;  // by name; each replaces the checkpoint's own, or adds one (Slot::adds)
  std::string variant = {};                                 // of the folders in `components`: "fp16"; in full precision those that lack it
  bool averaged = false;  // for a single file: use the denoiser's moving average (model_ema.…) instead of its weights
};

class Checkpoint {
 public:
  // IoError for a folder that is missing, empty or without model_index.json, and for a malformed model_index.json. Components that are not
  // used may lack their folders: many users delete that of the safety checker. UnsupportedError for a single file of an unknown model.
  // UsageError for an entry of `places` that does not apply to the checkpoint.
  static Checkpoint open(const std::filesystem::path& path, const CheckpointPlaces& places);

  const std::filesystem::path& root() const { return root_; }  // the folder or file
  bool is_file() const { return single_file_ || archive_; }
  bool is_single_file() const { return single_file_; }  // only networks, in one file: neither a folder nor DDUF
  // For a single file: the model of its built-in configurations and the changes to them, "NAME, v-prediction"; empty for anything else.
  const std::string& published_name() const { return published_name_; }
  // Networks that a single file lacks and the user has not given: "vae".
  std::vector<std::string> lacking() const;
  // The path of a file in reports: relative to the checkpoint's folder if the file is inside it, else absolute.
  std::string shown(const std::filesystem::path& file) const;
  std::filesystem::path found(const std::string& shown) const;              // the inverse of shown()
  const std::vector<std::string>& notes() const { return notes_; }          // remarks of one line each, such as unknown, unused tensors
  const std::string& pipeline_class() const { return pipeline_class_; }     // `_class_name`
  const std::vector<Component>& components() const { return components_; }  // except null ones
  const Config& index() const { return index_; }                            // model_index.json; its components count as read

  bool has(std::string_view name) const { return find(name) != nullptr; }  // listed in the index and not null
  // WeightError for a component that the checkpoint lacks.
  const Component& component(std::string_view name) const;
  std::filesystem::path folder(std::string_view name) const;  // IoError if it does not exist
  // A component's folder, or its equivalent in a file, for messages.
  std::string place_of(std::string_view name) const { return (configs_of(name) / component(name).name).string(); }
  std::string label_of(std::string_view name) const { return hearth::label_of(families_, name); }
  bool is_there(std::string_view name) const;  // whether its folder, or the equivalent in a file, exists
  // A text file of a component (of a tokenizer: vocab.json …; one that the user gives as a folder: any in it); nullopt if it does not
  // exist. Files that the configurations of a single file omit are the built-in ones (Vocabulary). IoError if the file cannot be read, or
  // if neither the configurations given for a single file nor a built-in configuration have the component.
  std::optional<std::string> text_file(std::string_view name, const std::string& file) const;
  // UnsupportedError that names class and component unless its class is one of `classes`.
  void require_class(std::string_view name, std::initializer_list<std::string_view> classes) const;

  // config.json, or for classes of that kind scheduler_config.json, tokenizer_config.json or preprocessor_config.json.
  Config config(std::string_view name) const;
  std::string config_text(std::string_view name) const;       // its JSON
  std::string config_file_name(std::string_view name) const;  // "config.json", "scheduler_config.json"
  std::string index_text() const;                             // the JSON of model_index.json

  // The component's tensors under their official names. If this component lacks the variant but another one has it, the full-precision
  // files are used, as in diffusers; files() returns the choice. Errors: weights/checkpoint_files.h.
  std::shared_ptr<TensorSource> tensors(std::string_view name, const std::string& variant = {}) const;
  WeightFiles files(std::string_view name, const std::string& variant = {}) const;
  std::vector<std::string> ignored(std::string_view name) const;
  const NetworkFiles* network(std::string_view name) const;        // the component's layouts; null if no family has its class
  std::vector<std::string> prefixes(std::string_view name) const;  // of its names in single files of any family
  const GgufFile* gguf(std::string_view name) const;               // the GGUF file of its tensors; null for other files
  bool is_added(std::string_view name) const;                      // the user adds it by a path (Slot::adds)
  bool is_decoder_alone(std::string_view name) const;              // an autoencoder without its encoder that replaces the checkpoint's own
  // Distinguishes a component's tensors from others in the same files, for the packed-weight cache; empty if the component has its own
  // files.
  std::string part_of_files(std::string_view name) const;

 private:
  const Component* find(std::string_view name) const;
  void read_index();
  void take_single_file(const CheckpointPlaces& places);
  void note_published();
  void fill_slots(std::vector<SingleFile::FoundComponent> parts);
  void take_component(const std::string& name, GivenComponent given);
  void name_given_classes();                                                 // sets the class of each replaced component to its network's
  std::optional<std::string> read(const std::filesystem::path& file) const;  // "unet/config.json"
  const GivenComponent* given(std::string_view name) const;
  [[noreturn]] void refuse_absent(std::string_view name) const;
  bool is_published(std::string_view name) const;  // whether a component (or model_index.json) comes from published_, not configs_
  const std::filesystem::path& configs_of(std::string_view name) const { return is_published(name) ? published_ : configs_; }

  std::vector<KnownFamily> families_;
  std::filesystem::path root_, configs_;      // configs_: the folder with the configurations
  std::filesystem::path published_, assets_;  // published_: for a single file, the built-in ones; empty if none match its sizes
  std::vector<const ImageFiles*> may_be_of_;  // SingleFile::families
  bool single_file_ = false, averaged_ = false;
  std::shared_ptr<const DdufFile> archive_;  // of a DDUF file
  std::string published_name_;
  std::string contents_;                         // of the single file, for messages
  std::map<std::string, GivenComponent> given_;  // components that do not come from the checkpoint's folders
  std::vector<std::string> added_;               // is_added()
  std::map<std::string, std::string> patch_;     // Chosen::patch
  std::vector<std::string> notes_;
  std::string pipeline_class_;
  std::vector<Component> components_;
  Config index_;
};

}  // namespace hearth
