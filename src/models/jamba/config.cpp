#include "models/jamba/config.h"

#include <algorithm>

#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::jamba {
namespace {

// Layers offset, offset + period, offset + 2·period …
std::vector<int64_t> every(const Config& c, const std::string& kind, int64_t period, int64_t offset, int64_t layers) {
  const std::string period_key = kind + "_layer_period", offset_key = kind + "_layer_offset";
  period = parts::positive_integer(c, period_key, period);
  offset = c.integer(offset_key, offset);
  if (offset < 0 || offset >= period)
    fail<WeightError>("{}: '{}' = {}, expected less than '{}' = {}", c.where(), offset_key, offset, period_key, period);
  c.no_effect({period_key, offset_key});  // the lists say it
  std::vector<int64_t> all;
  for (int64_t i = offset; i < layers; i += period) all.push_back(i);
  return all;
}

bool has(const std::vector<int64_t>& list, int64_t i) { return std::ranges::find(list, i) != list.end(); }

}  // namespace

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"jamba"});
  const DecoderKeys keys = DecoderKeys::read(
      c, {.vocabulary = 65536, .width = 4096, .mlp_width = 14336, .layers = 32, .heads = 32, .groups = 8, .positions = 262144});
  AttentionConfig attention = keys.attention();
  attention.rotary = AttentionConfig::no_positions;

  SelectiveMixerConfig mixer{.states = positive_integer(c, "mamba_d_state", 16), .kernel = positive_integer(c, "mamba_d_conv", 4)};
  mixer.inner = positive_integer(c, "mamba_inner", positive_integer(c, "mamba_expand", 2) * keys.width);
  mixer.rank = read_step_rank(c, "mamba_dt_rank", keys.width);
  mixer.activation = keys.activation;
  mixer.bias = c.boolean("mamba_proj_bias", false);
  mixer.conv_bias = c.boolean("mamba_conv_bias", true);
  mixer.logarithms = read_decay_logarithms(c);
  mixer.norms = SelectiveMixerConfig::Norms{.eps = keys.eps, .weights = true};

  ExpertsConfig experts{.router = read_router(c, "num_experts", 16, 2), .expert = keys.mlp(), .names = {.router = "router"}};
  experts.router.renormalize = false;

  // Lists of layers: GGUF files have heads of keys and values for each layer, 0 of them where it has no attention.
  std::vector<int64_t> groups(size_t(keys.layers), 0), sparse = every(c, "expert", 2, 1, keys.layers);
  for (const int64_t i : every(c, "attn", 8, 4, keys.layers)) groups[size_t(i)] = keys.groups;
  groups = c.integers("layer_key_value_heads", groups);
  if (experts.router.experts == 1) sparse.clear();
  sparse = c.integers("expert_layers", sparse);
  if (std::ssize(groups) != keys.layers)
    fail<WeightError>("{}: 'layer_key_value_heads' has {} entries, expected 'num_hidden_layers' = {}", c.where(), groups.size(),
                      keys.layers);

  DecoderConfig d = keys.decoder();
  d.rotaries.clear();
  d.last_norm = "model.final_layernorm";
  const auto norm = [&](const char* name) { return LayerNormConfig{name, keys.rms_norm()}; };
  for (int64_t i = 0; i < keys.layers; ++i) {
    const int64_t own = groups[size_t(i)];
    if (own != 0 && own != keys.groups)
      fail<UnsupportedError>("{}: layer {} has {} heads of keys, expected 0 or {}", c.where(), i, own, keys.groups);
    SublayerConfig first{.name = "mamba", .block = mixer, .before = norm("input_layernorm")};
    if (own) first.name = "self_attn", first.block = attention;
    SublayerConfig second{.name = "feed_forward", .block = keys.mlp(), .before = norm("pre_ff_layernorm")};
    if (has(sparse, i)) second.block = experts;
    d.layers.push_back({.mixer = first, .mlp = second});
  }

  c.only_null("sliding_window");
  c.only("mamba_inner_layernorms", true);
  c.no_effect({"mamba_expand", "num_logits_to_keep", "calc_logits_for_entire_prompt", "rope_theta"});
  ignore_recurrent_training(c);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::jamba
