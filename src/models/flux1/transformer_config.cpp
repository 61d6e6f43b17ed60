#include "models/flux1/transformer_config.h"

#include <numeric>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::flux1 {

TransformerConfig TransformerConfig::from(const Config& c) {
  parts::refuse_null(c, {"attention_head_dim", "axes_dims_rope", "guidance_embeds", "in_channels", "joint_attention_dim",
                         "num_attention_heads", "num_layers", "num_single_layers", "patch_size", "pooled_projection_dim"});
  TransformerConfig t;
  c.only_number("patch_size", 1);  // the reference's pipelines pack 2×2 latent pixels into a token themselves
  t.in_channels = parts::positive_integer(c, "in_channels", 64);
  t.out_channels = parts::positive_integer(c, "out_channels", t.in_channels);
  t.layers = parts::positive_integer(c, "num_layers", 19);
  t.single_layers = parts::positive_integer(c, "num_single_layers", 38);
  t.heads = parts::positive_integer(c, "num_attention_heads", 24);
  t.head_size = parts::positive_integer(c, "attention_head_dim", 128);
  t.text = parts::positive_integer(c, "joint_attention_dim", 4096);
  t.pooled = parts::positive_integer(c, "pooled_projection_dim", 768);
  t.guidance = c.boolean("guidance_embeds", false);
  t.read_axes(c);
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

}  // namespace hearth::models::flux1
