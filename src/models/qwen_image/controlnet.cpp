#include "models/qwen_image/controlnet.h"

#include "core/observe.h"
#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::models::qwen_image {

ControlNet::ControlNet(const Scope& w, const ControlNetConfig& c)
    : config(c),
      time_text_embed(w / "time_text_embed", c.blocks),
      txt_norm(w / "txt_norm", c.blocks.text, eps),
      txt_in(w / "txt_in", c.blocks.text, c.blocks.width()),
      img_in(w / "img_in", c.blocks.in_channels, c.blocks.width()),
      controlnet_x_embedder(w / "controlnet_x_embedder", c.hint_channels(), c.blocks.width()),
      transformer_blocks(w / "transformer_blocks", c.blocks.layers, [b = c.blocks](const Scope& block) { return JointBlock(block, b); }) {
  const int64_t D = c.blocks.width();
  // The stream that they read has no norm in front, and exceeds f16.
  for (int64_t i = 0; i < c.blocks.layers; ++i) controlnet_blocks.emplace_back((w / "controlnet_blocks" / i).exact(), D, D);
}

Tensor ControlNet::hint(const Tensor& latents) const {
  return in_block("controlnet_x_embedder", [&] { return controlnet_x_embedder(pack(latents), {.out = DType::f32}); });
}

std::vector<Tensor> ControlNet::operator()(const Tensor& x, const Grid& grid, const Conditions& given, const Tensor& hint) const {
  check(config.blocks, x, {&grid, 1}, given);
  const auto [n, T, C] = x.dims<3>();
  if (hint.rank() != 3 || hint.size(1) != T || n % hint.size(0) != 0)
    fail<ShapeError>("controlnet: a hint {} for x {}, expected [n, T, D]", hint.shape(), x.shape());
  const std::vector<JointBlock::Rows> rows{{0, T, time_text_embed(given.timesteps, n, x.backend())}};
  Tensor image = ops::add(in_block("img_in", [&] { return img_in(x, {.out = DType::f32}); }),
                          hint.size(0) == n ? hint : ops::repeat_batch(hint, n / hint.size(0)));
  Tensor text = in_block("txt_in", [&] { return txt_in(txt_norm(given.text), {.out = DType::f32}); });
  const Tensor table = rotary_table(config.blocks, text.size(1), {&grid, 1}, x.backend());
  std::vector<Tensor> made;
  for (const JointBlock& block : transformer_blocks) {
    block(image, text, rows, table);
    made.push_back(controlnet_blocks[made.size()](image, {.out = DType::f32}));
  }
  return made;
}

}  // namespace hearth::models::qwen_image
