// Writes a model to a GGUF file: reads its tensors one at a time, brings them into their form, and converts their values.
#pragma once

#include "api/files/gguf_export.h"
#include "hearth/progress.h"
#include "hearth/written.h"

namespace hearth::api {

// `chosen`: the types, in the order of the model's tensors. Blocks that keep their type are copied. Phase "quantize", in values.
// WeightError for a NaN or infinity, and for a value that its type cannot hold; Canceled; IoError.
void write_export(const std::filesystem::path& path, const GgufExport& model, std::span<const GgufTensor> chosen, Backend& device,
                  const OnProgress& progress);

// The report of the written file.
WrittenWeights written(const std::filesystem::path& path, const GgufExport& model, std::span<const GgufTensor> chosen);

}  // namespace hearth::api
