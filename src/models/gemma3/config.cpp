#include "models/gemma3/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::gemma3 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"gemma3_text"});
  c.no_effect({"hidden_act"});  // hidden_activation counts
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 262208,
                                                 .width = 2304,
                                                 .mlp_width = 9216,
                                                 .layers = 26,
                                                 .heads = 8,
                                                 .groups = 4,
                                                 .head = 256,
                                                 .positions = 131072,
                                                 .activation = Activation::gelu_tanh,
                                                 .tied = true,
                                                 .rotary = {.theta = 1e6},
                                                 .rotary_layers = "full_attention",
                                                 .names = {.activation = "hidden_activation"}});
  const NormConfig norm = read_offset_norm(c, keys);

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  attention.scale = read_score_divisor(c, "query_pre_attn_scalar", 256);
  attention.qk_norm = QkNormConfig{.norm = norm};
  const int64_t window = positive_integer(c, "sliding_window", 4096);

  DecoderConfig d = keys.decoder();
  scale_embeddings_by_root(d);
  d.norm = norm;
  d.head.soft_cap = read_soft_cap(c, "final_logit_softcapping", 0);
  // Layers with a window have plain angles of another base.
  RotaryConfig local{.theta = c.number("rope_local_base_freq", 10000.0), .size = keys.head, .positions = keys.positions};
  if (c.has("rope_parameters") && c.object("rope_parameters").has("sliding_attention")) {
    const Config parameters = c.object("rope_parameters").object("sliding_attention");
    parameters.only("rope_type", {"default"});
    local.theta = parameters.number("rope_theta", local.theta);
    parameters.finish();
  }
  d.rotaries.push_back(local);
  for (const bool sliding : read_sliding_pattern(c, keys.layers, 6)) {
    attention.window = sliding ? window : 0;
    attention.rotary = sliding ? 1 : 0;
    d.layers.push_back(sandwich_norm(norm, attention, keys.mlp()));
  }
  c.no_effect({"attn_logit_softcapping", "cache_implementation"});  // the reference applies no cap to scores
  c.only("use_bidirectional_attention", false);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::gemma3
