#include "models/cohere/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::cohere {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"cohere"});
  DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 256000,
                                           .width = 8192,
                                           .mlp_width = 22528,
                                           .layers = 40,
                                           .heads = 64,
                                           .positions = 8192,
                                           .eps = 1e-5f,
                                           .tied = true,
                                           .names = {.eps = "layer_norm_eps"}});
  keys.rotary.pairs = RotaryPairs::neighbors;
  const NormConfig norm{.kind = NormConfig::Kind::layer, .eps = keys.eps};
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  if (c.boolean("use_qk_norm", false)) attention.qk_norm = QkNormConfig{.norm = norm, .over = QkNormConfig::Over::each_head};
  LayerConfig layer = pre_norm(norm, attention, keys.mlp());
  layer.mlp->before.reset();
  layer.parallel = true;

  DecoderConfig d = keys.decoder();
  d.norm = norm;
  d.head.scale = float(c.number("logit_scale", 0.0625));
  d.layers.assign(size_t(keys.layers), layer);
  c.no_effect({"model_max_length"});
  require_layers_alike(c, 0);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::cohere
