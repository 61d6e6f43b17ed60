// How the files of a family of image models look, as data that the family supplies. The code in this folder reads and writes files by these
// tables and knows no family.
#pragma once

#include <filesystem>

#include "hearth/component.h"
#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth {

// The role of a network in a model. Families that have a slot of the same name share one Slot.
struct Slot {
  std::string_view name;   // in model_index.json: "text_encoder_2"
  std::string_view label;  // "second text encoder"
  ComponentRole role = ComponentRole::denoiser;
  // Of a component that checkpoints lack and the user adds by a path: what it adds, for the flag's help; else empty. A path that holds
  // other such components of the family, too, adds them unless they have paths of their own.
  std::string_view adds = {};
  std::string_view flag = {};  // "--redux"; empty: from the name
};

// A network whose tensor names start with `prefix` fills `slot`.
struct NetworkPlace {
  std::string_view prefix;  // "model.diffusion_model."; empty in files of one network
  const NetworkFiles* network = nullptr;
  const Slot* slot = nullptr;
};

// The prefix and the names of a component in a single file that is written.
struct WrittenPlace {
  const Slot* slot = nullptr;
  const NetworkFiles* network = nullptr;
  std::string_view spelling, prefix;
  bool (*holds)(const Config& config) = nullptr;  // whether this layout supports a component with this config.json; absent: any
};

// What a denoiser predicts, and how a single file indicates it.
struct Prediction {
  std::string_view type;                 // prediction_type in the scheduler's file: "v_prediction"
  std::vector<std::string_view> stated;  // modelspec.prediction_type in the metadata; the first one is written: "v"
  std::string_view marker = {};          // a tensor whose presence indicates it: "v_pred"
  std::string_view label = {};           // in messages, if it differs from the configuration: "v-prediction"
};

// A tensor of a single file that sets a key of the scheduler's file.
struct SchedulerMarker {
  std::string_view tensor, key;
  std::string_view value = {};  // as JSON; empty: the tensor's only element
  std::string_view label = {};  // "zero terminal SNR"
};

// The files of a tokenizer that configurations omit, because all models have the same: assets/FOLDER/FILE, unless the configuration has the
// file `instead`.
struct Vocabulary {
  std::string_view component, folder;
  std::vector<std::string_view> files;
  std::string_view instead;
};

struct ImageFiles {
  std::vector<const Slot*> slots;           // in the order of reports
  std::vector<NetworkPlace> places;         // in single files of its layouts and in files of one component
  std::vector<std::string> leftovers;       // patterns: names outside every network that publishers leave in files
  std::vector<Prediction> predictions;      // empty: the scheduler's file has no prediction_type
  std::vector<SchedulerMarker> markers;     // in addition to those of predictions
  std::vector<Vocabulary> vocabularies;     // of its tokenizers
  std::vector<WrittenPlace> written;        // for hearth convert; empty: the layout cannot be written
  std::vector<Signature> (*signatures)();   // that identify its networks
  std::string_view gguf_architecture = {};  // general.architecture of its denoiser in GGUF files; empty: it is not written
  // Guesses the prediction type from the denoiser's tensors under their official names, if neither markers nor metadata state it and
  // configurations of the same sizes differ in it; nullopt if it cannot be determined. Absent: that of the first configuration.
  std::optional<std::string_view> (*guess_prediction)(const TensorSource& denoiser) = nullptr;
};

// A family's files, and the folder of its built-in configurations: configurations/NAME, each a diffusers folder without weights, with or
// without a vocabulary, whose model_index.json has these additional keys:
//
//   _name    its name in `hearth inspect`
//   _base    the configuration, of any family, that has the files that this one lacks
//   _marker  a tensor that a file must hold to match this configuration
struct KnownFamily {
  const ImageFiles* files = nullptr;
  std::filesystem::path configurations;  // may be missing
};

// Entries that several families share appear once, in the order of the families.
std::vector<const NetworkFiles*> networks_of(std::span<const KnownFamily> families);
std::vector<const Slot*> slots_of(std::span<const KnownFamily> families);
std::vector<Signature> signatures_of(std::span<const KnownFamily> families);
// nullptr if no family has it.
const NetworkFiles* network_of(std::span<const KnownFamily> families, std::string_view class_name);
const Slot* slot_of(std::span<const KnownFamily> families, std::string_view name);
// A component's name in messages, "second text encoder"; `component` itself if no family has it.
std::string label_of(std::span<const KnownFamily> families, std::string_view component);
std::string flag_of(std::string_view component);  // "--text-encoder-2"
std::string flag_of(const Slot& slot);

}  // namespace hearth
