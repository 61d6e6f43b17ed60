#include "models/cohere2/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::cohere2 {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"cohere2"});
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
  const int64_t window = positive_integer(c, "sliding_window", 4096);

  DecoderConfig d = keys.decoder();
  d.norm = norm;
  d.head.scale = float(c.number("logit_scale", 0.0625));
  for (const bool sliding : read_sliding_pattern(c, keys.layers, 4)) {
    attention.window = sliding ? window : 0;
    attention.rotary = sliding ? 0 : AttentionConfig::no_positions;
    d.layers.push_back(parallel_norm(norm, attention, keys.mlp()));
  }
  c.no_effect({"cache_implementation", "layer_switch", "order_of_interleaved_layers", "use_embedding_sharing", "use_gated_activation",
               "use_parallel_block", "use_parallel_embedding"});
  c.only("position_embedding_type", {"rope_gptj"});
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::cohere2
