#include "models/cohere/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::cohere {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"cohere"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 256000,
                                                 .width = 8192,
                                                 .mlp_width = 22528,
                                                 .layers = 40,
                                                 .heads = 64,
                                                 .positions = 8192,
                                                 .eps = 1e-5f,
                                                 .tied = true,
                                                 .rotary = {.pairs = RotaryPairs::neighbors},
                                                 .names = {.eps = "layer_norm_eps"}});
  const NormConfig norm = keys.layer_norm();
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  if (c.boolean("use_qk_norm", false)) attention.qk_norm = QkNormConfig{.norm = norm, .over = QkNormConfig::Over::each_head};

  DecoderConfig d = keys.decoder();
  d.norm = norm;
  d.head.scale = float(c.number("logit_scale", 0.0625));
  d.layers.assign(size_t(keys.layers), parallel_norm(norm, attention, keys.mlp()));
  c.no_effect({"model_max_length"});
  require_layers_alike(c, 0);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::cohere
