#include "parts/decoder/config.h"

#include <algorithm>

#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

// Training, storage and settings of other programs; token ids and sampling are read elsewhere.
void read_bookkeeping(const Config& c) {
  c.no_effect({"architectures",
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
               "z_loss_weight"});
}

// Keys of other programs and alternative names, which must agree with this network. transformers reads none of them.
void refuse_other_builds(const Config& c, const DecoderConfig& d) {
  for (const char* key : {"causal", "is_causal", "scale_attn_weights", "use_rope"}) c.only(key, true);
  for (const char* key : {"embedding_multiplier", "hidden_states_shrink", "logit_scale", "logits_scaling", "partial_rotary_factor",
                          "residual_multiplier", "rope_condense_ratio", "rotary_pct", "scale_emb"})
    c.only_number(key, 1);
  for (const char* key : {"rope_base", "rotary_base", "rotary_emb_base"}) c.only_number(key, d.rotary.theta);
  c.only_number("dim_model_base", double(d.width));
  c.only_number("rotary_dim", double(d.head));
  c.only("activation", {"swiglu", "silu"});
  for (const char* key : {"activation_function", "hidden_activation"}) c.only(key, {c.text("hidden_act", "silu")});
  c.only("norm_type", {"rmsnorm"});
  c.only("position_embedding_type", {"rope", "rotary"});
  c.no_effect_where_off();
}

}  // namespace

DecoderConfig DecoderConfig::common(const Config& c, const DecoderConfig& defaults) {
  refuse_null(c, {"hidden_act", "hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
                  "rms_norm_eps", "vocab_size"});
  DecoderConfig d = defaults;
  d.vocabulary = positive_integer(c, "vocab_size", defaults.vocabulary);
  d.width = positive_integer(c, "hidden_size", defaults.width);
  d.mlp_width = positive_integer(c, "intermediate_size", defaults.mlp_width);
  d.layers = positive_integer(c, "num_hidden_layers", defaults.layers);
  constexpr int64_t most_layers = 10'000;  // with more it would take minutes to list the missing tensors
  if (d.layers > most_layers) fail<WeightError>("{}: 'num_hidden_layers' = {}, expected at most {}", c.where(), d.layers, most_layers);
  d.heads = positive_integer(c, "num_attention_heads", defaults.heads);
  // Absent means the family's default; null means as many as heads.
  d.groups =
      is_null(c, "num_key_value_heads") ? d.heads : positive_integer(c, "num_key_value_heads", defaults.groups ? defaults.groups : d.heads);
  if (d.heads % d.groups)
    fail<WeightError>("{}: 'num_key_value_heads' = {} does not divide 'num_attention_heads' = {}", c.where(), d.groups, d.heads);
  if (!c.has("head_dim") && defaults.head == 0 && d.width % d.heads)
    fail<WeightError>("{}: 'num_attention_heads' = {} does not divide 'hidden_size' = {}{}", c.where(), d.heads, d.width,
                      c.has("hidden_size") ? "" : ", which is the default: there is no such key");
  d.head = positive_integer(c, "head_dim", defaults.head ? defaults.head : d.width / d.heads);
  d.positions = positive_integer(c, "max_position_embeddings", defaults.positions);
  d.activation = transformers_activation(c, "hidden_act", "silu");
  d.eps = float(c.number("rms_norm_eps", double(defaults.eps)));
  d.tied = c.boolean("tie_word_embeddings", defaults.tied);
  d.windows.assign(size_t(d.layers), 0);
  d.rotary = RotaryConfig::from(c, d.head, d.positions);
  const std::string pairs = c.text("rope_pairs", "halves");
  if (pairs != "halves" && pairs != "neighbors")
    fail<UnsupportedError>("{}: 'rope_pairs' = \"{}\" is not supported, expected halves or neighbors", c.where(), pairs);
  d.pairs = pairs == "halves" ? RotaryPairs::halves : RotaryPairs::neighbors;
  for (const double x : c.numbers("rope_divisors", {{}})) d.rotary.divisors.push_back(float(x));
  if (!d.rotary.divisors.empty() && int64_t(d.rotary.divisors.size()) != d.head / 2)
    fail<WeightError>("{}: 'rope_divisors' has {} values for a head size of {}, expected {}", c.where(), d.rotary.divisors.size(), d.head,
                      d.head / 2);

  read_bookkeeping(c);
  refuse_other_builds(c, d);
  read_generic_transformers_keys(c);
  return d;
}

void read_layer_windows(const Config& c, DecoderConfig& d) {
  const bool used = c.boolean("use_sliding_window", false);
  const int64_t window = used && !is_null(c, "sliding_window") ? positive_integer(c, "sliding_window", 4096) : 0;
  c.no_effect({"sliding_window"});
  const int64_t full_layers = c.integer("max_window_layers", 28);
  const std::vector<std::string> types = c.texts("layer_types", {{}});
  if (!types.empty() && int64_t(types.size()) != d.layers)
    fail<WeightError>("{}: 'layer_types' has {} entries, expected 'num_hidden_layers' = {}", c.where(), types.size(), d.layers);
  for (int64_t i = 0; i < d.layers; ++i) {
    const std::string type = types.empty() ? (window && i >= full_layers ? "sliding_attention" : "full_attention") : types[size_t(i)];
    if (type != "full_attention" && type != "sliding_attention")
      fail<UnsupportedError>("{}: the layer type \"{}\" is not supported, expected full_attention or sliding_attention", c.where(), type);
    d.windows[size_t(i)] = type == "sliding_attention" ? window : 0;
  }
}

void require_layers_alike(const Config& c, const DecoderConfig& d) {
  const bool windows = std::ranges::any_of(d.windows, [](int64_t window) { return window > 0; });
  const std::string_view type = windows ? "sliding_attention" : "full_attention";
  c.only("use_sliding_window", windows);
  c.no_effect({"max_window_layers"});  // which layers have windows, if any
  for (const std::string& t : c.texts("layer_types", {{}}))
    if (t != type) fail<UnsupportedError>("{}: the layer type \"{}\" is not supported here, expected {}", c.where(), t, type);
}

}  // namespace hearth::parts
