#include "models/llama/config.h"

#include "parts/config_reading.h"

namespace hearth::models::llama {

parts::DecoderConfig read_config(const Config& c) {
  using parts::DecoderConfig;
  c.only("model_type", {"llama"});
  DecoderConfig d =
      DecoderConfig::common(c, {.vocabulary = 32000, .width = 4096, .mlp_width = 11008, .layers = 32, .heads = 32, .groups = 0, .head = 0});
  d.qkv_bias = d.o_bias = c.boolean("attention_bias", false);
  d.mlp_bias = c.boolean("mlp_bias", false);
  parts::require_layers_alike(c, d);
  if (c.has("use_sliding_window")) c.no_effect({"sliding_window"});  // it is off
  c.finish();
  return d;
}

}  // namespace hearth::models::llama
