#include "models/flux1/controlnet_config.h"

#include <fmt/ranges.h>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::flux1 {
namespace {

int64_t size_along(const TensorList& all, const std::string& name, int axis) {
  const auto found = all.find(name);
  return found == all.end() || found->second.shape.rank() <= axis ? 0 : found->second.shape[axis];
}

int64_t count(const TensorList& all, std::string_view blocks, std::string_view tensor) {
  int64_t n = 0;
  while (all.contains(fmt::format("{}.{}.{}", blocks, n, tensor))) ++n;
  return n;
}

std::string sizes_of(const TransformerConfig& c) {
  return fmt::format("width {} in {} heads, axes {}, {} input channels, text {} and {}", c.width(), c.heads, fmt::join(c.axes, ", "),
                     c.in_channels, c.text, c.pooled);
}

int64_t blocks_of(const Config& c, std::string_view key, int64_t otherwise) {
  const int64_t n = c.integer(key, otherwise);
  if (n < 0) fail<WeightError>("{}: '{}' is {}, expected at least 0", c.where(), key, n);
  return n;
}

}  // namespace

ControlNetConfig ControlNetConfig::from(const Config& c) {
  c.only("_class_name", {"FluxControlNetModel"});
  parts::refuse_null(c, {"attention_head_dim", "axes_dims_rope", "guidance_embeds", "in_channels", "joint_attention_dim",
                         "num_attention_heads", "num_layers", "num_single_layers", "patch_size", "pooled_projection_dim"});
  ControlNetConfig n;
  TransformerConfig& t = n.blocks;
  t.in_channels = t.out_channels = parts::positive_integer(c, "in_channels", 64);
  t.layers = blocks_of(c, "num_layers", 19);
  t.single_layers = blocks_of(c, "num_single_layers", 38);
  if (t.layers + t.single_layers == 0) fail<WeightError>("{}: 'num_layers' and 'num_single_layers' are 0, expected blocks", c.where());
  t.heads = parts::positive_integer(c, "num_attention_heads", 24);
  t.head_size = parts::positive_integer(c, "attention_head_dim", 128);
  t.text = parts::positive_integer(c, "joint_attention_dim", 4096);
  t.pooled = parts::positive_integer(c, "pooled_projection_dim", 768);
  t.guidance = c.boolean("guidance_embeds", false);
  t.read_axes(c);
  if (!parts::is_null(c, "num_mode") && c.has("num_mode")) n.modes = parts::positive_integer(c, "num_mode", 1);
  if (!parts::is_null(c, "conditioning_embedding_channels") && c.has("conditioning_embedding_channels"))
    n.hint_channels = parts::positive_integer(c, "conditioning_embedding_channels", 1);
  c.no_effect({"num_mode", "conditioning_embedding_channels"});
  if (n.hint_channels == 0) {
    c.no_effect({"patch_size"});  // the reference's pipelines pack 2×2 latent pixels into a token themselves
  } else {
    c.only_number("patch_size", 2);
    if (4 * n.hint_channels != t.in_channels)
      fail<WeightError>("{}: 'conditioning_embedding_channels' = {}, expected a fourth of 'in_channels' = {}", c.where(), n.hint_channels,
                        t.in_channels);
  }
  c.finish();
  return n;
}

ControlNetConfig ControlNetConfig::of_tensors(const TensorList& official, const TransformerConfig& base) {
  const auto axis = [&](const std::string& name, int i) { return size_along(official, name, i); };
  ControlNetConfig n{.blocks = base};
  TransformerConfig& t = n.blocks;
  t.layers = count(official, "transformer_blocks", "norm1.linear.weight");
  t.single_layers = count(official, "single_transformer_blocks", "norm.linear.weight");
  for (const char* block : {"transformer_blocks", "single_transformer_blocks"})
    if (const int64_t head = axis(fmt::format("{}.0.attn.norm_q.weight", block), 0)) t.head_size = head;
  t.heads = axis("x_embedder.weight", 0) / t.head_size;
  t.in_channels = t.out_channels = axis("x_embedder.weight", 1);
  t.text = axis("context_embedder.weight", 1);
  t.pooled = axis("time_text_embed.text_embedder.linear_1.weight", 1);
  t.guidance = official.contains("time_text_embed.guidance_embedder.linear_1.weight");
  n.modes = axis("controlnet_mode_embedder.weight", 0);
  n.hint_channels = axis("input_hint_block.conv_out.weight", 0);
  return n;
}

void require_same_sizes(const ControlNetConfig& control, const TransformerConfig& base, const std::string& where) {
  const TransformerConfig& c = control.blocks;
  if (c.width() == base.width() && c.heads == base.heads && c.axes == base.axes && c.in_channels == base.in_channels &&
      c.text == base.text && c.pooled == base.pooled)
    return;
  fail<WeightError>("{}: is for a transformer with {}; the model's has {}", where, sizes_of(c), sizes_of(base));
}

}  // namespace hearth::models::flux1
