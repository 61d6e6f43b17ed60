#include "models/qwen3/config.h"

#include "parts/decoder/reading.h"

namespace hearth::models::qwen3 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"qwen3"});
  const DecoderKeys keys = DecoderKeys::read(
      c,
      {.vocabulary = 151936, .width = 4096, .mlp_width = 22016, .layers = 32, .heads = 32, .groups = 32, .head = 128, .positions = 32768});

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  attention.qk_norm = QkNormConfig{.norm = keys.rms_norm()};

  DecoderConfig d = keys.decoder();
  for (const int64_t window : read_layer_windows(c, keys.layers)) {
    attention.window = window;
    d.layers.push_back(pre_norm(keys.rms_norm(), attention, keys.mlp()));
  }

  c.only("qk_norm", true);
  c.only("mlp_bias", false);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::qwen3
