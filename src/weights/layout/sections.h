// The networks that a file holds, found by their structure: single files with all components, files of one component in any layout.
#pragma once

#include "weights/layout/compvis_names.h"

namespace hearth {

enum class Naming { compvis, diffusers, open_clip, transformers, tiny /* AutoencoderTiny */, tiny_numbers /* its maker's */ };

struct Section {
  std::string component;  // as model_index.json calls it: "unet", "vae", "text_encoder", "text_encoder_2"
  Naming naming;
  std::string prefix;  // before every name
};

// Every network there is, one for each component. `bare` text encoders (no prefix) count as "text_encoder". UnsupportedError where two
// sets of tensors claim to be the same component.
std::vector<Section> find_sections(const TensorList& tensors, const std::string& where);

// The class of a section that is an autoencoder: "AutoencoderKL", "AutoencoderTiny".
std::string_view autoencoder_class(const Section& section);

struct SectionOptions {
  bool averaged = false;         // of the UNet: the moving average (model_ema.…) in place of the last step's
  bool class_embedding = false;  // UnetBlocks
};
// The section's tensors under their official names. WeightError with `averaged` where the file lacks a tensor's average.
std::shared_ptr<TensorSource> open_section(std::shared_ptr<TensorSource> source, const Section& section, const SectionOptions& options);

// Names of a single file that belong to no network and that makers are known to leave there: schedule buffers, training state, averages,
// markers. Anything else outside the sections is unknown and to be told.
bool is_leftover(std::string_view name);

}  // namespace hearth
