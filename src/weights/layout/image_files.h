// What a family of image models is in files, as data of the family's own folder. The engines in this folder read and write files by it and
// know no family.
#pragma once

#include <filesystem>

#include "hearth/component.h"
#include "weights/inspection/signatures.h"
#include "weights/layout/network_files.h"

namespace hearth {

// A network's place in a model. Families that have one of the same name have the same row.
struct Slot {
  std::string_view name;    // in model_index.json: "text_encoder_2"
  std::string_view spoken;  // "second text encoder"
  ComponentRole role = ComponentRole::denoiser;
};

// A network behind a prefix of names is what fills a slot.
struct NetworkPlace {
  std::string_view prefix;  // "model.diffusion_model."; empty in files of one network
  const NetworkFiles* network = nullptr;
  const Slot* slot = nullptr;
};

// Where a component goes in a single file, and under which names.
struct WrittenPlace {
  const Slot* slot = nullptr;
  const NetworkFiles* network = nullptr;
  std::string_view spelling, prefix;
  bool (*holds)(const Config& config) = nullptr;  // whether it is one that this layout has, by its config.json; absent: any is
};

// What a denoiser predicts, and how a single file says so.
struct Prediction {
  std::string_view type;                 // prediction_type in the scheduler's file: "v_prediction"
  std::vector<std::string_view> stated;  // modelspec.prediction_type in the metadata; the first is the one that is written: "v"
  std::string_view marker = {};          // a tensor that says it by being there: "v_pred"
  std::string_view spoken = {};          // where it is not what the configuration says: "v-prediction"
};

// A tensor of a single file that says what a key of the scheduler's file is.
struct SchedulerMarker {
  std::string_view tensor, key;
  std::string_view value = {};   // as JSON; empty: the tensor's only number
  std::string_view spoken = {};  // "zero terminal SNR"
};

// The files of a tokenizer that configurations leave out, since all models have the same: assets/FOLDER/FILE, unless the configuration
// has the file `instead`.
struct Vocabulary {
  std::string_view component, folder;
  std::vector<std::string_view> files;
  std::string_view instead;
};

struct ImageFiles {
  std::vector<const Slot*> slots;          // in the order in which people are told of them
  std::vector<NetworkPlace> places;        // in single files of its layouts and in files of one component
  std::vector<std::string> leftovers;      // patterns: names outside of every network that makers leave in files
  std::vector<Prediction> predictions;     // empty: the scheduler's file has no prediction_type
  std::vector<SchedulerMarker> markers;    // besides those of predictions
  std::vector<Vocabulary> vocabularies;    // of its tokenizers
  std::vector<WrittenPlace> written;       // by hearth convert; empty: its layout is not written
  std::vector<Signature> (*signatures)();  // by which its networks are recognized
  // The prediction's type where neither markers nor metadata say it and configurations of one geometry differ in it, from the denoiser's
  // tensors under their official names; nothing where they do not tell. Absent: the first configuration's holds.
  std::optional<std::string_view> (*guess_prediction)(const TensorSource& denoiser) = nullptr;
};

// A family's files, and the folder of its built-in configurations: configurations/NAME, each a diffusers folder without weights, with or
// without vocabulary, whose model_index.json has these keys beside its own:
//
//   _name    what `hearth inspect` calls it
//   _base    the configuration, of any family, that has the files which are not here
//   _marker  a tensor that a file must hold for this configuration to be taken
struct KnownFamily {
  const ImageFiles* files = nullptr;
  std::filesystem::path configurations;  // may be missing
};

// What several families have in common counts once, in the order of the families.
std::vector<const NetworkFiles*> networks_of(std::span<const KnownFamily> families);
std::vector<const Slot*> slots_of(std::span<const KnownFamily> families);
std::vector<Signature> signatures_of(std::span<const KnownFamily> families);
// Null where no family has it.
const NetworkFiles* network_of(std::span<const KnownFamily> families, std::string_view class_name);
const Slot* slot_of(std::span<const KnownFamily> families, std::string_view name);
// What people call a component, "second text encoder"; its own name where no family has it.
std::string spoken_name(std::span<const KnownFamily> families, std::string_view component);
std::string flag_of(std::string_view component);  // "--text-encoder-2"

}  // namespace hearth
