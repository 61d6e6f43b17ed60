#include "models/flux1/controlnet.h"

#include "core/observe.h"

namespace hearth::models::flux1 {

ControlNet::ControlNet(const Scope& w, const ControlNetConfig& c)
    : config(c),
      time_text_embed(w / "time_text_embed", c.blocks),
      context_embedder(w / "context_embedder", c.blocks.text, c.blocks.width()),
      x_embedder(w / "x_embedder", c.blocks.in_channels, c.blocks.width()),
      controlnet_x_embedder(w / "controlnet_x_embedder", c.blocks.in_channels, c.blocks.width()),
      transformer_blocks(w / "transformer_blocks", c.blocks.layers, [b = c.blocks](const Scope& block) { return DoubleBlock(block, b); }),
      single_transformer_blocks(w / "single_transformer_blocks", c.blocks.single_layers,
                                [b = c.blocks](const Scope& block) { return SingleBlock(block, b); }) {
  const int64_t D = c.blocks.width();
  for (int64_t i = 0; i < c.blocks.layers; ++i) controlnet_blocks.emplace_back(w / "controlnet_blocks" / i, D, D);
  for (int64_t i = 0; i < c.blocks.single_layers; ++i) controlnet_single_blocks.emplace_back(w / "controlnet_single_blocks" / i, D, D);
  if (c.modes > 0) modes = (w / "controlnet_mode_embedder").table("weight", {c.modes, D});
  if (c.hint_channels > 0) input_hint_block.emplace(w / "input_hint_block", 3, std::vector<int64_t>{16, 16, 16, 16}, c.hint_channels);
}

Tensor ControlNet::hint(const Tensor& image) const {
  const Tensor tokens = pack(input_hint_block ? (*input_hint_block)(image) : image);
  return in_block("controlnet_x_embedder", [&] { return controlnet_x_embedder(tokens); });
}

Tensor ControlNet::mode(int64_t number) const {
  if (config.modes == 0) return {};
  if (number < 0 || number >= config.modes) fail<UsageError>("controlnet: mode {}, expected 0 to {}", number, config.modes - 1);
  const std::vector<int32_t> row{int32_t(number)};
  return ops::embedding(row, modes).view({1, 1, config.blocks.width()});
}

ControlNet::Outputs ControlNet::operator()(const Tensor& x, std::span<const Position> positions, const Conditions& given,
                                           const Tensor& hint, const Tensor& mode) const {
  const auto [n, T, C] = x.dims<3>();
  check_conditions(config.blocks, given, n);
  if (C != config.blocks.in_channels || T != int64_t(positions.size()) || hint.size(1) != T || n % hint.size(0) != 0)
    fail<ShapeError>("controlnet: x {} at {} positions with a hint {}, expected [n, T, {}] at T, and [n, T, D]", x.shape(),
                     positions.size(), hint.shape(), config.blocks.in_channels);
  const auto for_batch = [n = n](const Tensor& one) { return one.size(0) == n ? one : ops::repeat_batch(one, n / one.size(0)); };
  const Tensor temb = time_text_embed(given, n);
  Tensor image = ops::add(in_block("x_embedder", [&] { return x_embedder(x); }), for_batch(hint));
  Tensor text = in_block("context_embedder", [&] { return context_embedder(given.text); });
  if (mode) text = ops::concat({for_batch(mode), text}, 1);
  const int64_t L = text.size(1);
  const Tensor table = rotary_table(config.blocks, L, positions, x.backend());
  Outputs out;
  for (const DoubleBlock& block : transformer_blocks) {
    block(image, text, temb, table);
    out.double_blocks.push_back(controlnet_blocks[out.double_blocks.size()](image));
  }
  if (single_transformer_blocks.empty()) return out;
  Tensor both = ops::concat({text, image}, 1);
  image = text = {};
  for (const SingleBlock& block : single_transformer_blocks) {
    both = block(both, temb, table);
    out.single_blocks.push_back(controlnet_single_blocks[out.single_blocks.size()](ops::contiguous(both.slice(1, L, L + T))));
  }
  return out;
}

}  // namespace hearth::models::flux1
