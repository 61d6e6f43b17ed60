#include "models/sana/controlnet_config.h"

#include "core/error.h"
#include "weights/layout/sizes.h"

namespace hearth::models::sana {

TransformerConfig control_config(const Config& c) {
  c.only("_class_name", {"SanaControlNetModel"});
  TransformerConfig t = read_sizes(c, 7);
  c.no_effect({"out_channels"});  // the network outputs none
  t.out_channels = t.in_channels;
  c.finish();
  return t;
}

TransformerConfig control_of_tensors(const TensorList& official, const TransformerConfig& model) {
  const auto axis = [&](const std::string& name, int i) { return axis_of(official, name, i); };
  const std::string block = "transformer_blocks.0.";
  TransformerConfig t = model;
  t.layers = 0;
  while (official.contains(fmt::format("controlnet_blocks.{}.weight", t.layers))) ++t.layers;
  const int64_t width = axis("patch_embed.proj.weight", 0), hidden = axis(block + "ff.conv_point.weight", 1);
  t.in_channels = t.out_channels = axis("patch_embed.proj.weight", 1);
  t.patch = axis("patch_embed.proj.weight", 2);
  t.heads = width / t.head_size;
  if (t.width() != width)
    fail<WeightError>("control network: a width of {} without a config.json, expected a multiple of {}, the model's heads", width,
                      t.head_size);
  t.text_width = axis("caption_projection.linear_1.weight", 1);
  t.cross_heads = axis(block + "attn2.to_q.weight", 0) / t.cross_head_size;
  if (t.hidden() != hidden) t.mlp_ratio = (double(hidden) + 0.5) / double(width);
  t.attention_bias = official.contains(block + "attn1.to_q.bias");
  t.norm_affine = official.contains(block + "norm2.weight");
  t.qk_norm = t.guidance_embedding = false;
  return t;
}

void require_same_sizes(const TransformerConfig& control, const TransformerConfig& model, const std::string& where) {
  const auto sizes = [](const TransformerConfig& c) {
    return fmt::format("width {}, patches of {}, {} latent channels, text states of width {}", c.width(), c.patch, c.in_channels,
                       c.text_width);
  };
  if (sizes(control) != sizes(model))
    fail<WeightError>("{}: is for a transformer with {}; the model's has {}", where, sizes(control), sizes(model));
}

}  // namespace hearth::models::sana
