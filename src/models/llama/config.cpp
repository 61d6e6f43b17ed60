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
  // The reference's network has no window, but its cache takes one from this key, unless layer_types declares all layers full attention.
  const int64_t window = c.integer("sliding_window", 0);
  if (window > 0 && window < d.positions && !c.has("layer_types"))
    fail<UnsupportedError>("{}: 'sliding_window' = {} is not supported for llama, expected at least 'max_position_embeddings' = {}",
                           c.where(), window, d.positions);
  c.finish();
  return d;
}

}  // namespace hearth::models::llama
