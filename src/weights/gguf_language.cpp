#include "weights/gguf_language.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace hearth {
namespace {

using Json = nlohmann::json;

// The keys of one architecture: key("block_count") is "llama.block_count".
class Keys {
 public:
  Keys(const GgufMetadata& metadata, std::string architecture) : metadata_(metadata), architecture_(std::move(architecture)) {}

  std::string name(const std::string& key) const { return architecture_ + "." + key; }
  bool has(const std::string& key) const { return metadata_.has(name(key)); }
  int64_t integer(const std::string& key, std::optional<int64_t> otherwise = {}) const { return metadata_.integer(name(key), otherwise); }
  double number(const std::string& key, std::optional<double> otherwise = {}) const { return metadata_.number(name(key), otherwise); }
  std::string text(const std::string& key, const std::string& otherwise) const { return metadata_.text(name(key), otherwise); }
  // One number, or a list of one for each layer that are all the same.
  int64_t same_in_all_layers(const std::string& key, int64_t otherwise) const {
    const GgufValue* value = metadata_.find(name(key));
    if (!value || value->type != GgufType::array) return integer(key, otherwise);
    const std::vector<int64_t> all = metadata_.integers(name(key));
    if (all.empty() || std::any_of(all.begin(), all.end(), [&](int64_t x) { return x != all[0]; }))
      fail<UnsupportedError>("{}: '{}' differs between layers, which is not supported", metadata_.where(), name(key));
    return all[0];
  }

 private:
  const GgufMetadata& metadata_;
  std::string architecture_;
};

// Numbers of the tensor rope_freqs.weight, f32.
std::vector<float> divisors(const GgufFile& file) {
  for (size_t part = 0; part < file.paths().size(); ++part) {
    const auto& entries = file.entries(part);
    const auto found = entries.find("rope_freqs.weight");
    if (found == entries.end()) continue;
    const TensorInfo& info = found->second.info;
    if (info.dtype != DType::f32) fail<UnsupportedError>("{}: 'rope_freqs.weight' is {}, needed f32", file.describe(), name_of(info.dtype));
    const std::string_view bytes = file.bytes(part, found->second);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }
  return {};
}

Json rope_scaling(const Keys& keys, const std::string& where) {
  const std::string type = keys.text("rope.scaling.type", "none");
  const double factor = keys.number("rope.scaling.attn_factor", 1.0);
  if (type != "yarn" && factor != 1)
    fail<UnsupportedError>("{}: '{}' = {} is not supported without yarn", where, keys.name("rope.scaling.attn_factor"), factor);
  if (type == "none" || type.empty()) {
    if (keys.has("rope.scale_linear") && keys.number("rope.scale_linear") != 1)
      return {{"rope_type", "linear"}, {"factor", keys.number("rope.scale_linear")}};
    return nullptr;
  }
  if (type != "linear" && type != "yarn")
    fail<UnsupportedError>("{}: rope scaling \"{}\" is not supported, only linear and yarn", where, type);
  Json scaling = {{"rope_type", type}, {"factor", keys.number("rope.scaling.factor")}};
  if (type == "linear") return scaling;
  if (keys.has("rope.scaling.original_context_length"))
    scaling["original_max_position_embeddings"] = keys.integer("rope.scaling.original_context_length");
  if (keys.has("rope.scaling.yarn_beta_fast")) scaling["beta_fast"] = keys.number("rope.scaling.yarn_beta_fast");
  if (keys.has("rope.scaling.yarn_beta_slow")) scaling["beta_slow"] = keys.number("rope.scaling.yarn_beta_slow");
  if (factor != 1) {  // llama.cpp multiplies the usual one by it
    const double stretch = keys.number("rope.scaling.factor");
    scaling["attention_factor"] = factor * (stretch > 1 ? 0.1 * std::log(stretch) + 1 : 1);
  }
  return scaling;
}

// Says nothing where it stands: a number that is 0, a factor that is 1, or false.
bool is_off(const GgufMetadata& metadata, const std::string& key, const GgufValue& value) {
  static constexpr std::array factors = {".embedding_scale", ".logit_scale", ".residual_scale", ".rope.scaling.yarn_attn_factor",
                                         ".rope.scaling.yarn_ext_factor"};
  if (value.type == GgufType::boolean) return !metadata.boolean(key);
  if (value.type == GgufType::text || value.type == GgufType::array) return false;
  const double number = metadata.number(key);
  return number == 0 || (number == 1 && std::ranges::any_of(factors, [&](std::string_view factor) { return key.ends_with(factor); }));
}

// What an architecture's keys may say: those that are read here, and those that change no number.
void refuse_other_keys(const GgufMetadata& metadata, const std::string& architecture) {
  static constexpr std::array known = {"attention.head_count",
                                       "attention.head_count_kv",
                                       "attention.key_length",
                                       "attention.layer_norm_epsilon",
                                       "attention.layer_norm_rms_epsilon",
                                       "attention.sliding_window",
                                       "attention.value_length",
                                       "block_count",
                                       "context_length",
                                       "embedding_length",
                                       "feed_forward_length",
                                       "pooling_type",
                                       "rope.dimension_count",
                                       "rope.freq_base",
                                       "rope.scale_linear",
                                       "rope.scaling.attn_factor",
                                       "rope.scaling.factor",
                                       "rope.scaling.finetuned",
                                       "rope.scaling.original_context_length",
                                       "rope.scaling.type",
                                       "rope.scaling.yarn_beta_fast",
                                       "rope.scaling.yarn_beta_slow",
                                       "tensor_data_layout",
                                       "vocab_size"};
  const std::string prefix = architecture + ".";
  for (const auto& [key, value] : metadata.values()) {
    if (!key.starts_with(prefix) || std::ranges::find(known, std::string_view(key).substr(prefix.size())) != known.end()) continue;
    const bool causal = key == prefix + "attention.causal";
    if (causal ? metadata.boolean(key) : is_off(metadata, key, value)) continue;
    const bool words = value.type == GgufType::text || value.type == GgufType::array || value.type == GgufType::boolean;
    fail<UnsupportedError>("{}: '{}' = {} is not supported", metadata.where(), key,
                           words ? value.describe() : fmt::format("{}", metadata.number(key)));
  }
}

}  // namespace

Config gguf_config(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  const std::string& where = metadata.where();
  const std::string architecture = metadata.text("general.architecture");
  if (architecture != "llama" && architecture != "qwen2" && architecture != "qwen3")
    fail<UnsupportedError>("{}: the architecture '{}' is not supported, only llama, qwen2, qwen3", where, architecture);
  const Keys keys(metadata, architecture);
  refuse_other_keys(metadata, architecture);

  const int64_t width = keys.integer("embedding_length"), heads = keys.same_in_all_layers("attention.head_count", 0);
  if (heads < 1 || width < 1) fail<WeightError>("{}: {} heads of {} numbers in all, needed at least 1", where, heads, width);
  const int64_t head = keys.integer("attention.key_length", width / heads);
  if (keys.integer("attention.value_length", head) != head || keys.integer("rope.dimension_count", head) != head)
    fail<UnsupportedError>("{}: heads of {} for keys, {} for values and {} turned are not supported, needed equal sizes", where, head,
                           keys.integer("attention.value_length", head), keys.integer("rope.dimension_count", head));
  const auto table = file.list();
  const auto embedding = table.find("token_embd.weight");
  if (embedding == table.end() || embedding->second.shape.rank() != 2) fail<WeightError>("{}: has no matrix 'token_embd.weight'", where);

  const int64_t window = keys.integer("attention.sliding_window", 0);
  const bool mistral = architecture == "llama" && window > 0;
  Json c = {{"model_type", mistral ? "mistral" : architecture},
            {"architectures",
             {mistral                   ? "MistralForCausalLM"
              : architecture == "llama" ? "LlamaForCausalLM"
              : architecture == "qwen2" ? "Qwen2ForCausalLM"
                                        : "Qwen3ForCausalLM"}},
            {"vocab_size", embedding->second.shape[0]},
            {"hidden_size", width},
            {"intermediate_size", keys.same_in_all_layers("feed_forward_length", 0)},
            {"num_hidden_layers", keys.integer("block_count")},
            {"num_attention_heads", heads},
            {"num_key_value_heads", keys.same_in_all_layers("attention.head_count_kv", heads)},
            {"head_dim", head},
            {"max_position_embeddings", keys.integer("context_length")},
            {"rms_norm_eps", keys.number("attention.layer_norm_rms_epsilon")},
            {"rope_theta", keys.number("rope.freq_base", 10000.0)},
            {"rope_scaling", rope_scaling(keys, where)},
            {"tie_word_embeddings", !table.contains("output.weight")}};
  if (mistral) {
    c["sliding_window"] = window;
  } else if (architecture == "llama") {
    c["attention_bias"] = table.contains("blk.0.attn_q.bias");
    c["mlp_bias"] = table.contains("blk.0.ffn_gate.bias");
  } else if (window > 0) {
    fail<UnsupportedError>("{}: '{}.attention.sliding_window' = {} is not supported for this architecture", where, architecture, window);
  }
  if (architecture == "llama") c["rope_pairs"] = "neighbours";
  if (const std::vector<float> d = divisors(file); !d.empty()) c["rope_divisors"] = d;
  if (metadata.has("tokenizer.ggml.eos_token_id")) c["eos_token_id"] = metadata.integer("tokenizer.ggml.eos_token_id");
  return Config::parse(c.dump(), where);
}

}  // namespace hearth
