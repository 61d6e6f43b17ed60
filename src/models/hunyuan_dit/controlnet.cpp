#include "models/hunyuan_dit/controlnet.h"

#include "core/observe.h"
#include "weights/layout/sizes.h"

namespace hearth::models::hunyuan_dit {

ControlNet::ControlNet(const Scope& w, const TransformerConfig& c)
    : config(c),
      stem(w, c),
      input_block(w / "input_block", c.width(), c.width()),
      blocks(w / "blocks", c.skips(), [c](const Scope& block, int64_t) { return Block(block, c, false); }) {
  for (int64_t i = 0; i < c.skips(); ++i) controlnet_blocks.emplace_back(w / "controlnet_blocks" / i, c.width(), c.width());
}

Tensor ControlNet::hint(const Tensor& latents) const {
  const Tensor tokens = stem.tokens(latents);
  return in_block("input_block", [&] { return input_block(tokens, {.out = DType::f32}); });
}

std::vector<Tensor> ControlNet::operator()(const Tensor& x, const Inputs& in, const Tensor& hint) const {
  stem.check(x, in);
  const int64_t B = x.size(0);
  Tensor y = stem.tokens(x);
  if (hint.shape().rank() != 3 || B % hint.size(0) != 0 || hint.size(1) != y.size(1) || hint.size(2) != y.size(2))
    fail<ShapeError>("controlnet: the hint is {}, expected [{}, {}, {}] or one that the batch repeats", hint.shape(), B, y.size(1),
                     y.size(2));
  y = ops::add(y, hint.size(0) == B ? hint : ops::repeat_batch(hint, B / hint.size(0)));
  const Tensor embedding = stem.embedding(x, in), text = stem.context(x, in), table = stem.rotations(x);
  std::vector<Tensor> all;
  for (const Block& block : blocks) {
    y = block(y, embedding, text, table, {});
    all.push_back(controlnet_blocks[all.size()](y, {.out = DType::f32}));
  }
  return all;
}

TransformerConfig control_of_tensors(const TensorList& official, const TransformerConfig& model) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  TransformerConfig t = model;
  int64_t blocks = 0;
  while (official.contains(fmt::format("controlnet_blocks.{}.weight", blocks))) ++blocks;
  t.layers = 2 * (blocks + 1);
  t.patch = axis("pos_embed.proj.weight", 2);
  t.in_channels = axis("pos_embed.proj.weight", 1);
  t.head_size = axis("blocks.0.attn1.norm_q.weight", 0);
  t.heads = axis("pos_embed.proj.weight", 0) / std::max<int64_t>(t.head_size, 1);
  const int64_t mlp = axis("blocks.0.ff.net.0.proj.weight", 0);
  if (t.mlp_width() != mlp) t.mlp_ratio = (double(mlp) + 0.5) / double(std::max<int64_t>(t.width(), 1));
  t.text = axis("text_embedding_padding", 1);
  t.t5 = axis("text_embedder.linear_1.weight", 1);
  t.t5_rows = axis("time_extra_emb.pooler.positional_embedding", 0) - 1;
  t.text_rows = axis("text_embedding_padding", 0) - t.t5_rows;
  t.pooled = axis("time_extra_emb.pooler.c_proj.weight", 0);
  t.conditions = official.contains("time_extra_emb.style_embedder.weight");
  return t;
}

void require_same_sizes(const TransformerConfig& control, const TransformerConfig& model, const std::string& where) {
  const auto sizes = [](const TransformerConfig& c) {
    return fmt::format("width {}, {} blocks, patches of {}, {} latent channels, texts {} and {} of {} and {} rows, {} sizes and style",
                       c.width(), c.layers, c.patch, c.in_channels, c.text, c.t5, c.text_rows, c.t5_rows,
                       c.conditions ? "with" : "without");
  };
  const std::string wanted = sizes(control), has = sizes(model);
  if (wanted != has) fail<WeightError>("{}: is for a transformer with {}; the model's has {}", where, wanted, has);
}

}  // namespace hearth::models::hunyuan_dit
