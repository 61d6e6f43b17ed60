#include "parts/config_reading.h"

#include <algorithm>
#include <map>

namespace hearth::parts {
namespace {

Activation named(const Config& config, const std::string& key, const std::string& name, const std::map<std::string, Activation>& known) {
  const auto it = known.find(name);
  if (it != known.end()) return it->second;
  std::string names;
  for (const auto& [other, activation] : known) names += (names.empty() ? "" : ", ") + other;
  fail<UnsupportedError>("{}: '{}' = \"{}\" is not supported, expected {}", config.where(), key, name, names);
}

}  // namespace

int64_t positive_integer(const Config& config, const std::string& key, int64_t otherwise) {
  const int64_t value = config.integer(key, otherwise);
  if (value < 1) fail<WeightError>("{}: '{}' = {}, expected at least 1", config.where(), key, value);
  return value;
}

bool is_null(const Config& config, std::string_view key) {
  const std::vector<std::string> keys = config.keys();
  return std::find(keys.begin(), keys.end(), key) != keys.end() && !config.has(key);
}

void refuse_null(const Config& config, std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys)
    if (is_null(config, key)) fail<UnsupportedError>("{}: '{}' = null is not supported", config.where(), key);
}

Activation diffusers_activation(const Config& config, const std::string& key, const std::string& otherwise) {
  static const std::map<std::string, Activation> known{
      {"silu", Activation::silu}, {"swish", Activation::silu}, {"gelu", Activation::gelu}, {"relu", Activation::relu}};
  std::string name = config.text(key, otherwise);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return named(config, key, name, known);
}

Activation transformers_activation(const Config& config, const std::string& key, const std::string& otherwise) {
  return named_transformers_activation(config, key, config.text(key, otherwise));
}

Activation named_transformers_activation(const Config& config, const std::string& key, const std::string& name) {
  static const std::map<std::string, Activation> known{{"quick_gelu", Activation::quick_gelu},
                                                       {"gelu", Activation::gelu},
                                                       {"gelu_python", Activation::gelu},
                                                       {"gelu_new", Activation::gelu_tanh},
                                                       {"gelu_fast", Activation::gelu_tanh},
                                                       {"gelu_accurate", Activation::gelu_tanh},
                                                       {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                       {"gelu_python_tanh", Activation::gelu_tanh},
                                                       {"silu", Activation::silu},
                                                       {"swish", Activation::silu},
                                                       {"relu", Activation::relu}};
  return named(config, key, name, known);
}

void read_generic_transformers_keys(const Config& c, NetworkPart part) {
  c.no_effect({"return_dict",
               "output_hidden_states",
               "output_attentions",
               "torchscript",
               "use_bfloat16",
               "chunk_size_feed_forward",
               "finetuning_task",
               "task_specific_params",
               "problem_type",
               "tokenizer_class",
               "prefix",
               "decoder_start_token_id",
               "begin_suppress_tokens",
               "suppress_tokens",
               "bad_words_ids",
               "forced_bos_token_id",
               "forced_eos_token_id",
               "diversity_penalty",
               "do_sample",
               "early_stopping",
               "encoder_no_repeat_ngram_size",
               "exponential_decay_length_penalty",
               "length_penalty",
               "max_length",
               "min_length",
               "no_repeat_ngram_size",
               "num_beam_groups",
               "num_beams",
               "num_return_sequences",
               "output_scores",
               "remove_invalid_values",
               "repetition_penalty",
               "return_dict_in_generate",
               "temperature",
               "tf_legacy_loss",
               "top_k",
               "top_p",
               "typical_p"});
  if (part == NetworkPart::encoder) c.no_effect({"is_encoder_decoder"});
  else c.only("is_encoder_decoder", false);
  for (const char* key : {"add_cross_attention", "tie_encoder_decoder"}) c.only(key, false);
  c.only_null("cross_attention_hidden_size");
  if (c.has("pruned_heads") && c.dump("pruned_heads") != "{}")
    fail<UnsupportedError>("{}: 'pruned_heads' = {} is not supported", c.where(), c.dump("pruned_heads"));
}

}  // namespace hearth::parts
