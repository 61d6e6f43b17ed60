#include "models/qwen_image/controlnet_config.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::qwen_image {
namespace {

constexpr int64_t mask_channels = 4;  // a token's 2×2 latent pixels

int64_t size_along(const TensorList& all, const std::string& name, int axis) {
  const auto found = all.find(name);
  return found == all.end() || found->second.shape.rank() <= axis ? 0 : found->second.shape[axis];
}

std::string sizes_of(const TransformerConfig& c) {
  return fmt::format("width {} in {} heads, axes {}, {} input channels, text {}", c.width(), c.heads, fmt::join(c.axes, ", "),
                     c.in_channels, c.text);
}

void require_known(int64_t extra_channels, const std::string& where) {
  if (extra_channels != 0 && extra_channels != mask_channels)
    fail<UnsupportedError>("{}: 'extra_condition_channels' = {} is not supported, expected 0, or {} for a mask", where, extra_channels,
                           mask_channels);
}

}  // namespace

ControlNetConfig ControlNetConfig::from(const Config& c) {
  c.only("_class_name", {"QwenImageControlNetModel"});
  parts::refuse_null(c, {"attention_head_dim", "axes_dims_rope", "extra_condition_channels", "in_channels", "joint_attention_dim",
                         "num_attention_heads", "num_layers"});
  ControlNetConfig n;
  TransformerConfig& t = n.blocks;
  t.in_channels = parts::positive_integer(c, "in_channels", t.in_channels);
  t.layers = parts::positive_integer(c, "num_layers", t.layers);
  t.heads = parts::positive_integer(c, "num_attention_heads", t.heads);
  t.head_size = parts::positive_integer(c, "attention_head_dim", t.head_size);
  t.text = parts::positive_integer(c, "joint_attention_dim", t.text);
  t.read_axes(c);
  n.extra_channels = c.integer("extra_condition_channels", 0);
  require_known(n.extra_channels, c.where());
  // The network has no output of pixels, and its pipelines make tokens of 2×2 latent pixels; the others are those of a transformer from
  // which a network was made.
  c.no_effect({"patch_size", "out_channels", "pooled_projection_dim", "guidance_embeds", "zero_cond_t", "use_additional_t_cond",
               "use_layer3d_rope"});
  c.finish();
  return n;
}

ControlNetConfig ControlNetConfig::of_tensors(const TensorList& official, const TransformerConfig& base, const std::string& where) {
  const auto axis = [&](const std::string& name, int i) { return size_along(official, name, i); };
  ControlNetConfig n{.blocks = base};
  TransformerConfig& t = n.blocks;
  t.layers = 0;
  while (official.contains(fmt::format("controlnet_blocks.{}.weight", t.layers))) ++t.layers;
  t.head_size = axis("transformer_blocks.0.attn.norm_q.weight", 0);
  t.heads = axis("img_in.weight", 0) / std::max<int64_t>(t.head_size, 1);
  t.in_channels = axis("img_in.weight", 1);
  t.text = axis("txt_in.weight", 1);
  n.extra_channels = axis("controlnet_x_embedder.weight", 1) - t.in_channels;
  require_known(n.extra_channels, where);
  return n;
}

void require_same_sizes(const ControlNetConfig& control, const TransformerConfig& base, const std::string& where) {
  const TransformerConfig& c = control.blocks;
  if (c.width() == base.width() && c.heads == base.heads && c.axes == base.axes && c.in_channels == base.in_channels && c.text == base.text)
    return;
  fail<WeightError>("{}: is for a transformer with {}; the model's has {}", where, sizes_of(c), sizes_of(base));
}

}  // namespace hearth::models::qwen_image
