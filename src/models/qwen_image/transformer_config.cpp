#include "models/qwen_image/transformer_config.h"

#include <numeric>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::qwen_image {

TransformerConfig TransformerConfig::from(const Config& c) {
  parts::refuse_null(c, {"attention_head_dim", "axes_dims_rope", "guidance_embeds", "in_channels", "joint_attention_dim",
                         "num_attention_heads", "num_layers", "patch_size", "use_additional_t_cond", "use_layer3d_rope", "zero_cond_t"});
  TransformerConfig t;
  c.only_number("patch_size", 2);
  t.in_channels = parts::positive_integer(c, "in_channels", t.in_channels);
  // Null: as many for each pixel as a token has.
  t.latent_channels = parts::positive_integer(c, "out_channels", parts::is_null(c, "out_channels") ? t.in_channels : t.latent_channels);
  t.layers = parts::positive_integer(c, "num_layers", t.layers);
  t.heads = parts::positive_integer(c, "num_attention_heads", t.heads);
  t.head_size = parts::positive_integer(c, "attention_head_dim", t.head_size);
  t.text = parts::positive_integer(c, "joint_attention_dim", t.text);
  t.references_at_zero = c.boolean("zero_cond_t", false);
  c.only("guidance_embeds", false);        // the reference has no such network
  c.only("use_additional_t_cond", false);  // Qwen-Image-Layered's
  c.only("use_layer3d_rope", false);
  t.read_axes(c);
  c.no_effect({"pooled_projection_dim"});  // in published files; the reference does not read it
  c.finish();
  return t;
}

void TransformerConfig::read_axes(const Config& c) {
  axes = c.integers("axes_dims_rope", axes);
  if (axes.size() != 3) fail<WeightError>("{}: 'axes_dims_rope' has {} numbers, expected 3 (image, row, column)", c.where(), axes.size());
  for (const int64_t size : axes)
    if (size < 2 || size % 2 != 0) fail<WeightError>("{}: 'axes_dims_rope' has {}, expected even numbers of at least 2", c.where(), size);
  if (const int64_t sum = std::accumulate(axes.begin(), axes.end(), int64_t(0)); sum != head_size)
    fail<WeightError>("{}: 'axes_dims_rope' adds up to {}, expected 'attention_head_dim' = {}", c.where(), sum, head_size);
}

}  // namespace hearth::models::qwen_image
