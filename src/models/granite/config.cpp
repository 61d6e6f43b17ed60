#include "models/granite/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::granite {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"granite"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 32000, .width = 4096, .mlp_width = 11008, .layers = 32, .heads = 32});

  const auto residual = float(c.number("residual_multiplier", 1.0));
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  attention.scale = float(c.number("attention_multiplier", 1.0));
  attention.output_scale = residual;
  MlpConfig mlp = keys.mlp();
  mlp.bias = c.boolean("mlp_bias", false);
  mlp.output_scale = residual;

  DecoderConfig d = keys.decoder();
  d.embedding_scale = c.number("embedding_multiplier", 1.0);
  d.head.scale = float(1 / c.number("logits_scaling", 1.0));
  d.layers.assign(size_t(keys.layers), pre_norm(keys.rms_norm(), attention, mlp));
  require_layers_alike(c, 0);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::granite
