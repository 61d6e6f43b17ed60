#include "models/qwen2/config.h"

#include "parts/config_reading.h"

namespace hearth::models::qwen2 {

parts::DecoderConfig read_config(const Config& c) {
  using parts::DecoderConfig;
  c.only("model_type", {"qwen2"});
  DecoderConfig d = DecoderConfig::common(
      c, {.vocabulary = 151936, .width = 4096, .mlp_width = 22016, .layers = 32, .heads = 32, .groups = 32, .head = 0, .positions = 32768});
  d.qkv_bias = true;
  c.no_effect({"attention_bias", "qkv_bias"});   // queries, keys and values always have biases, the output never
  c.no_effect({"dual_chunk_attention_config"});  // applies beyond the trained length only, and not in the reference
  c.only("mlp_bias", false);
  parts::read_layer_windows(c, d);
  c.finish();
  return d;
}

}  // namespace hearth::models::qwen2
