#include "models/qwen3/config.h"

#include "parts/config_reading.h"

namespace hearth::models::qwen3 {

parts::DecoderConfig read_config(const Config& c) {
  using parts::DecoderConfig;
  c.only("model_type", {"qwen3"});
  DecoderConfig d = DecoderConfig::common(
      c,
      {.vocabulary = 151936, .width = 4096, .mlp_width = 22016, .layers = 32, .heads = 32, .groups = 32, .head = 128, .positions = 32768});
  d.qkv_bias = d.o_bias = c.boolean("attention_bias", false);
  d.qk_norm = true;
  c.only("qk_norm", true);
  c.only("mlp_bias", false);
  parts::read_layer_windows(c, d);
  c.finish();
  return d;
}

}  // namespace hearth::models::qwen3
