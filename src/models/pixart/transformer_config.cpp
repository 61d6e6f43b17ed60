#include "models/pixart/transformer_config.h"

#include <algorithm>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::pixart {

using parts::positive_integer;

TransformerConfig TransformerConfig::from(const Config& c) {
  c.only("_class_name", {"PixArtTransformer2DModel", "Transformer2DModel"});
  if (c.text("_class_name", "") == "Transformer2DModel" && !c.has("norm_type"))
    fail<UnsupportedError>("{}: is a Transformer2DModel without 'norm_type', expected \"ada_norm_single\"", c.where());
  c.only("norm_type", {"ada_norm_single"});
  parts::refuse_null(
      c, {"activation_fn", "attention_bias", "attention_head_dim", "cross_attention_dim", "in_channels", "norm_elementwise_affine",
          "norm_eps", "norm_type", "num_attention_heads", "num_embeds_ada_norm", "num_layers", "patch_size", "sample_size"});
  TransformerConfig t;
  t.sample_size = positive_integer(c, "sample_size", 128);
  t.patch = positive_integer(c, "patch_size", 2);
  t.in_channels = positive_integer(c, "in_channels", 4);
  t.out_channels = parts::is_null(c, "out_channels") ? t.in_channels : positive_integer(c, "out_channels", 8);
  t.layers = positive_integer(c, "num_layers", 28);
  t.heads = positive_integer(c, "num_attention_heads", 16);
  t.head_size = positive_integer(c, "attention_head_dim", 72);
  t.attention_bias = c.boolean("attention_bias", true);
  t.eps = float(c.number("norm_eps", 1e-6));
  c.only("norm_elementwise_affine", false);
  c.only("activation_fn", {"gelu-approximate"});
  c.only("attention_type", {"default"});
  c.only("upcast_attention", false);

  const int64_t cross = positive_integer(c, "cross_attention_dim", 1152);
  t.projects_text = c.has("caption_channels");
  t.text = t.projects_text ? positive_integer(c, "caption_channels", 4096) : cross;
  if (t.projects_text && cross != t.width())
    fail<WeightError>("{}: 'cross_attention_dim' = {}, expected num_attention_heads · attention_head_dim = {}", c.where(), cross,
                      t.width());
  // Null means the same as absent.
  t.conditions = c.has("use_additional_conditions") ? c.boolean("use_additional_conditions") : t.sample_size == 128;
  t.interpolation = c.has("interpolation_scale") ? c.number("interpolation_scale") : double(std::max<int64_t>(t.sample_size / 64, 1));
  if (!(t.interpolation > 0)) fail<WeightError>("{}: 'interpolation_scale' = {}, expected a number above 0", c.where(), t.interpolation);
  if (t.width() % 4 != 0)
    fail<WeightError>("{}: num_attention_heads · attention_head_dim = {}, expected a multiple of 4 for the positions", c.where(),
                      t.width());
  if (t.conditions && t.width() % 3 != 0)
    fail<WeightError>("{}: num_attention_heads · attention_head_dim = {}, expected a multiple of 3 for the image's size", c.where(),
                      t.width());
  if (t.patch > t.sample_size)
    fail<WeightError>("{}: 'patch_size' = {}, expected at most 'sample_size' = {}", c.where(), t.patch, t.sample_size);
  // The last four belong to the class that older folders state; its successor does not have them.
  c.no_effect({"dropout", "norm_num_groups", "num_embeds_ada_norm", "double_self_attention", "only_cross_attention", "num_vector_embeds",
               "use_linear_projection"});
  c.finish();
  return t;
}

}  // namespace hearth::models::pixart
