#include "parts/clip/clip_text.h"

#include <algorithm>

#include "core/observe.h"

namespace hearth::parts {
namespace {

// The position that is pooled; see ClipTextOutput::pooled.
int64_t pooled_position(const std::vector<int32_t>& ids, int64_t end_token) {
  const auto it = end_token == 2 ? std::max_element(ids.begin(), ids.end()) : std::find(ids.begin(), ids.end(), int32_t(end_token));
  return it == ids.end() ? 0 : it - ids.begin();
}

// x [B, T, C], must not be shared: it is changed in place.
void put_in_place(std::span<const ClipVector> vectors, const Tensor& x) {
  const auto [B, T, C] = x.dims<3>();
  for (const ClipVector& v : vectors) {
    if (v.row < 0 || v.row >= B || v.position < 0 || v.position >= T || v.vector.shape() != Shape{C})
      fail<ShapeError>("clip: a vector of shape {} at row {}, position {} does not fit states of shape {}", v.vector.shape(), v.row,
                       v.position, x.shape());
    ops::store(v.vector.to(x.backend()).view({1, 1, C}), x.slice(0, v.row, v.row + 1).slice(1, v.position, v.position + 1));
  }
}

}  // namespace

ClipTextModel::ClipTextModel(const Scope& w, const ClipTextConfig& c)
    : config(c),
      token_embedding(w / "text_model" / "embeddings" / "token_embedding", c.vocabulary, c.width),
      position_embedding(w / "text_model" / "embeddings" / "position_embedding", c.positions, c.width),
      layers(w / "text_model" / "encoder" / "layers", c.layers,
             [spec = nn::EncoderLayerSpec{c.width, c.heads, c.mlp_width, c.activation, c.eps, Mask::causal}](const Scope& layer) {
               return nn::EncoderLayer(layer, spec);
             }),
      final_layer_norm(w / "text_model" / "final_layer_norm", c.width, c.eps) {
  if (c.projection) text_projection.emplace(w / "text_projection", c.width, c.projection, nn::Bias::no);
}

ClipTextOutput ClipTextModel::operator()(const std::vector<std::vector<int32_t>>& ids, std::span<const ClipVector> vectors,
                                         ClipPadding padding) const {
  const int64_t B = int64_t(ids.size()), T = B ? int64_t(ids[0].size()) : 0;
  if (T < 1 || T > config.positions) fail<ShapeError>("clip: {} rows of {} tokens, expected 1 to {} tokens", B, T, config.positions);
  std::vector<int32_t> tokens, positions;
  for (const std::vector<int32_t>& row : ids) {
    if (int64_t(row.size()) != T) fail<ShapeError>("clip: rows of {} and {} tokens, expected equal lengths", T, row.size());
    for (int64_t t = 0; t < T; ++t) {
      const int32_t id = row[size_t(t)];
      if (id < 0 || id >= config.vocabulary) fail<UsageError>("clip: token id {} is outside the vocabulary of {}", id, config.vocabulary);
      tokens.push_back(id);
      positions.push_back(int32_t(t));
    }
  }
  ClipTextOutput out;
  Tensor h = in_block("text_model.embeddings", [&] {
    const Tensor x = token_embedding(tokens).view({B, T, config.width});
    put_in_place(vectors, x);
    return ops::add(x, position_embedding(positions).view({B, T, config.width}));
  });
  out.hidden_states.push_back(h);
  std::vector<int64_t> lengths;
  if (padding == ClipPadding::hidden)
    for (const std::vector<int32_t>& row : ids) lengths.push_back(pooled_position(row, config.end_token) + 1);
  for (const nn::EncoderLayer& layer : layers) out.hidden_states.push_back(h = layer(h, lengths));

  out.last_hidden_state = in_block("text_model.final_layer_norm", [&] { return final_layer_norm(h); });
  std::vector<Tensor> rows;
  for (int64_t b = 0; b < B; ++b) {
    const int64_t t = pooled_position(ids[size_t(b)], config.end_token);
    rows.push_back(ops::contiguous(out.last_hidden_state.slice(0, b, b + 1).slice(1, t, t + 1)).view({1, config.width}));
  }
  out.pooled = ops::concat(rows, 0);
  if (text_projection) out.text_embeds = (*text_projection)(out.pooled);
  return out;
}

}  // namespace hearth::parts
