#include "models/phimoe/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::phimoe {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"phimoe"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 32064,
                                                 .width = 4096,
                                                 .mlp_width = 6400,
                                                 .layers = 32,
                                                 .heads = 32,
                                                 .groups = 8,
                                                 .positions = 4096 * 32,
                                                 .eps = 1e-5f,
                                                 .rotary = {.theta = 1e6}});
  const NormConfig norm{.kind = NormConfig::Kind::layer, .eps = keys.eps, .bias = true};
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  attention.window = read_window_or_none(c);

  ExpertsConfig experts{.router = read_router(c, "num_local_experts", 16, 2), .expert = keys.mlp()};
  experts.router.score = RouterConfig::Score::sparse_mixer;
  experts.router.jitter = c.number("router_jitter_noise", 0.01);
  if (experts.router.chosen != 2)
    fail<UnsupportedError>("{}: 'num_experts_per_tok' = {} is not supported, only 2", c.where(), experts.router.chosen);
  experts.expert.names = {.gate = "w1", .up = "w3", .down = "w2"};
  LayerConfig layer = pre_norm(norm, attention, experts);
  layer.mlp->name = "block_sparse_moe";

  DecoderConfig d = keys.decoder();
  d.norm = norm;
  d.head.bias = c.boolean("lm_head_bias", false);
  d.layers.assign(size_t(keys.layers), layer);
  c.no_effect({"input_jitter_noise"});  // of training
  require_layers_alike(c, attention.window);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::phimoe
