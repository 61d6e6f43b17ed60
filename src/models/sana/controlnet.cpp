#include "models/sana/controlnet.h"

#include "core/observe.h"

namespace hearth::models::sana {

ControlNet::ControlNet(const Scope& w, const TransformerConfig& c)
    : config(c),
      stem(w, c),
      input_block(w / "input_block", c.width(), c.width()),
      blocks(w / "transformer_blocks", c.layers, [c](const Scope& block) { return Block(block, c); }) {
  for (int64_t i = 0; i < c.layers; ++i) controlnet_blocks.emplace_back(w / "controlnet_blocks" / i, c.width(), c.width());
}

Tensor ControlNet::hint(const Tensor& latents) const {
  const Tensor tokens = stem.tokens(latents);
  return in_block("input_block", [&] { return input_block(tokens, {.out = DType::f32}); });
}

std::vector<Tensor> ControlNet::operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& text,
                                           std::span<const int64_t> rows, const Tensor& hint, bool limited) const {
  stem.check(x, timesteps, std::nullopt, text, rows);
  const int64_t B = x.size(0), h = x.size(1) / config.patch, w = x.size(2) / config.patch;
  Tensor stream = stem.tokens(x);
  if (hint.rank() != 3 || B % hint.size(0) != 0 || hint.size(1) != stream.size(1) || hint.size(2) != stream.size(2))
    fail<ShapeError>("controlnet: the hint is {}, expected {} or one that the batch repeats", hint.shape(), stream.shape());
  stream = ops::add(stream, hint.size(0) == B ? hint : ops::repeat_batch(hint, B / hint.size(0)));
  const Tensor modulation = stem.modulation(stem.time(x, timesteps, std::nullopt));
  const Caption caption{stem.caption(text), rows};
  std::vector<Tensor> all;
  for (const Block& block : blocks) {
    stream = block(stream, caption, modulation, h, w, limited);
    all.push_back(controlnet_blocks[all.size()](stream, {.out = DType::f32}));
  }
  return all;
}

}  // namespace hearth::models::sana
