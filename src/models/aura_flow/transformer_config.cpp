#include "models/aura_flow/transformer_config.h"

#include <cmath>

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::aura_flow {

using parts::positive_integer;

int64_t TransformerConfig::side() const {
  auto root = int64_t(std::sqrt(double(positions)));
  while (root * root > positions) --root;
  return root;
}

int64_t TransformerConfig::mlp_width() const { return (2 * 4 * width() / 3 + 255) / 256 * 256; }

TransformerConfig TransformerConfig::from(const Config& c) {
  c.only("_class_name", {"AuraFlowTransformer2DModel"});
  parts::refuse_null(c, {"attention_head_dim", "caption_projection_dim", "in_channels", "joint_attention_dim", "num_attention_heads",
                         "num_mmdit_layers", "num_single_dit_layers", "out_channels", "patch_size", "pos_embed_max_size", "sample_size"});
  TransformerConfig t;
  t.sample_size = positive_integer(c, "sample_size", 64);
  t.patch = positive_integer(c, "patch_size", 2);
  t.in_channels = positive_integer(c, "in_channels", 4);
  t.out_channels = positive_integer(c, "out_channels", 4);
  t.joint_layers = positive_integer(c, "num_mmdit_layers", 4);
  t.single_layers = positive_integer(c, "num_single_dit_layers", 32);
  t.heads = positive_integer(c, "num_attention_heads", 12);
  t.head_size = positive_integer(c, "attention_head_dim", 256);
  t.text = positive_integer(c, "joint_attention_dim", 2048);
  t.positions = positive_integer(c, "pos_embed_max_size", 1024);
  const int64_t stream = positive_integer(c, "caption_projection_dim", 3072);
  if (stream != t.width())
    fail<WeightError>("{}: 'caption_projection_dim' = {}, expected num_attention_heads · attention_head_dim = {}", c.where(), stream,
                      t.width());
  if (t.side() * t.side() != t.positions)
    fail<WeightError>("{}: 'pos_embed_max_size' = {}, expected a square number", c.where(), t.positions);
  c.finish();
  return t;
}

}  // namespace hearth::models::aura_flow
