#include "models/mixtral/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::mixtral {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"mixtral"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 32000,
                                                 .width = 4096,
                                                 .mlp_width = 14336,
                                                 .layers = 32,
                                                 .heads = 32,
                                                 .groups = 8,
                                                 .positions = 4096 * 32,
                                                 .eps = 1e-5f,
                                                 .rotary = {.theta = 1e6}});
  AttentionConfig attention = keys.attention();
  attention.window = c.has("sliding_window") ? positive_integer(c, "sliding_window", 1) : 0;

  ExpertsConfig experts{.router = read_router(c, "num_local_experts", 8, 2), .expert = keys.mlp()};
  experts.expert.names = {.gate = "w1", .up = "w3", .down = "w2"};
  LayerConfig layer = pre_norm(keys.rms_norm(), attention, experts);
  layer.mlp->name = "block_sparse_moe";

  DecoderConfig d = keys.decoder();
  d.layers.assign(size_t(keys.layers), layer);
  c.no_effect({"router_jitter_noise"});  // of training
  c.only("attention_bias", false);
  require_layers_alike(c, attention.window);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::mixtral
