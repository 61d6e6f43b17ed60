// Networks of image models in the form of a GGUF file.
#pragma once

#include "api/files/gguf_export.h"
#include "weights/checkpoint.h"

namespace hearth::api {

// Whether `path` is an image model or a component of one: a folder in the diffusers layout, DDUF, or a file or component's folder in which
// a family recognizes a network.
bool holds_image_networks(const std::filesystem::path& path);

// One network under the names of its original layout, without a prefix, and with the architecture and keys that its readers expect: a
// denoiser as ComfyUI's GGUF loader has it, a T5 as llama.cpp. `component`: of a model at `path`, or a file or folder of its own; empty:
// the denoiser, or the only network of a file. UnsupportedError for a network that GGUF has no architecture for, WeightError for a
// component that `path` does not hold.
GgufExport export_component(const std::filesystem::path& path, const std::string& component, const std::string& variant);
// The same for a component of an open checkpoint.
GgufExport export_component(const Checkpoint& checkpoint, const std::string& component, const std::string& variant);

// All networks under the names and prefixes of the model's single-file layout, without an architecture, as stable-diffusion.cpp writes
// them.
GgufExport export_networks(const Checkpoint& checkpoint, const std::string& variant);

// The role of a tensor of an image model's network, by its name in the file and the official names of what it holds.
ExportedTensor::Role gguf_role(const std::string& name, const Shape& shape, std::span<const std::string> official,
                               const GgufLayout& layout);

}  // namespace hearth::api
