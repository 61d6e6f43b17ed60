#include "models/qwen3_moe/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::qwen3_moe {

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"qwen3_moe"});
  const DecoderKeys keys = DecoderKeys::read(
      c, {.vocabulary = 151936, .width = 2048, .mlp_width = 6144, .layers = 24, .heads = 32, .groups = 4, .positions = 32768});

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  attention.qk_norm = QkNormConfig{.norm = keys.rms_norm()};
  attention.window = read_shared_window(c);

  ExpertsConfig experts{.router = read_router(c, "num_experts", 128, 8), .expert = keys.mlp()};
  experts.router.renormalize = c.boolean("norm_topk_prob", false);
  experts.expert.width = positive_integer(c, "moe_intermediate_size", 768);

  DecoderConfig d = keys.decoder();
  for (const bool sparse : read_sparse_layers(c, keys.layers)) {
    if (sparse) d.layers.push_back(pre_norm(keys.rms_norm(), attention, experts));
    else d.layers.push_back(pre_norm(keys.rms_norm(), attention, keys.mlp()));
  }
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::qwen3_moe
