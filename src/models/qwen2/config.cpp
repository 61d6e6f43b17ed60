#include "models/qwen2/config.h"

#include "parts/decoder/reading.h"

namespace hearth::models::qwen2 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"qwen2", "qwen2_5_vl_text", "qwen2_5_vl"});
  const bool of_images = c.text("model_type", "qwen2") != "qwen2";  // the part of Qwen 2.5 VL that reads texts
  const DecoderKeys text{
      .vocabulary = 151936, .width = 4096, .mlp_width = 22016, .layers = 32, .heads = 32, .groups = 32, .positions = 32768};
  const DecoderKeys with_images{.vocabulary = 152064,
                                .width = 8192,
                                .mlp_width = 29568,
                                .layers = 80,
                                .heads = 64,
                                .groups = 8,
                                .positions = 32768,
                                .eps = 1e-5f,
                                .rotary = {.theta = 1e6}};
  const DecoderKeys keys = DecoderKeys::read(c, of_images ? with_images : text);

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
