#include "models/glm/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::glm {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"glm"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 151552,
                                                 .width = 4096,
                                                 .mlp_width = 13696,
                                                 .layers = 40,
                                                 .heads = 32,
                                                 .groups = 2,
                                                 .head = 128,
                                                 .positions = 131072,
                                                 .eps = 1.5625e-7f,
                                                 .partial = 0.5,
                                                 .rotary = {.pairs = RotaryPairs::neighbors},
                                                 .names = {.partial = "partial_rotary_factor"}});
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = c.boolean("attention_bias", true);  // the output has none
  // In GGUF files.
  attention.fused = c.boolean("fused_qkv", false);
  attention.qkv_bias |= c.boolean("fused_qkv_bias", false);

  DecoderConfig d = keys.decoder();
  d.layers.assign(size_t(keys.layers), pre_norm(keys.rms_norm(), attention, keys.fused_mlp()));
  require_layers_alike(c, 0);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::glm
