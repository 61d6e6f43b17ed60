#include "models/mistral/config.h"

#include "parts/config_reading.h"

namespace hearth::models::mistral {

parts::DecoderConfig read_config(const Config& c) {
  using parts::DecoderConfig;
  c.only("model_type", {"mistral"});
  DecoderConfig d = DecoderConfig::common(
      c,
      {.vocabulary = 32000, .width = 4096, .mlp_width = 14336, .layers = 32, .heads = 32, .groups = 8, .head = 0, .positions = 4096 * 32});
  // Absent means 4096; null means that every key is attended to.
  const int64_t window = parts::is_null(c, "sliding_window") ? 0 : parts::positive_integer(c, "sliding_window", 4096);
  d.windows.assign(size_t(d.layers), window);
  c.only("attention_bias", false);
  c.only("mlp_bias", false);
  parts::require_layers_alike(c, d);
  c.finish();
  return d;
}

}  // namespace hearth::models::mistral
