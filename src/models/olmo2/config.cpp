#include "models/olmo2/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::olmo2 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"olmo2"});
  const DecoderKeys keys =
      DecoderKeys::read(c, {.vocabulary = 50304, .width = 4096, .mlp_width = 11008, .layers = 32, .heads = 32, .eps = 1e-5f});

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  attention.qk_norm = QkNormConfig{.norm = keys.rms_norm(), .over = QkNormConfig::Over::all};
  const LayerNormConfig after_attention{"post_attention_layernorm", keys.rms_norm()},
      after_mlp{"post_feedforward_layernorm", keys.rms_norm()};

  DecoderConfig d = keys.decoder();
  d.layers.assign(size_t(keys.layers), {.mixer = {.name = "self_attn", .block = attention, .after = after_attention},
                                        .mlp = SublayerConfig{.name = "mlp", .block = keys.mlp(), .after = after_mlp}});
  require_layers_alike(c, 0);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::olmo2
