#include "models/sd3/controlnet_config.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::sd3 {
namespace {

using parts::is_null, parts::positive_integer;

int64_t size_along(const TensorList& all, const std::string& name, int axis) {
  const auto found = all.find(name);
  return found == all.end() || found->second.shape.rank() <= axis ? 0 : found->second.shape[axis];
}

std::string sizes_of(const MmditConfig& c) {
  std::string text = fmt::format("width {}, patches of {}, {} latent channels, pooled text of width {}", c.width(), c.patch, c.out_channels,
                                 c.pooled_width);
  if (c.text_width > 0) text += fmt::format(", text states of width {}", c.text_width);
  return text;
}

}  // namespace

ControlNetConfig ControlNetConfig::from(const Config& c) {
  c.only("_class_name", {"SD3ControlNetModel"});
  parts::refuse_null(
      c, {"attention_head_dim", "dual_attention_layers", "extra_conditioning_channels", "force_zeros_for_pooled_projection", "in_channels",
          "num_attention_heads", "num_layers", "patch_size", "pooled_projection_dim", "sample_size", "use_pos_embed"});
  ControlNetConfig n;
  MmditConfig& t = n.blocks;
  t.sample_size = positive_integer(c, "sample_size", 128);
  t.patch = positive_integer(c, "patch_size", 2);
  t.in_channels = t.out_channels = positive_integer(c, "in_channels", 16);
  c.no_effect({"out_channels"});
  t.layers = positive_integer(c, "num_layers", 18);
  t.heads = positive_integer(c, "num_attention_heads", 18);
  t.head_size = positive_integer(c, "attention_head_dim", 64);
  t.text_width = is_null(c, "joint_attention_dim") ? 0 : positive_integer(c, "joint_attention_dim", 4096);
  t.pooled_width = positive_integer(c, "pooled_projection_dim", 2048);
  t.dual_layers = c.integers("dual_attention_layers", std::vector<int64_t>());
  std::ranges::sort(t.dual_layers);
  t.qk_norm = c.has("qk_norm");
  c.only("qk_norm", {"rms_norm"});

  n.of_transformer = !c.boolean("use_pos_embed", true);
  n.has_positions = n.of_transformer || !is_null(c, "pos_embed_type");
  if (!is_null(c, "pos_embed_type")) c.only("pos_embed_type", {"sincos"});
  t.position_side = n.has_positions && !n.of_transformer ? positive_integer(c, "pos_embed_max_size", 96) : 0;
  c.no_effect({"pos_embed_type", "pos_embed_max_size"});
  n.sees_pooled_text = !c.boolean("force_zeros_for_pooled_projection", true);
  n.extra_channels = c.integer("extra_conditioning_channels", 0);
  if (n.extra_channels != 0 && n.extra_channels != 1)
    fail<UnsupportedError>("{}: 'extra_conditioning_channels' = {} is not supported, expected 0, or 1 for a mask", c.where(),
                           n.extra_channels);

  const int64_t text_stream = n.sees_text() ? positive_integer(c, "caption_projection_dim", 1152) : t.width();
  if (text_stream != t.width())
    fail<WeightError>("{}: 'caption_projection_dim' = {}, expected num_attention_heads · attention_head_dim = {}", c.where(), text_stream,
                      t.width());
  c.no_effect({"caption_projection_dim"});
  if (!n.sees_text() && (t.qk_norm || !t.dual_layers.empty()))
    fail<UnsupportedError>("{}: '{}' is set, but 'joint_attention_dim' is null, whose blocks have neither", c.where(),
                           t.qk_norm ? "qk_norm" : "dual_attention_layers");
  for (const int64_t layer : t.dual_layers)
    if (layer < 0 || layer >= t.layers)
      fail<WeightError>("{}: 'dual_attention_layers' contains {}, expected 0 to {} (num_layers - 1)", c.where(), layer, t.layers - 1);
  c.finish();
  return n;
}

ControlNetConfig ControlNetConfig::of_tensors(const TensorList& official, const MmditConfig& base) {
  const auto axis = [&](const std::string& name, int i) { return size_along(official, name, i); };
  ControlNetConfig n{.blocks = base};
  MmditConfig& t = n.blocks;
  t.layers = 0, t.dual_layers.clear();
  while (official.contains(fmt::format("transformer_blocks.{}.norm1.linear.weight", t.layers))) {
    if (official.contains(fmt::format("transformer_blocks.{}.attn2.to_q.weight", t.layers))) t.dual_layers.push_back(t.layers);
    ++t.layers;
  }
  t.qk_norm = official.contains("transformer_blocks.0.attn.norm_q.weight");
  if (t.qk_norm) t.head_size = axis("transformer_blocks.0.attn.norm_q.weight", 0);
  t.heads = axis("controlnet_blocks.0.weight", 0) / std::max<int64_t>(t.head_size, 1);
  t.text_width = axis("context_embedder.weight", 1);
  t.pooled_width = axis("time_text_embed.text_embedder.linear_1.weight", 1);
  t.patch = axis("pos_embed_input.proj.weight", 2);
  n.of_transformer = !official.contains("pos_embed.proj.weight");
  t.in_channels = t.out_channels = n.of_transformer ? base.out_channels : axis("pos_embed.proj.weight", 1);
  n.extra_channels = axis("pos_embed_input.proj.weight", 1) - t.in_channels;
  const int64_t places = axis("pos_embed.pos_embed", 1);
  n.has_positions = n.of_transformer || places > 0;
  t.position_side = std::llround(std::sqrt(double(places)));
  n.sees_pooled_text = !n.sees_text();
  return n;
}

void require_same_sizes(const ControlNetConfig& control, const MmditConfig& base, const std::string& where) {
  const MmditConfig& c = control.blocks;
  if (c.width() != base.width() || c.patch != base.patch || c.out_channels != base.out_channels || c.pooled_width != base.pooled_width ||
      (control.sees_text() && c.text_width != base.text_width))
    fail<WeightError>("{}: is for a transformer with {}; the model's has {}", where, sizes_of(c), sizes_of(base));
  if (control.of_transformer && base.in_channels != base.out_channels)
    fail<WeightError>("{}: shares the transformer's patches, expected a model with {} input channels, not {}", where, base.out_channels,
                      base.in_channels);
}

}  // namespace hearth::models::sd3
