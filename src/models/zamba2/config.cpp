#include "models/zamba2/config.h"

#include "models/zamba2/hybrid_layer.h"
#include "parts/config_reading.h"
#include "parts/decoder/reading.h"

namespace hearth::models::zamba2 {
namespace {

// Of a network of 54 layers.
bool usually_hybrid(int64_t i) { return (i % 6 == 0 && i > 0 && i <= 42) || i == 47 || i == 51; }

std::vector<bool> read_hybrid_layers(const Config& c, int64_t layers) {
  std::vector<bool> hybrid;
  std::vector<std::string> types;
  for (int64_t i = 0; i < layers; ++i) types.push_back(usually_hybrid(i) ? "hybrid" : "mamba");
  types = c.texts("layers_block_type", types);
  if (std::ssize(types) != layers)
    fail<WeightError>("{}: 'layers_block_type' has {} entries, expected 'num_hidden_layers' = {}", c.where(), types.size(), layers);
  for (const std::string& type : types) {
    if (type != "mamba" && type != "hybrid")
      fail<UnsupportedError>("{}: the layer type \"{}\" is not supported, expected mamba or hybrid", c.where(), type);
    hybrid.push_back(type == "hybrid");
  }
  return hybrid;
}

}  // namespace

parts::DecoderConfig read_config(const Config& c) {
  using namespace parts;
  c.only("model_type", {"zamba2"});
  const int64_t width = positive_integer(c, "hidden_size", 2560), heads = positive_integer(c, "num_attention_heads", 32);
  if (2 * width % heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide twice 'hidden_size' = {}", c.where(), heads, width);
  c.no_effect({"attention_head_dim", "attention_hidden_size"});  // they follow
  const DecoderKeys keys = DecoderKeys::read(c, {.vocabulary = 32000,
                                                 .width = 2560,
                                                 .mlp_width = 4 * width,
                                                 .layers = 54,
                                                 .heads = 32,
                                                 .head = 2 * width / heads,
                                                 .positions = 4096,
                                                 .activation = Activation::gelu,
                                                 .eps = 1e-5f,
                                                 .tied = true});
  StateSpaceMixerConfig mixer{.heads = positive_integer(c, "n_mamba_heads", 8)};
  mixer.head = positive_integer(c, "mamba_expand", 2) * keys.width / mixer.heads;
  if (mixer.heads * mixer.head != c.integer("mamba_expand", 2) * keys.width)
    fail<WeightError>("{}: 'n_mamba_heads' = {} does not divide 'mamba_expand' times 'hidden_size' = {}", c.where(), mixer.heads,
                      c.integer("mamba_expand", 2) * keys.width);
  mixer.states = positive_integer(c, "mamba_d_state", 64);
  mixer.groups = positive_integer(c, "mamba_ngroups", 1);
  if (mixer.heads % mixer.groups)
    fail<WeightError>("{}: 'mamba_ngroups' = {} does not divide 'n_mamba_heads' = {}", c.where(), mixer.groups, mixer.heads);
  mixer.kernel = positive_integer(c, "mamba_d_conv", 4);
  mixer.bias = c.boolean("add_bias_linear", false);
  read_step_limits(c, "time_step_limit", mixer);

  HybridConfig hybrid{.heads = keys.heads, .groups = keys.groups, .head = keys.head, .mlp = keys.mlp_width};
  hybrid.activation = keys.activation;
  hybrid.bias = mixer.bias;
  hybrid.positions = c.boolean("use_mem_rope", false);
  hybrid.adapts_attention = c.boolean("use_shared_attention_adapter", false);
  hybrid.adapter_rank = positive_integer(c, "adapter_rank", 128);
  hybrid.eps = keys.eps;
  hybrid.mixer = mixer;
  if (hybrid.adapts_attention && keys.groups != keys.heads)
    fail<UnsupportedError>("{}: 'num_key_value_heads' = {} with adapters of attention is not supported, expected {}", c.where(),
                           keys.groups, keys.heads);

  DecoderConfig d = keys.decoder();
  if (!hybrid.positions) d.rotaries.clear(), c.no_effect({"rope_theta"});
  d.last_norm = "model.final_layernorm";
  const int64_t transformers = positive_integer(c, "num_mem_blocks", 1);
  const auto shared = std::make_shared<SharedTransformers>();
  std::vector<std::string> first;  // paths of the layers with transformers
  for (const bool is_hybrid : read_hybrid_layers(c, keys.layers)) {
    const std::string path = "model.layers." + std::to_string(d.layers.size());
    if (!is_hybrid) {
      d.layers.push_back({.mixer = {.name = "mamba", .block = mixer, .before = LayerNormConfig{"input_layernorm", keys.rms_norm()}}});
      continue;
    }
    const auto use = std::ssize(first);
    first.push_back(path);
    auto own = std::make_shared<HybridLayerConfig>();
    own->config = hybrid, own->transformer = use % transformers, own->use = use;
    own->layer = path, own->stored_in = first[size_t(use % transformers)], own->shared = shared;
    d.layers.push_back({.mixer = {.name = "shared_transformer", .block = std::shared_ptr<const OwnBlock>(std::move(own))}});
  }

  c.only("use_long_context", false);
  c.only("use_conv_bias", true);
  // What follows from other keys, and settings of the reference's programs.
  c.no_effect({"mamba_headdim", "hybrid_layer_ids", "num_query_groups", "num_logits_to_keep", "use_mem_eff_path"});
  ignore_recurrent_training(c);
  keys.finish(c);
  return d;
}

}  // namespace hearth::models::zamba2
