// The text tower of CLIP (Radford et al. 2021, arXiv 2103.00020), after transformers' CLIPTextModel.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "nn/encoder_layer.h"
#include "parts/clip/config.h"
#include "weights/blocks.h"

namespace hearth::parts {

struct ClipTextOutput {
  Tensor last_hidden_state;  // [B, T, C], after the final norm: the conditioning of SD 1.x
  // [B, T, C] each, without the final norm: the embeddings, then every layer's output. "Clip skip" n selects the n-th from
  // the end; the caller applies the model's final_layer_norm.
  std::vector<Tensor> hidden_states;
  // [B, C]: row of last_hidden_state at the first end token (row 0 if there is none). If the config's end_token is 2, a wrong value of
  // old configs, it is the row of the highest id, as in the reference; then an added token with a higher id than the end token
  // is pooled instead.
  Tensor pooled;
  Tensor text_embeds;  // [B, projection]: pooled · text_projectionᵀ; undefined without projection
};

// Replaces a token's row of the embedding table (textual inversion).
struct ClipVector {
  int64_t row = 0, position = 0;
  Tensor vector;  // [C] f32
};

// Whether the encoder attends to what follows a row's pooled position (attention_mask in the reference).
enum class ClipPadding { attended, hidden };

struct ClipTextModel {
  ClipTextModel(const Scope& w, const ClipTextConfig& config);

  // ids: B rows of T ≤ config.positions tokens each, row-major; attention is causal over all positions, also those of padding unless it is
  // hidden.
  // An id that `vectors` replaces matters only for the pooled vector. ShapeError for too many tokens, a ragged count or a vector of the
  // wrong width, UsageError for an id outside the vocabulary.
  ClipTextOutput operator()(const std::vector<std::vector<int32_t>>& ids, std::span<const ClipVector> vectors = {},
                            ClipPadding padding = ClipPadding::attended) const;

  ClipTextConfig config;
  nn::Embedding token_embedding, position_embedding;  // text_model.embeddings.…
  Blocks<nn::EncoderLayer> layers;                    // text_model.encoder.layers.i
  nn::LayerNorm final_layer_norm;
  std::optional<nn::Linear> text_projection;  // no bias, [projection, C]
};

}  // namespace hearth::parts
