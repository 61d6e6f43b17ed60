#include "parts/clip_vision/clip_vision.h"

#include <numeric>

namespace hearth::parts {

ClipVisionModel::ClipVisionModel(const Scope& w, const ClipVisionConfig& c)
    : config(c),
      patch_embedding(w / "vision_model" / "embeddings" / "patch_embedding", c.channels, c.width, c.patch,
                      ConvSpec::plane(int(c.patch), {0, 0, 0, 0}), nn::Bias::no),
      class_embedding((w / "vision_model" / "embeddings").tensor("class_embedding", {c.width})),
      position_embedding(w / "vision_model" / "embeddings" / "position_embedding", c.tokens(), c.width),
      pre_layrnorm(w / "vision_model" / "pre_layrnorm", c.width, c.eps),
      layers(w / "vision_model" / "encoder" / "layers", c.layers,
             [spec = nn::EncoderLayerSpec{c.width, c.heads, c.mlp_width, c.activation, c.eps}](const Scope& layer) {
               return nn::EncoderLayer(layer, spec);
             }),
      post_layernorm(w / "vision_model" / "post_layernorm", c.width, c.eps) {
  if (c.projection) visual_projection.emplace(w / "visual_projection", c.width, c.projection, nn::Bias::no);
}

ClipVisionOutput ClipVisionModel::operator()(const Tensor& image) const {
  const auto [B, H, W, C] = image.dims<4>();
  if (H != config.image_size || W != config.image_size || C != config.channels)
    fail<ShapeError>("clip: image has shape {}, expected [B, {}, {}, {}]", image.shape(), config.image_size, config.image_size,
                     config.channels);
  const int64_t T = config.tokens(), width = config.width;
  Tensor h = in_block("vision_model.embeddings", [&] {
    const Tensor patches = patch_embedding(image).view({B, T - 1, width});
    std::vector<int32_t> positions(size_t(T), 0);
    std::iota(positions.begin(), positions.end(), 0);
    const Tensor places = position_embedding(positions).view({1, T, width}), first = class_embedding.view({1, 1, width});
    std::vector<Tensor> images;
    for (int64_t b = 0; b < B; ++b) images.push_back(ops::add(ops::concat({first, patches.slice(0, b, b + 1)}, 1), places));
    return ops::concat(images, 0);
  });
  h = in_block("vision_model.pre_layrnorm", [&] { return pre_layrnorm(h); });
  ClipVisionOutput out;
  int64_t done = 0;
  for (const nn::EncoderLayer& layer : layers) {
    if (++done == config.layers) out.penultimate = h;
    h = layer(h);
  }
  out.pooled = in_block("vision_model.post_layernorm", [&] { return post_layernorm(ops::contiguous(h.slice(1, 0, 1)).view({B, width})); });
  if (visual_projection) out.image_embeds = (*visual_projection)(out.pooled);
  return out;
}

}  // namespace hearth::parts
