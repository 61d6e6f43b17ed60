#include "models/sd3/controlnet.h"

#include "core/observe.h"

namespace hearth::models::sd3 {
namespace {

constexpr float eps = 1e-6f;

}  // namespace

SingleBlock::SingleBlock(const Scope& w, const MmditConfig& c)
    : norm1(w / "norm1", c.width(), 6),
      image(w / "attn", c, StreamProjections::own),
      to_out(w / "attn" / "to_out" / 0, c.width(), c.width()),
      ff(w / "ff", c.width()),
      path(w.path()) {}

Tensor SingleBlock::operator()(const Tensor& x, const Tensor& temb) const {
  const BlockScope scope(path);
  const nn::Modulation::Vectors m = norm1(temb);
  const Tensor attended = attend(image(m.norm(x, 0, 1, eps, image.input())), image.q.weight, nn::read_by(to_out));
  const Tensor h = to_out(attended, {.gate = m.gate(2), .residual = x});
  const Tensor y = ff(m.norm(h, 3, 4, eps, ff.input()), m.gate(5), h);
  tap(path, y);
  return y;
}

ControlNet::ControlNet(const Scope& w, const ControlNetConfig& c)
    : config(c),
      pos_embed(w / "pos_embed", c.blocks.in_channels, c.blocks.width(), c.blocks.patch, c.has_positions ? c.blocks.position_side : 0),
      pos_embed_input(w / "pos_embed_input", c.blocks.in_channels + c.extra_channels, c.blocks.width(), c.blocks.patch, 0),
      time_text_embed(w / "time_text_embed", c.blocks) {
  const MmditConfig& b = c.blocks;
  if (c.sees_text()) {
    context_embedder.emplace(w / "context_embedder", b.text_width, b.width());
    joint_blocks = Blocks<JointBlock>(w / "transformer_blocks", b.layers,
                                      [b](const Scope& block, int64_t i) { return JointBlock(block, b, i, false); });
  } else {
    single_blocks = Blocks<SingleBlock>(w / "transformer_blocks", b.layers, [b](const Scope& block) { return SingleBlock(block, b); });
  }
  for (int64_t i = 0; i < b.layers; ++i) controlnet_blocks.emplace_back(w / "controlnet_blocks" / i, b.width(), b.width());
}

std::vector<Tensor> ControlNet::operator()(const Tensor& x, std::span<const float> timesteps, const Tensor& context, const Tensor& pooled,
                                           const Tensor& hint) const {
  const int64_t B = x.size(0);
  if (config.sees_text()) check_context(config.blocks, context, B);
  else if (context) fail<ShapeError>("controlnet: context is {}, expected none", context.shape());
  if (pooled.size(0) != B || B % hint.size(0) != 0)
    fail<ShapeError>("controlnet: pooled text of {} and hints of {} for {} images", pooled.size(0), hint.size(0), B);
  const Tensor patches = pos_embed(x);
  Tensor image = ops::add(patches, hint.size(0) == B ? hint : ops::repeat_batch(hint, B / hint.size(0)));
  const Tensor temb = time_text_embed(timesteps, pooled);
  std::vector<Tensor> all;
  const auto keep = [&] { all.push_back(controlnet_blocks[all.size()](image)); };
  if (config.sees_text()) {
    JointStreams streams{image, in_block("context_embedder", [&] { return (*context_embedder)(context); })};
    for (const JointBlock& block : joint_blocks) {
      streams = block(streams, temb);
      image = streams.image;
      keep();
    }
  } else {
    for (const SingleBlock& block : single_blocks) {
      image = block(image, temb);
      keep();
    }
  }
  return all;
}

}  // namespace hearth::models::sd3
