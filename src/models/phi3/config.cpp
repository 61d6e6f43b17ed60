#include "models/phi3/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::phi3 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"phi3"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 32064,
                                                 .width = 3072,
                                                 .mlp_width = 8192,
                                                 .layers = 32,
                                                 .heads = 32,
                                                 .positions = 4096,
                                                 .eps = 1e-5f,
                                                 .names = {.partial = "partial_rotary_factor"}});
  AttentionConfig attention = keys.attention();
  attention.fused = true;
  attention.window = read_window_or_none(c);

  DecoderConfig d = keys.decoder();
  d.layers.assign(size_t(keys.layers), pre_norm(keys.rms_norm(), attention, keys.fused_mlp()));

  c.only("attention_bias", false);
  c.only("mlp_bias", false);
  c.only("lm_head_bias", false);
  require_layers_alike(c, attention.window);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::phi3
