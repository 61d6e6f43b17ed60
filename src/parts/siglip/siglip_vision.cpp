#include "parts/siglip/siglip_vision.h"

namespace hearth::parts {

SiglipVisionModel::SiglipVisionModel(const Scope& w, const SiglipVisionConfig& c)
    : config(c),
      patch_embedding(w / "vision_model" / "embeddings" / "patch_embedding", c.channels, c.width, c.patch,
                      ConvSpec::plane(int(c.patch), {0, 0, 0, 0})),
      position_embedding(w / "vision_model" / "embeddings" / "position_embedding", c.tokens(), c.width),
      post_layernorm(w / "vision_model" / "post_layernorm", c.width, c.eps) {
  const nn::EncoderLayerSpec layer{c.width, c.heads, c.mlp_width, c.activation, c.eps};
  for (int64_t i = 0; i < c.layers; ++i) layers.emplace_back(w / "vision_model" / "encoder" / "layers" / i, layer);
}

Tensor SiglipVisionModel::operator()(const Tensor& image) const {
  const auto [B, H, W, C] = image.dims<4>();
  if (H != config.image_size || W != config.image_size || C != config.channels)
    fail<ShapeError>("siglip: image has shape {}, expected [B, {}, {}, {}]", image.shape(), config.image_size, config.image_size,
                     config.channels);
  const Shape states{B, config.tokens(), config.width};
  std::vector<int32_t> positions;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < config.tokens(); ++t) positions.push_back(int32_t(t));
  Tensor h = in_block("vision_model.embeddings",
                      [&] { return ops::add(patch_embedding(image).view(states), position_embedding(positions).view(states)); });
  for (const nn::EncoderLayer& layer : layers) h = layer(h);
  return in_block("vision_model.post_layernorm", [&] { return post_layernorm(h); });
}

ReduxImageEncoder::ReduxImageEncoder(const Scope& w, const ReduxConfig& c)
    : redux_up(w / "redux_up", c.in, 3 * c.out), redux_down(w / "redux_down", 3 * c.out, c.out) {}

Tensor ReduxImageEncoder::operator()(const Tensor& x) const {
  return in_block("redux", [&] { return redux_down(redux_up(x, {.activation = Activation::silu, .stored = nn::read_by(redux_down)})); });
}

}  // namespace hearth::parts
