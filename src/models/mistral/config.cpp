#include "models/mistral/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::mistral {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"mistral"});
  const DecoderKeys keys = DecoderKeys::read(
      c, {.vocabulary = 32000, .width = 4096, .mlp_width = 14336, .layers = 32, .heads = 32, .groups = 8, .positions = 4096 * 32});

  AttentionConfig attention = keys.attention();
  // Absent means 4096; null means that every key is attended to.
  attention.window = is_null(c, "sliding_window") ? 0 : positive_integer(c, "sliding_window", 4096);

  DecoderConfig d = keys.decoder();
  d.layers.assign(size_t(keys.layers), pre_norm(keys.rms_norm(), attention, keys.mlp()));

  c.only("attention_bias", false);
  c.only("mlp_bias", false);
  require_layers_alike(c, attention.window);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::mistral
