// How a ControlNet for several kinds of control images (diffusers' ControlNetUnionModel, 0.39.0) fuses them.
//
// Its transformer attends along the batch axis, in the reference and in the authors' code, so that an image's result would depend on the
// others of its batch. Here each image is computed as the reference computes it alone: attention to the only token outputs its value. The
// fusion then depends on nothing but the control images, and is computed once for a run.
#pragma once

#include <span>
#include <vector>

#include "nn/layers.h"
#include "parts/controlnet/config.h"

namespace hearth::parts {

// x [B, C] → the same shape:  h = x + out_proj(v(ln_1(x)));   y = h + c_proj(quick_gelu(c_fc(ln_2(h)))).
struct FusionBlock {
  FusionBlock(const Scope& w, int64_t channels);
  Tensor operator()(const Tensor& x) const;

  nn::LayerNorm ln_1;
  Weight value;       // the last third of attn.in_proj_weight [3·C, C]
  Tensor value_bias;  // [C]
  nn::Linear out_proj;
  nn::LayerNorm ln_2;
  nn::Linear c_fc, c_proj;  // of mlp
};

struct HintFusion {
  HintFusion(const Scope& w, const ControlNetConfig& config);

  // hint [1, h, w, C] of an image of this type, which has this weight in the fusion → its share of the sum, of the same shape.
  Tensor share(const Tensor& hint, int64_t type, float weight) const;
  // What the types that are present add to the time embedding, [1, temb].
  Tensor embedding(std::span<const int64_t> present) const;

  ControlNetConfig config;
  Tensor task_embedding;            // [types, C]
  std::vector<FusionBlock> layers;  // transformer_layes.i, the reference's spelling
  nn::Linear spatial_ch_projs;
  nn::Linear add_embedding_1, add_embedding_2;  // control_add_embedding.linear_1, .linear_2
};

}  // namespace hearth::parts
