#include "models/gpt_oss/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::gpt_oss {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"gpt_oss"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 201088,
                                                 .width = 2880,
                                                 .mlp_width = 2880,
                                                 .layers = 36,
                                                 .heads = 64,
                                                 .groups = 8,
                                                 .head = 64,
                                                 .positions = 131072,
                                                 .eps = 1e-5f,
                                                 .rotary = {.theta = 150000}});
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = true;
  c.only("attention_bias", true);
  attention.sinks = true;
  const int64_t window = positive_integer(c, "sliding_window", 128);

  ExpertsConfig experts;
  experts.router = read_router(c, "num_local_experts", 128, 4);
  experts.router.score = RouterConfig::Score::chosen_softmax;
  experts.router.bias = true;
  experts.expert = {.width = keys.mlp_width, .activation = Activation::quick_gelu, .bias = true, .limit = 7};
  experts.names.router = "router";
  c.only_number("swiglu_limit", 7);
  c.only_number("experts_per_token", double(experts.router.chosen));  // another name of num_experts_per_tok

  DecoderConfig d = keys.decoder();
  for (const bool sliding : read_sliding_layers(c, keys.layers, [](int64_t i) { return i % 2 == 0; })) {
    attention.window = sliding ? window : 0;
    d.layers.push_back(pre_norm(keys.rms_norm(), attention, experts));
  }
  c.no_effect({"hidden_act", "initial_context_length"});  // the experts have their own activation
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::gpt_oss
