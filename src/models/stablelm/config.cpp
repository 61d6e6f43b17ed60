#include "models/stablelm/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::stablelm {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"stablelm", "stablelm_epoch"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 50304,
                                                 .width = 2560,
                                                 .mlp_width = 6912,
                                                 .layers = 32,
                                                 .heads = 32,
                                                 .groups = 32,
                                                 .positions = 4096,
                                                 .eps = 1e-5f,
                                                 .partial = 0.25,
                                                 .names = {.eps = "layer_norm_eps", .partial = "partial_rotary_factor"}});
  NormConfig norm = keys.layer_norm();
  norm.bias = true;
  AttentionConfig attention = keys.attention();
  attention.qkv_bias = c.boolean("use_qkv_bias", false);
  if (c.boolean("qk_layernorm", false))
    attention.qk_norm = QkNormConfig{
        .norm = keys.layer_norm(), .over = QkNormConfig::Over::each_head, .q = "q_layernorm", .k = "k_layernorm", .listed = true};
  const bool parallel = c.boolean("use_parallel_residual", false);

  DecoderConfig d = keys.decoder();
  d.norm = norm;
  d.layers.assign(size_t(keys.layers), (parallel ? parallel_norm : pre_norm)(norm, attention, keys.mlp()));
  c.no_effect({"norm_eps"});
  require_layers_alike(c, 0);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::stablelm
