// GPTQ and AWQ: linear layers whose weights are stored as 4-bit codes, with a scale and a zero point for each group of inputs.
//
//   X.qweight, X.qzeros, X.scales (, X.g_idx)  →  X.weight [N, K],  W[n, k] = scale[g, n] · (code − zero[g, n])
//
//   GPTQ  qweight i32 [K/8, N], 8 inputs in a word; qzeros i32 [K/G, N/8]; g = g_idx[k], or k/G without it. A stored zero z means
//         (z + 1) mod 16; in the format gptq_v2 it means z.
//   AWQ   (GEMM) qweight i32 [K, N/8]; qzeros i32 [K/G, N/8]; a word holds the columns 0, 2, 4, 6, 1, 3, 5, 7, lowest bits first.
//
// The unpacked weights have the same values, bit for bit: q4_0 if every zero point is 8, else q5_0 (code − zero is in [−16, 16), and a
// scale is f16). If groups are not runs of whole blocks of inputs (act-order), or scales are not representable in f16, the weight is f32.
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

// Reads "quantization_config" of config.json, or quantize_config.json in the same folder; nullopt if neither exists. UnsupportedError for
// another method, a number of bits other than 4, another packing, or settings for individual modules.
std::optional<PackedFormat> read_packed_format(const Config& config, const std::filesystem::path& folder);

// The source with `X.weight` in place of the packed tensors; all others are unchanged. WeightError for packed tensors that are missing or
// inconsistent. list() gives the dtype that the format implies: q4_0, q5_0 or f32; that of read() depends on the values and may differ.
std::shared_ptr<TensorSource> unpacked(std::shared_ptr<TensorSource> source, const PackedFormat& format);

// The biases of packed layers in which every bit is 0. AutoGPTQ wrote one for every layer, even if the model has no biases; transformers
// ignores those that the model lacks.
std::vector<std::string> zero_biases(const TensorSource& packed);

}  // namespace hearth
