#include "models/hunyuan_dit/transformer_config.h"

#include "core/error.h"
#include "parts/config_reading.h"

namespace hearth::models::hunyuan_dit {

using parts::positive_integer;

namespace {

// The keys that the transformer and its control networks have in common; `layers`: the key of the number of layers, and its default.
TransformerConfig read_sizes(const Config& c, const std::string& layers, int64_t standard) {
  parts::refuse_null(c, {"activation_fn", "attention_head_dim", "cross_attention_dim", "cross_attention_dim_t5", "hidden_size",
                         "in_channels", "mlp_ratio", "num_attention_heads", layers, "patch_size", "pooled_projection_dim", "sample_size",
                         "text_len", "text_len_t5", "use_style_cond_and_image_meta_size"});
  for (const char* key : {"in_channels", "patch_size"})  // the reference has no default
    if (!c.has(key)) fail<WeightError>("{}: lacks '{}'", c.where(), key);
  TransformerConfig t;
  t.sample_size = positive_integer(c, "sample_size", 32);
  t.patch = positive_integer(c, "patch_size", 2);
  t.in_channels = positive_integer(c, "in_channels", 4);
  t.layers = positive_integer(c, layers, standard);
  t.heads = positive_integer(c, "num_attention_heads", 16);
  t.head_size = positive_integer(c, "attention_head_dim", 88);
  t.mlp_ratio = c.number("mlp_ratio", 4);
  t.text = positive_integer(c, "cross_attention_dim", 1024);
  t.text_rows = positive_integer(c, "text_len", 77);
  t.t5 = positive_integer(c, "cross_attention_dim_t5", 2048);
  t.t5_rows = positive_integer(c, "text_len_t5", 256);
  t.pooled = positive_integer(c, "pooled_projection_dim", 1024);
  t.conditions = c.boolean("use_style_cond_and_image_meta_size", true);
  c.only("activation_fn", {"gelu-approximate"});
  const int64_t hidden = positive_integer(c, "hidden_size", 1152);
  if (hidden != t.width())
    fail<WeightError>("{}: 'hidden_size' = {}, expected num_attention_heads · attention_head_dim = {}", c.where(), hidden, t.width());
  if (t.head_size % 4 != 0)
    fail<WeightError>("{}: 'attention_head_dim' = {}, expected a multiple of 4 for the positions", c.where(), t.head_size);
  if (t.layers % 2 != 0)
    fail<WeightError>("{}: '{}' = {}, expected an even number: blocks of the second half take what those of the first half leave",
                      c.where(), layers, t.layers);
  if (t.t5 % 8 != 0)
    fail<WeightError>("{}: 'cross_attention_dim_t5' = {}, expected a multiple of 8, the heads of the pooler", c.where(), t.t5);
  if (t.mlp_width() < 1) fail<WeightError>("{}: 'mlp_ratio' = {}, expected a number above 0", c.where(), t.mlp_ratio);
  return t;
}

}  // namespace

TransformerConfig TransformerConfig::from(const Config& c) {
  c.only("_class_name", {"HunyuanDiT2DModel"});
  parts::refuse_null(c, {"learn_sigma"});
  c.only("learn_sigma", true);  // without it the reference's pipeline takes half of the channels for the variance, too
  c.no_effect({"norm_type"});
  const TransformerConfig t = read_sizes(c, "num_layers", 28);
  c.finish();
  return t;
}

TransformerConfig TransformerConfig::of_control(const Config& c) {
  c.only("_class_name", {"HunyuanDiT2DControlNetModel"});
  c.no_effect({"conditioning_channels"});
  const TransformerConfig t = read_sizes(c, "transformer_num_layers", 40);
  if (t.skips() < 1)
    fail<WeightError>("{}: 'transformer_num_layers' = {}, expected at least 4: with fewer nothing is skipped that a control could change",
                      c.where(), t.layers);
  c.finish();
  return t;
}

}  // namespace hearth::models::hunyuan_dit
