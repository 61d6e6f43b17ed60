// Weights of 8-bit floats with a scale for each rectangle of a matrix, as transformers writes them.
//
//   X.weight f8_e4m3 [N, K], X.weight_scale_inv [⌈N/B₀⌉, ⌈K/B₁⌉]  →  X.weight [N, K],  W[n, k] = weight · scale[n/B₀, k/B₁]
//
// (Despite its name the scale is a factor.) Products have one scale for a row, so the weight is widened, as the makers' own script does: to
// the dtype in which the model computes, with one rounding. Weights with one scale, or one for each row, stay as they are stored
// (weights/layout/float8.h).
#pragma once

#include <set>

#include "weights/packed/made_tensors.h"

namespace hearth {

struct Rectangle {
  int64_t rows, columns;
};

// The weight X.weight with the scales `scale`, widened to `dtype`. WeightError if the parts do not fit.
MadeTensor widened_float8(const std::shared_ptr<const Parts>& parts, const std::string& weight, const std::string& scale,
                          const Rectangle& block, DType dtype);

// quant_method "fp8" of config.json: the source with all such weights widened, or with scales (weights/layout/float8.h) if
// weight_block_size is absent. UnsupportedError for another format or key with an effect, WeightError for 8-bit floats without a scale.
std::shared_ptr<TensorSource> unpacked_fp8(std::shared_ptr<TensorSource> source, const Config& model, const Config& quantization);

// quant_method "modelopt": 8-bit floats with one scale (quant_algo FP8). The scales of a KV cache are left out: hearth's is not of 8-bit
// floats. UnsupportedError for another algorithm.
std::shared_ptr<TensorSource> unpacked_modelopt(std::shared_ptr<TensorSource> source, const Config& quantization);

// WeightError for weights of 8-bit floats that lack a scale of this name. Returns the names of the scales of a KV cache.
std::set<std::string> check_float8_scales(const TensorSource& source, std::string_view scale);

}  // namespace hearth
