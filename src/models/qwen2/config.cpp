#include "models/qwen2/config.h"

#include "parts/decoder/reading.h"

namespace hearth::models::qwen2 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"qwen2"});
  const DecoderKeys keys = DecoderKeys::read(
      c, {.vocabulary = 151936, .width = 4096, .mlp_width = 22016, .layers = 32, .heads = 32, .groups = 32, .positions = 32768});

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = true;  // of queries, keys and values, never of the output, whatever the keys say
  c.no_effect({"attention_bias", "qkv_bias"});

  DecoderConfig d = keys.decoder();
  for (const int64_t window : read_layer_windows(c, keys.layers)) {
    attention.window = window;
    d.layers.push_back(pre_norm(keys.rms_norm(), attention, keys.mlp()));
  }

  c.no_effect({"dual_chunk_attention_config"});  // applies beyond the trained length only, and not in the reference
  c.only("mlp_bias", false);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::qwen2
