#include "models/sana/transformer_config.h"

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::sana {

using parts::positive_integer;

TransformerConfig read_sizes(const Config& c, int64_t layers) {
  parts::refuse_null(c, {"attention_bias", "attention_head_dim", "caption_channels", "cross_attention_dim", "cross_attention_head_dim",
                         "in_channels", "mlp_ratio", "norm_elementwise_affine", "norm_eps", "num_attention_heads",
                         "num_cross_attention_heads", "num_layers", "patch_size", "sample_size"});
  TransformerConfig t;
  t.in_channels = positive_integer(c, "in_channels", 32);
  t.patch = positive_integer(c, "patch_size", 1);
  t.layers = positive_integer(c, "num_layers", layers);
  t.heads = positive_integer(c, "num_attention_heads", 70);
  t.head_size = positive_integer(c, "attention_head_dim", 32);
  t.cross_heads = positive_integer(c, "num_cross_attention_heads", 20);
  t.cross_head_size = positive_integer(c, "cross_attention_head_dim", 112);
  t.text_width = positive_integer(c, "caption_channels", 2304);
  t.mlp_ratio = c.number("mlp_ratio", 2.5);
  t.attention_bias = c.boolean("attention_bias", false);
  t.norm_affine = c.boolean("norm_elementwise_affine", false);
  t.eps = float(c.number("norm_eps", 1e-6));
  t.sample_size = positive_integer(c, "sample_size", 32);
  if (c.has("interpolation_scale")) t.interpolation_scale = c.number("interpolation_scale");
  if (const int64_t text = positive_integer(c, "cross_attention_dim", 2240); text != t.width())
    fail<WeightError>("{}: 'cross_attention_dim' = {}, expected num_attention_heads · attention_head_dim = {}", c.where(), text, t.width());
  if (!(t.mlp_ratio > 0) || t.hidden() < 1) fail<WeightError>("{}: 'mlp_ratio' = {}, expected a value above 0", c.where(), t.mlp_ratio);
  if (t.interpolation_scale && !(*t.interpolation_scale > 0))
    fail<WeightError>("{}: 'interpolation_scale' = {}, expected a value above 0", c.where(), *t.interpolation_scale);
  if (t.interpolation_scale && t.width() % 4 != 0)
    fail<WeightError>("{}: a width of {} has no sine positions, expected a multiple of 4", c.where(), t.width());
  c.no_effect({"dropout"});
  return t;
}

TransformerConfig TransformerConfig::from(const Config& c) {
  c.only("_class_name", {"SanaTransformer2DModel"});
  parts::refuse_null(c, {"guidance_embeds", "guidance_embeds_scale", "timestep_scale"});
  TransformerConfig t = read_sizes(c, 20);
  t.out_channels = parts::is_null(c, "out_channels") ? t.in_channels : positive_integer(c, "out_channels", 32);
  t.guidance_embedding = c.boolean("guidance_embeds", false);
  t.guidance_scale = float(c.number("guidance_embeds_scale", 0.1));
  t.qk_norm = c.has("qk_norm");
  c.only("qk_norm", {"rms_norm_across_heads"});
  t.timestep_scale = float(c.number("timestep_scale", 1));
  c.finish();
  return t;
}

}  // namespace hearth::models::sana
