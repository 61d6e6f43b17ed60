// The vision tower of CLIP (Radford et al. 2021, arXiv 2103.00020), after transformers' CLIPVisionModelWithProjection.
#pragma once

#include <optional>

#include "nn/encoder_layer.h"
#include "parts/clip_vision/config.h"
#include "weights/blocks.h"

namespace hearth::parts {

struct ClipVisionOutput {
  Tensor penultimate;   // [B, tokens, C]: states of the layer before the last one, without a norm (hidden_states[-2])
  Tensor pooled;        // [B, C]: the class token after the last layer and the final norm
  Tensor image_embeds;  // [B, projection]: pooled · visual_projectionᵀ; undefined without projection
};

struct ClipVisionModel {
  ClipVisionModel(const Scope& w, const ClipVisionConfig& config);

  // image [B, image_size, image_size, channels], normalized. ShapeError for another size.
  ClipVisionOutput operator()(const Tensor& image) const;

  ClipVisionConfig config;
  nn::Conv2d patch_embedding;        // vision_model.embeddings.…, without bias
  Tensor class_embedding;            // [C]
  nn::Embedding position_embedding;  // the class token's row, then one per patch
  nn::LayerNorm pre_layrnorm;        // spelled so in the checkpoint
  Blocks<nn::EncoderLayer> layers;   // vision_model.encoder.layers.i
  nn::LayerNorm post_layernorm;
  std::optional<nn::Linear> visual_projection;  // no bias, [projection, C]
};

}  // namespace hearth::parts
