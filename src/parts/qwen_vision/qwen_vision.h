// The vision tower of Qwen 2.5 VL (Bai et al. 2025, arXiv 2502.13923), after transformers' Qwen2_5_VisionTransformerPretrainedModel,
// 4.57.1, for images: most layers attend within windows, some to the whole image, and squares of patches are merged at the end.
//
//   image [H, W, 3] → patches [H/p · W/p, C], window by window → layers → 2×2 patches side by side → MLP → [H/2p · W/2p, out], row by row
#pragma once

#include <array>
#include <span>
#include <vector>

#include "nn/layers.h"
#include "parts/qwen_vision/config.h"
#include "weights/blocks.h"

namespace hearth::parts {

// The order in which the tower computes the patches of an image of rows × columns patches.
struct QwenWindows {
  QwenWindows(const QwenVisionConfig& config, int64_t rows, int64_t columns);

  std::vector<int32_t> patches;                 // of place i: its patch, counted row by row
  std::vector<int32_t> places;                  // of each row of the result, counted row by row: its place among the squares
  std::vector<std::array<int64_t, 2>> windows;  // their first and last patch (excluded), in places
};

// x [P, C] of P patches → the same shape.
struct QwenVisionBlock {
  QwenVisionBlock(const Scope& w, const QwenVisionConfig& config, bool whole);
  // table [P, 2, head/2]: cosines and sines.
  Tensor operator()(const Tensor& x, const Tensor& table, std::span<const std::array<int64_t, 2>> windows) const;

  nn::RmsNorm norm1, norm2;
  nn::Linear qkv, proj;                      // attn
  nn::Linear gate_proj, up_proj, down_proj;  // mlp
  Activation activation;
  int64_t heads;
  bool whole;  // attends to the whole image
  std::string path;
};

struct QwenVision {
  QwenVision(const Scope& w, const QwenVisionConfig& config);

  // Pixels [H, W, channels] f32, normalized, with sides that are multiples of config.unit() → [H/unit · W/unit, out] f32, row by row.
  // ShapeError for others. Taps: each block under the path of the reference.
  Tensor operator()(const Tensor& pixels) const;

  QwenVisionConfig config;
  Weight embedding;  // patch_embed.proj.weight [C, channels, frames, patch, patch]
  Blocks<QwenVisionBlock> blocks;
  nn::RmsNorm ln_q;         // merger
  nn::Linear mlp_0, mlp_2;  // merger
};

}  // namespace hearth::parts
