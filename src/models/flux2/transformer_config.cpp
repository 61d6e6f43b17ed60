#include "models/flux2/transformer_config.h"

#include <numeric>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::flux2 {

TransformerConfig TransformerConfig::from(const Config& c) {
  parts::refuse_null(c,
                     {"attention_head_dim", "axes_dims_rope", "eps", "guidance_embeds", "in_channels", "joint_attention_dim", "mlp_ratio",
                      "num_attention_heads", "num_layers", "num_single_layers", "patch_size", "rope_theta", "timestep_guidance_channels"});
  TransformerConfig t;
  c.only_number("patch_size", 1);  // the autoencoder's latents are those of 2×2 pixels already
  t.in_channels = parts::positive_integer(c, "in_channels", t.in_channels);
  t.out_channels = parts::positive_integer(c, "out_channels", t.in_channels);
  t.layers = parts::positive_integer(c, "num_layers", t.layers);
  t.single_layers = parts::positive_integer(c, "num_single_layers", t.single_layers);
  t.heads = parts::positive_integer(c, "num_attention_heads", t.heads);
  t.head_size = parts::positive_integer(c, "attention_head_dim", t.head_size);
  t.text = parts::positive_integer(c, "joint_attention_dim", t.text);
  t.sinusoid = parts::positive_integer(c, "timestep_guidance_channels", t.sinusoid);
  t.mlp_ratio = c.number("mlp_ratio", t.mlp_ratio);
  t.guidance = c.boolean("guidance_embeds", true);
  t.theta = c.number("rope_theta", t.theta);
  t.eps = c.number("eps", t.eps);
  t.axes = c.integers("axes_dims_rope", t.axes);
  if (t.axes.size() != 4)
    fail<WeightError>("{}: 'axes_dims_rope' has {} numbers, expected 4 (image, row, column, text)", c.where(), t.axes.size());
  for (const int64_t size : t.axes)
    if (size < 2 || size % 2 != 0) fail<WeightError>("{}: 'axes_dims_rope' has {}, expected even numbers of at least 2", c.where(), size);
  if (const int64_t sum = std::accumulate(t.axes.begin(), t.axes.end(), int64_t(0)); sum != t.head_size)
    fail<WeightError>("{}: 'axes_dims_rope' adds up to {}, expected 'attention_head_dim' = {}", c.where(), sum, t.head_size);
  if (!(t.theta > 0) || !(t.eps >= 0) || t.mlp_width() < 1)
    fail<WeightError>("{}: 'rope_theta' is {}, 'eps' {} and 'mlp_ratio' {}, expected positive numbers", c.where(), t.theta, t.eps,
                      t.mlp_ratio);
  c.finish();
  return t;
}

}  // namespace hearth::models::flux2
