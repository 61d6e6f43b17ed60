#include "models/deepseek/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::deepseek {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"deepseek"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 102400, .width = 4096, .mlp_width = 11008, .layers = 30, .heads = 32});

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  ExpertsConfig experts{.router = read_router(c, "n_routed_experts", 64, 6), .expert = keys.mlp()};
  experts.router.renormalize = c.boolean("norm_topk_prob", false);
  experts.router.epsilon = 1e-20;
  experts.expert.width = positive_integer(c, "moe_intermediate_size", 1407);
  experts.shared = ExpertsConfig::Shared{.mlp = experts.expert, .name = "shared_experts"};
  experts.shared->mlp.width *= positive_integer(c, "n_shared_experts", 2);
  const int64_t dense = c.integer("first_k_dense_replace", 0);

  DecoderConfig d = keys.decoder();
  for (int64_t i = 0; i < keys.layers; ++i) {
    if (i < dense) d.layers.push_back(pre_norm(keys.rms_norm(), attention, keys.mlp()));
    else d.layers.push_back(pre_norm(keys.rms_norm(), attention, experts));
  }
  c.only_number("moe_layer_freq", 1);
  c.only("scoring_func", {"softmax"});
  c.only("topk_method", {"greedy"});
  c.no_effect({"seq_aux", "ep_size"});  // of training
  require_layers_alike(c, 0);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::deepseek
