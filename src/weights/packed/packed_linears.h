// GPTQ and AWQ: linear layers whose weights a checkpoint stores as 4-bit codes with a scale and a zero point for each group of inputs.
//
//   X.qweight, X.qzeros, X.scales (, X.g_idx)  →  X.weight [N, K],  W[n, k] = scale[g, n] · (code − zero[g, n])
//
//   GPTQ  qweight i32 [K/8, N], 8 inputs in a word; qzeros i32 [K/G, N/8]; g = g_idx[k], or k/G without it. A stored zero z stands
//         for (z + 1) mod 16; in files of the format gptq_v2 for z.
//   AWQ   (GEMM) qweight i32 [K, N/8]; qzeros i32 [K/G, N/8]; in a word the columns 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bits on.
//
// What a layer becomes has the same values, bit for bit: q4_0 where every zero point is 8, else q5_0 (code − zero lies in [−16, 16) and a
// scale is binary16). Where groups are not runs of whole blocks of inputs (act-order) or scales are no binary16 numbers it is f32.
#pragma once

#include <optional>

#include "core/files/config.h"
#include "weights/weights.h"

namespace hearth {

struct PackedFormat {
  enum class Kind { gptq, gptq_v2, awq } kind = Kind::gptq;
  int64_t group = 128;  // inputs that share a scale; 0: all of them
  bool symmetric = false, act_order = false;
};

// From "quantization_config" of config.json, or from a quantize_config.json beside it; nothing where there is neither. UnsupportedError
// for another method, a number of bits other than 4, another packing, and settings for single modules.
std::optional<PackedFormat> read_packed_format(const Config& config, const std::filesystem::path& folder);

// The source with `X.weight` in place of the packed tensors; all others as they are. WeightError for packed tensors that are missing
// or do not fit together. list() says q4_0, q5_0 or f32 as the format leads to expect; read() may know better.
std::shared_ptr<TensorSource> unpacked(std::shared_ptr<TensorSource> source, const PackedFormat& format);

// The biases of packed layers in which every bit is 0. AutoGPTQ wrote one for every layer, whether the model has
// biases or not; transformers leaves those aside that it does not have.
std::vector<std::string> zero_biases(const TensorSource& packed);

}  // namespace hearth
