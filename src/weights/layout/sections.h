// The networks that a file holds, found by their structure: single files with all components, files of one component in any layout.
#pragma once

#include "weights/layout/image_files.h"

namespace hearth {

struct Section {
  const NetworkFiles* network = nullptr;
  const Spelling* spelling = nullptr;
  std::string prefix;              // of every name
  std::vector<const Slot*> slots;  // that it may fill: usually one; if families differ, model_index.json decides

  const Slot& slot() const { return *slots.front(); }
};

// Every network in `tensors`. A network without a prefix fills the slots that its families assign to it. UnsupportedError if two sets of
// tensors match the same component.
std::vector<Section> find_sections(const TensorList& tensors, std::span<const KnownFamily> families, const std::string& where);

// The denoiser among them, or nullptr.
const Section* denoiser_of(std::span<const Section> sections);

// The contents of a file, for messages: "UNet, VAE"; "FLUX.1 dev"; "a GGUF model of the architecture 'bert'"; "no network that hearth
// recognizes". `architecture`: gguf_architecture() of the file.
std::string contents_of(const TensorList& tensors, std::span<const Section> sections, std::span<const KnownFamily> families,
                        const std::string& architecture = {});

struct SectionOptions {
  const nlohmann::json* config = nullptr;  // the component's config.json; null: unknown
  bool averaged = false;                   // use the moving average (model_ema.…) instead of the weights of the last training step
};
// The section's tensors under their official names. WeightError if `averaged` is set and the file lacks a tensor's average.
std::shared_ptr<TensorSource> open_section(std::shared_ptr<TensorSource> source, const Section& section, const SectionOptions& options);

// Names outside every section that are not leftovers of any family that the file may belong to.
std::vector<std::string> unknown_names(const TensorList& tensors, std::span<const Section> sections, std::span<const KnownFamily> families);

}  // namespace hearth
