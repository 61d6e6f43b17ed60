// Writes a model to a GGUF file: reads its tensors one at a time, brings them into their form, and converts their values.
#pragma once

#include "api/files/gguf_export.h"
#include "hearth/progress.h"
#include "hearth/written.h"
#include "weights/gguf/imatrix.h"

namespace hearth::api {

// `chosen`: the types, in the order of the model's tensors. Blocks that keep their type are copied. Phase "quantize", in values.
// WeightError for a NaN or infinity, and for a value that its type cannot hold; Canceled; IoError. `importance`: of columns, for the types
// that use it (core/quantized/blocks.h); may be null.
void write_export(const std::filesystem::path& path, const GgufExport& model, std::span<const GgufTensor> chosen, Backend& device,
                  const OnProgress& progress, const Imatrix* importance = nullptr);

// Compares an importance matrix with the tensors that could use it. Notes the matrices of blocks ("blk.…") that it lacks, and those that no
// token reached. WeightError if it has other columns, or none of the tensors: then it is of another model.
void check_importance(const Imatrix& importance, const std::string& where, std::span<const GgufTensor> chosen,
                      std::vector<std::string>& notes);

// The report of the written file.
WrittenWeights written(const std::filesystem::path& path, const GgufExport& model, std::span<const GgufTensor> chosen);

}  // namespace hearth::api
