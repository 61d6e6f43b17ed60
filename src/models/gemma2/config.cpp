#include "models/gemma2/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::gemma2 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"gemma2"});
  c.no_effect({"hidden_act"});  // hidden_activation counts
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 256000,
                                                 .width = 2304,
                                                 .mlp_width = 9216,
                                                 .layers = 26,
                                                 .heads = 8,
                                                 .groups = 4,
                                                 .head = 256,
                                                 .positions = 8192,
                                                 .activation = Activation::gelu_tanh,
                                                 .tied = true,
                                                 .names = {.activation = "hidden_activation"}});
  const NormConfig norm = read_offset_norm(c, keys);

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  attention.scale = read_score_divisor(c, "query_pre_attn_scalar", 256);
  attention.soft_cap = read_soft_cap(c, "attn_logit_softcapping", 50);
  const int64_t window = positive_integer(c, "sliding_window", 4096);

  DecoderConfig d = keys.decoder();
  scale_embeddings_by_root(d);
  d.norm = norm;
  d.head.soft_cap = read_soft_cap(c, "final_logit_softcapping", 30);
  for (const bool sliding : read_sliding_layers(c, keys.layers, [](int64_t i) { return i % 2 == 0; })) {
    attention.window = sliding ? window : 0;
    d.layers.push_back(sandwich_norm(norm, attention, keys.mlp()));
  }
  c.no_effect({"cache_implementation", "sliding_window_size"});
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::gemma2
