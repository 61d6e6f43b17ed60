#include "parts/decoder/reading.h"

#include <algorithm>
#include <cmath>

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

// Training, storage and settings of other programs; token ids and sampling are read elsewhere.
constexpr std::string_view bookkeeping[] = {"architectures",
                                            "attention_dropout",
                                            "attention_probs_dropout_prob",
                                            "attn_dropout_prob",
                                            "attn_implementation",
                                            "attn_pdrop",
                                            "auto_map",
                                            "aux_loss_alpha",
                                            "aux_loss_coef",
                                            "badwordsids",
                                            "bf16",
                                            "bos_token",
                                            "bos_token_id",
                                            "classifier_dropout",
                                            "custom_pipeline",
                                            "custom_pipelines",
                                            "dropout",
                                            "dtype",
                                            "emb_dropout_prob",
                                            "embd_dropout",
                                            "embd_pdrop",
                                            "end_token_id",
                                            "eos_token",
                                            "eos_token_id",
                                            "fp16",
                                            "gradient_checkpointing",
                                            "group_size_ratio",
                                            "hidden_dropout",
                                            "hidden_dropout_prob",
                                            "id2label",
                                            "ignore_index",
                                            "initializer_range",
                                            "is_decoder",
                                            "is_llama_config",
                                            "keys_to_ignore_at_inference",
                                            "kv_channels",
                                            "label2id",
                                            "loss_type",
                                            "mask_value",
                                            "max_new_tokens",
                                            "max_seq_len",
                                            "max_seq_length",
                                            "max_sequence_length",
                                            "mean",
                                            "min_new_tokens",
                                            "model_max_length",
                                            "model_name",
                                            "model_parallel",
                                            "move_model_to_device",
                                            "multiple_of",
                                            "n_ctx",
                                            "name_or_path",
                                            "neftune_noise_alpha",
                                            "num_labels",
                                            "onnx",
                                            "original_max_position_embeddings",
                                            "output_router_logits",
                                            "pad_token",
                                            "pad_token_id",
                                            "pretraining_tp",
                                            "resid_pdrop",
                                            "residual_dropout",
                                            "router_aux_loss_coef",
                                            "sep_token_id",
                                            "seq_length",
                                            "std",
                                            "summary_activation",
                                            "summary_dropout_prob",
                                            "summary_first_dropout",
                                            "summary_proj_to_labels",
                                            "summary_type",
                                            "summary_use_proj",
                                            "tensor_parallel_degree",
                                            "timestamp",
                                            "tokenizer",
                                            "torch_dtype",
                                            "transformers.js_config",
                                            "transformers_version",
                                            "trust_remote_code",
                                            "type_vocab_size",
                                            "unk_token",
                                            "unk_token_id",
                                            "unsloth_fixed",
                                            "unsloth_version",
                                            "use_cache",
                                            "use_cash",
                                            "use_flash_attention",
                                            "use_flash_attention_2",
                                            "use_flash_attn",
                                            "use_liger_kernel",
                                            "value_head_prefix",
                                            "z_loss_weight"};

std::string name_of(Activation activation) {
  switch (activation) {
    case Activation::gelu: return "gelu";
    case Activation::gelu_tanh: return "gelu_pytorch_tanh";
    case Activation::quick_gelu: return "quick_gelu";
    case Activation::relu: return "relu";
    default: return "silu";
  }
}

// Keys of other programs and alternative names, which must agree with this network. transformers reads none of them.
void refuse_other_builds(const Config& c, const DecoderKeys& k) {
  const auto number = [&c](std::initializer_list<const char*> keys, double value) {
    for (const char* key : keys)
      if (!c.was_read(key)) c.only_number(key, value);
  };
  const auto text = [&c](const char* key, std::initializer_list<std::string_view> values) {
    if (!c.was_read(key)) c.only(key, values);
  };
  for (const char* key : {"causal", "is_causal", "scale_attn_weights", "use_rope"})
    if (!c.was_read(key)) c.only(key, true);
  number({"embedding_multiplier", "hidden_states_shrink", "logit_scale", "logits_scaling", "partial_rotary_factor", "residual_multiplier",
          "rope_condense_ratio", "rotary_pct", "scale_emb"},
         1);
  number({"rope_base", "rotary_base", "rotary_emb_base"}, k.rotary.theta);
  number({"dim_model_base"}, double(k.width));
  number({"rotary_dim"}, double(k.rotary.size));
  text("activation", {"swiglu", "silu"});
  for (const char* key : {"activation_function", "hidden_activation"})
    if (!c.was_read(key)) c.only(key, {c.text(k.names.activation, name_of(k.default_activation))});
  text("norm_type", {"rmsnorm"});
  text("position_embedding_type", {"rope", "rotary"});
  c.no_effect_where_off();
}

int64_t read_layer_count(const Config& c, int64_t otherwise) {
  const int64_t layers = positive_integer(c, "num_hidden_layers", otherwise);
  constexpr int64_t most_layers = 10'000;  // with more it would take minutes to list the missing tensors
  if (layers > most_layers) fail<WeightError>("{}: 'num_hidden_layers' = {}, expected at most {}", c.where(), layers, most_layers);
  return layers;
}

}  // namespace

DecoderKeys DecoderKeys::read(const Config& c, const DecoderKeys& defaults) {
  refuse_null(c, {defaults.names.activation, "hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads",
                  "num_hidden_layers", defaults.names.eps, "vocab_size"});
  DecoderKeys k = defaults;
  k.default_activation = defaults.activation;
  k.vocabulary = positive_integer(c, "vocab_size", defaults.vocabulary);
  k.width = positive_integer(c, "hidden_size", defaults.width);
  k.mlp_width = positive_integer(c, "intermediate_size", defaults.mlp_width);
  k.layers = read_layer_count(c, defaults.layers);
  k.heads = positive_integer(c, "num_attention_heads", defaults.heads);
  // Absent means the family's default; null means as many as heads.
  if (is_null(c, "num_key_value_heads")) k.groups = k.heads, c.means("num_key_value_heads", std::to_string(k.heads));
  else k.groups = positive_integer(c, "num_key_value_heads", defaults.groups ? defaults.groups : k.heads);
  if (k.heads % k.groups)
    fail<WeightError>("{}: 'num_key_value_heads' = {} does not divide 'num_attention_heads' = {}", c.where(), k.groups, k.heads);
  if (!c.has(k.names.head) && defaults.head == 0 && k.width % k.heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'hidden_size' = {}{}", c.where(), k.heads, k.width,
                      c.has("hidden_size") ? "" : ", which is the default: there is no such key");
  k.head = positive_integer(c, k.names.head, defaults.head ? defaults.head : k.width / k.heads);
  k.positions = positive_integer(c, "max_position_embeddings", defaults.positions);
  k.activation = transformers_activation(c, k.names.activation, name_of(defaults.activation));
  k.eps = float(c.number(k.names.eps, double(defaults.eps)));
  k.tied = c.boolean("tie_word_embeddings", defaults.tied);
  if (!k.names.partial.empty()) {
    const bool inside = !c.has(k.names.partial) && c.has("rope_parameters") && c.object("rope_parameters").has("partial_rotary_factor");
    k.partial = inside ? c.object("rope_parameters").number("partial_rotary_factor") : c.number(k.names.partial, defaults.partial);
  }
  if (!(k.partial > 0 && k.partial <= 1))
    fail<WeightError>("{}: '{}' = {}, expected more than 0 and at most 1", c.where(), k.names.partial, k.partial);
  // A GGUF file states the number of elements, rotary_dimension.
  const int64_t rotated = c.has("rotary_dimension") && !k.names.partial.empty() ? positive_integer(c, "rotary_dimension", k.head)
                                                                                : int64_t(double(k.head) * k.partial);
  if (rotated > k.head) fail<WeightError>("{}: 'rotary_dimension' = {}, expected at most the head size of {}", c.where(), rotated, k.head);
  if (!k.names.partial.empty()) c.no_effect({k.names.partial}), c.means("rotary_dimension", std::to_string(rotated));
  if (!k.rotates) return k;
  k.rotary = RotaryConfig::from(c, rotated, k.positions, {.theta = defaults.rotary.theta, .partial = k.partial, .layers = k.rotary_layers});
  if (defaults.rotary.pairs == RotaryPairs::neighbors) k.rotary.pairs = RotaryPairs::neighbors;
  return k;
}

DecoderKeys DecoderKeys::read_without_attention(const Config& c, const DecoderKeys& defaults) {
  refuse_null(c, {defaults.names.activation, defaults.names.eps});
  DecoderKeys k = read_sizes(c, defaults);
  k.default_activation = defaults.activation;
  k.activation = transformers_activation(c, k.names.activation, name_of(defaults.activation));
  k.eps = float(c.number(k.names.eps, double(defaults.eps)));
  return k;
}

DecoderKeys DecoderKeys::read_sizes(const Config& c, const DecoderKeys& defaults) {
  refuse_null(c, {"hidden_size", "num_hidden_layers", "vocab_size"});
  DecoderKeys k = defaults;
  k.vocabulary = positive_integer(c, "vocab_size", defaults.vocabulary);
  k.width = positive_integer(c, "hidden_size", defaults.width);
  k.layers = read_layer_count(c, defaults.layers);
  k.positions = positive_integer(c, "max_position_embeddings", defaults.positions);
  k.tied = c.boolean("tie_word_embeddings", defaults.tied);
  return k;
}

void DecoderKeys::finish(const Config& c) const {
  for (const std::string_view key : bookkeeping)
    if (!c.was_read(key)) c.no_effect({key});
  refuse_other_builds(c, *this);
  read_generic_transformers_keys(c);
  if (activation == default_activation) c.no_effect({names.activation});  // under any of its names
  c.finish();
}

DecoderConfig DecoderKeys::decoder() const {
  return {
      .vocabulary = vocabulary, .width = width, .positions = positions, .rotaries = {rotary}, .norm = rms_norm(), .head = {.tied = tied}};
}

LayerConfig pre_norm(const NormConfig& norm, const BlockConfig& attention, const BlockConfig& mlp) {
  return {.mixer = {.name = "self_attn", .block = attention, .before = LayerNormConfig{"input_layernorm", norm}},
          .mlp = SublayerConfig{.name = "mlp", .block = mlp, .before = LayerNormConfig{"post_attention_layernorm", norm}}};
}

DecoderConfig backbone(const DecoderKeys& keys, const BlockConfig& mixer) {
  DecoderConfig d = keys.decoder();
  d.rotaries.clear();
  d.layers.assign(size_t(keys.layers), {.mixer = {.name = "mixer", .block = mixer, .before = LayerNormConfig{"norm", keys.rms_norm()}}});
  d.embedding = "backbone.embeddings", d.layer = "backbone.layers", d.last_norm = "backbone.norm_f";
  return d;
}

LayerConfig sandwich_norm(const NormConfig& norm, const BlockConfig& attention, const BlockConfig& mlp) {
  const auto named = [&](const char* name) { return LayerNormConfig{name, norm}; };
  return {
      .mixer = {.name = "self_attn", .block = attention, .before = named("input_layernorm"), .after = named("post_attention_layernorm")},
      .mlp = SublayerConfig{
          .name = "mlp", .block = mlp, .before = named("pre_feedforward_layernorm"), .after = named("post_feedforward_layernorm")}};
}

LayerConfig parallel_norm(const NormConfig& norm, const BlockConfig& attention, const BlockConfig& mlp) {
  LayerConfig layer = pre_norm(norm, attention, mlp);
  layer.mlp->before.reset();
  layer.parallel = true;
  return layer;
}

NormConfig read_offset_norm(const Config& c, const DecoderKeys& keys) {
  NormConfig norm = keys.rms_norm();
  norm.offset = float(c.number("norm_offset", 1.0));
  c.no_effect({"norm_offset"});
  return norm;
}

void scale_embeddings_by_root(DecoderConfig& d) {
  d.embedding_scale = std::sqrt(double(d.width));
  d.rounds_embedding_scale = true;
}

float read_score_divisor(const Config& c, const std::string& key, double otherwise) {
  const double divisor = c.number(key, otherwise);
  if (!(divisor > 0)) fail<WeightError>("{}: '{}' = {}, expected a positive number", c.where(), key, divisor);
  return float(1 / std::sqrt(divisor));
}

RouterConfig read_router(const Config& c, const std::string& count, int64_t default_count, int64_t default_chosen) {
  const RouterConfig r{.experts = positive_integer(c, count, default_count),
                       .chosen = positive_integer(c, "num_experts_per_tok", default_chosen)};
  if (r.chosen > r.experts)
    fail<WeightError>("{}: 'num_experts_per_tok' = {}, expected at most '{}' = {}", c.where(), r.chosen, count, r.experts);
  return r;
}

std::vector<bool> read_sparse_layers(const Config& c, int64_t layers) {
  const int64_t step = positive_integer(c, "decoder_sparse_step", 1);
  const std::vector<int64_t> dense = c.integers("mlp_only_layers", {{}});
  std::vector<bool> sparse;
  for (int64_t i = 0; i < layers; ++i) sparse.push_back((i + 1) % step == 0 && std::ranges::find(dense, i) == dense.end());
  return sparse;
}

int64_t read_step_rank(const Config& c, const std::string& key, int64_t width) {
  const int64_t usual = (width + 15) / 16;
  if (c.has(key) && c.dump(key) != "\"auto\"") return positive_integer(c, key, usual);
  return c.means(key, std::to_string(usual)), usual;
}

bool read_decay_logarithms(const Config& c) {
  const bool logarithms = c.boolean("decay_logarithms", true);
  c.no_effect({"decay_logarithms"});
  return logarithms;
}

void read_step_limits(const Config& c, const std::string& key, StateSpaceMixerConfig& to) {
  const std::vector<double> limits = c.numbers(key, {{0.0, std::numeric_limits<double>::infinity()}});
  if (limits.size() != 2 || !(limits[0] <= limits[1]))
    fail<WeightError>("{}: '{}' = {}, expected two numbers in ascending order", c.where(), key, c.dump(key));
  to.least_step = float(limits[0]), to.most_step = float(limits[1]);
}

void ignore_recurrent_training(const Config& c) {
  c.no_effect({"time_step_min", "time_step_max", "time_step_floor", "time_step_scale", "time_step_init_scheme", "rescale_prenorm_residual",
               "residual_in_fp32", "use_mambapy", "use_falcon_mambapy", "use_mamba_kernels", "chunk_size", "fused_add_norm",
               "pad_vocab_size_multiple"});
}

int64_t read_shared_window(const Config& c) {
  const bool used = c.boolean("use_sliding_window", false) && !is_null(c, "sliding_window");
  const int64_t window = used ? positive_integer(c, "sliding_window", 4096) : 0;
  c.no_effect({"max_window_layers"});
  if (!used) c.no_effect({"use_sliding_window", "sliding_window"});
  return window;
}

int64_t read_window_or_none(const Config& c) {
  const int64_t window = is_null(c, "sliding_window") ? 0 : c.integer("sliding_window", 0);
  if (window < 0) fail<WeightError>("{}: 'sliding_window' = {}, expected at least 1, or null for none", c.where(), window);
  c.means("sliding_window", std::to_string(window));
  return window;
}

float read_soft_cap(const Config& c, const std::string& key, double otherwise) {
  if (is_null(c, key)) return c.means(key, "0.0"), 0.0f;
  const double cap = c.number(key, otherwise);
  if (!(cap >= 0)) fail<WeightError>("{}: '{}' = {}, expected a positive number, or null for none", c.where(), key, cap);
  return float(cap);
}

std::vector<bool> read_sliding_layers(const Config& c, int64_t layers, const std::function<bool(int64_t)>& usual) {
  const std::vector<std::string> types = c.texts("layer_types", {{}});
  if (!types.empty() && int64_t(types.size()) != layers)
    fail<WeightError>("{}: 'layer_types' has {} entries, expected 'num_hidden_layers' = {}", c.where(), types.size(), layers);
  std::vector<bool> sliding;
  bool differs = false;
  for (int64_t i = 0; i < layers; ++i) {
    const std::string type = types.empty() ? (usual(i) ? "sliding_attention" : "full_attention") : types[size_t(i)];
    if (type != "full_attention" && type != "sliding_attention")
      fail<UnsupportedError>("{}: the layer type \"{}\" is not supported, expected full_attention or sliding_attention", c.where(), type);
    sliding.push_back(type == "sliding_attention");
    differs |= sliding.back() != usual(i);
  }
  if (!differs) c.no_effect({"layer_types"});
  return sliding;
}

std::vector<bool> read_sliding_pattern(const Config& c, int64_t layers, int64_t default_pattern) {
  const int64_t pattern = positive_integer(c, "sliding_window_pattern", default_pattern);
  return read_sliding_layers(c, layers, [pattern](int64_t i) { return (i + 1) % pattern != 0; });
}

std::vector<int64_t> read_layer_windows(const Config& c, int64_t layers) {
  const bool used = c.boolean("use_sliding_window", false);
  const int64_t window = used && !is_null(c, "sliding_window") ? positive_integer(c, "sliding_window", 4096) : 0;
  const int64_t full_layers = window ? c.integer("max_window_layers", 28) : 0;
  if (!window) c.no_effect({"use_sliding_window", "sliding_window", "max_window_layers"});
  std::vector<int64_t> windows;
  for (const bool sliding : read_sliding_layers(c, layers, [&](int64_t i) { return window && i >= full_layers; }))
    windows.push_back(sliding ? window : 0);
  // Without a window in any layer the keys mean nothing.
  if (std::ranges::count(windows, 0) == std::ssize(windows))
    c.no_effect({"use_sliding_window", "sliding_window", "max_window_layers", "layer_types"});
  return windows;
}

void require_layers_alike(const Config& c, int64_t window) {
  const std::string_view type = window ? "sliding_attention" : "full_attention";
  c.only("use_sliding_window", window > 0);
  for (const std::string& t : c.texts("layer_types", {{}}))
    if (t != type) fail<UnsupportedError>("{}: the layer type \"{}\" is not supported here, expected {}", c.where(), t, type);
  c.no_effect({"max_window_layers", "layer_types"});  // they say which layers have windows, if any
}

}  // namespace hearth::parts
