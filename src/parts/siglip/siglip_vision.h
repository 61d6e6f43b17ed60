// The vision tower of SigLIP (Zhai et al. 2023, arXiv 2303.15343), after transformers' SiglipVisionModel, and the embedder that turns its
// states into text states.
#pragma once

#include <vector>

#include "nn/encoder_layer.h"
#include "parts/siglip/config.h"

namespace hearth::parts {

struct SiglipVisionModel {
  SiglipVisionModel(const Scope& w, const SiglipVisionConfig& config);

  // image [B, image_size, image_size, channels], normalized → states of the patches, row by row, after the final norm
  // [B, config.tokens(), width]. The pooled output of the reference (`head`) is not computed. ShapeError for another size.
  Tensor operator()(const Tensor& image) const;

  SiglipVisionConfig config;
  nn::Conv2d patch_embedding;        // vision_model.embeddings.…
  nn::Embedding position_embedding;  // one row per patch
  std::vector<nn::EncoderLayer> layers;
  nn::LayerNorm post_layernorm;
};

// redux_down(silu(redux_up(x))), after diffusers' ReduxImageEncoder.   x [B, T, in] → [B, T, out]
struct ReduxImageEncoder {
  ReduxImageEncoder(const Scope& w, const ReduxConfig& config);
  Tensor operator()(const Tensor& x) const;

  nn::Linear redux_up, redux_down;  // [3·out, in], [out, 3·out]
};

}  // namespace hearth::parts
