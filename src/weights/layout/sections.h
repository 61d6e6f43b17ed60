// The networks that a file holds, found by their structure: single files with all components, files of one component in any layout.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth {

struct Section {
  const NetworkFiles* network = nullptr;
  const Spelling* spelling = nullptr;
  std::string prefix;              // before every name
  std::vector<const Slot*> slots;  // that it fills: one for most; where families differ, which of them model_index.json tells

  const Slot& slot() const { return *slots.front(); }
};

// Every network there is. Bare ones, without a prefix, count as what their families have them for. UnsupportedError where two sets of
// tensors claim to be the same component.
std::vector<Section> find_sections(const TensorList& tensors, std::span<const KnownFamily> families, const std::string& where);

// The denoiser among them, or null.
const Section* denoiser_of(std::span<const Section> sections);

// What a file holds, for messages: "UNet, VAE"; "FLUX.1 dev"; "no network that hearth knows".
std::string contents_of(const TensorList& tensors, std::span<const Section> sections, std::span<const KnownFamily> families);

struct SectionOptions {
  const nlohmann::json* config = nullptr;  // the component's config.json; null: not known
  bool averaged = false;                   // the moving average (model_ema.…) in place of the last step's
};
// The section's tensors under their official names. WeightError with `averaged` where the file lacks a tensor's average.
std::shared_ptr<TensorSource> open_section(std::shared_ptr<TensorSource> source, const Section& section, const SectionOptions& options);

// Names outside of every section that no list of leftovers has, of the families that the file may be of.
std::vector<std::string> unknown_names(const TensorList& tensors, std::span<const Section> sections, std::span<const KnownFamily> families);

}  // namespace hearth
