#include "models/qwen3_next/config.h"

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::qwen3_next {
namespace {

GatedDeltaNetConfig read_delta_net(const Config& c) {
  using parts::positive_integer;
  GatedDeltaNetConfig d;
  d.key_heads = positive_integer(c, "linear_num_key_heads", 16);
  d.value_heads = positive_integer(c, "linear_num_value_heads", 32);
  if (d.value_heads % d.key_heads)
    fail<WeightError>("{}: 'linear_num_key_heads' = {} does not divide 'linear_num_value_heads' = {}", c.where(), d.key_heads,
                      d.value_heads);
  d.key_size = positive_integer(c, "linear_key_head_dim", 128);
  // A GGUF file states the size of all value heads together.
  const int64_t stated = c.integer("linear_values", 0);
  d.value_size = positive_integer(c, "linear_value_head_dim", stated > 0 ? stated / d.value_heads : 128);
  if (stated > 0 && stated != d.values())
    fail<WeightError>("{}: 'linear_values' = {}, expected {} heads of {}", c.where(), stated, d.value_heads, d.value_size);
  c.no_effect({"linear_value_head_dim"}), c.means("linear_values", std::to_string(d.values()));
  d.taps = positive_integer(c, "linear_conv_kernel_dim", 4);
  if (d.taps < 2) fail<UnsupportedError>("{}: 'linear_conv_kernel_dim' = 1 is not supported, expected at least 2", c.where());
  d.eps = float(c.number("rms_norm_eps", 1e-6));
  return d;
}

// Which layers attend to all tokens: every full_attention_interval-th, unless layer_types says otherwise.
std::vector<bool> read_full_layers(const Config& c, int64_t layers) {
  const int64_t interval = parts::positive_integer(c, "full_attention_interval", 4);
  const std::vector<std::string> types = c.texts("layer_types", {{}});
  if (!types.empty() && int64_t(types.size()) != layers)
    fail<WeightError>("{}: 'layer_types' has {} entries, expected 'num_hidden_layers' = {}", c.where(), types.size(), layers);
  std::vector<bool> full;
  bool differs = false;
  for (int64_t i = 0; i < layers; ++i) {
    const bool usual = (i + 1) % interval == 0;
    if (types.empty()) {
      full.push_back(usual);
      continue;
    }
    const std::string& type = types[size_t(i)];
    if (type != "full_attention" && type != "linear_attention")
      fail<UnsupportedError>("{}: the layer type \"{}\" is not supported, expected full_attention or linear_attention", c.where(), type);
    full.push_back(type == "full_attention");
    differs |= full.back() != usual;
  }
  if (!differs) c.no_effect({"layer_types"});
  return full;
}

}  // namespace

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"qwen3_next"});
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 151936,
                                                 .width = 2048,
                                                 .mlp_width = 5632,
                                                 .layers = 48,
                                                 .heads = 16,
                                                 .groups = 2,
                                                 .head = 256,
                                                 .positions = 32768,
                                                 .partial = 0.25,
                                                 .names = {.partial = "partial_rotary_factor"}});
  NormConfig norm = keys.rms_norm();
  norm.offset = float(c.number("norm_offset", 1.0));  // 0 in GGUF files, which store the sum
  c.no_effect({"norm_offset"});

  AttentionConfig attention = keys.attention();
  attention.qkv_bias = attention.o_bias = c.boolean("attention_bias", false);
  attention.qk_norm = QkNormConfig{.norm = norm};
  attention.gated = true;
  const auto linear = std::make_shared<const GatedDeltaNetConfig>(read_delta_net(c));

  std::vector<bool> sparse = read_sparse_layers(c, keys.layers);
  ExpertsConfig experts;
  experts.expert = keys.mlp();
  if (c.has("num_experts") && c.integer("num_experts") == 0) sparse.assign(sparse.size(), false), c.no_effect({"num_experts_per_tok"});
  else experts.router = read_router(c, "num_experts", 512, 10);
  experts.router.renormalize = c.boolean("norm_topk_prob", true);
  experts.expert.width = positive_integer(c, "moe_intermediate_size", 512);
  experts.shared = ExpertsConfig::Shared{.mlp = keys.mlp(), .gate = "shared_expert_gate"};
  experts.shared->mlp.width = positive_integer(c, "shared_expert_intermediate_size", 512);

  DecoderConfig d = keys.decoder();
  d.norm = norm;
  const std::vector<bool> full = read_full_layers(c, keys.layers);
  for (size_t i = 0; i < full.size(); ++i) {
    LayerConfig& layer = d.layers.emplace_back(sparse[i] ? pre_norm(norm, attention, experts) : pre_norm(norm, attention, keys.mlp()));
    if (!full[i]) layer.mixer.name = "linear_attn", layer.mixer.block = linear;
  }
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::qwen3_next
