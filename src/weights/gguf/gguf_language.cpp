#include "weights/gguf/gguf_language.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "weights/gguf/gguf_rope.h"

namespace hearth {
namespace {

using Json = nlohmann::json;
using Kind = GgufKey::Kind;

// Whether the key has no effect: a number that is 0, a factor that is 1, or false.
bool is_off(const GgufMetadata& metadata, const std::string& key, const GgufValue& value) {
  static constexpr std::array factors = {
      ".embedding_scale",  // and 1 for experts weighted by a softmax
      ".expert_gating_func", ".logit_scale", ".residual_scale", ".rope.scaling.yarn_attn_factor", ".rope.scaling.yarn_ext_factor"};
  if (value.type == GgufType::boolean) return !metadata.boolean(key);
  if (value.type == GgufType::text || value.type == GgufType::array) return false;
  const double number = metadata.number(key);
  return number == 0 || (number == 1 && std::ranges::any_of(factors, [&](std::string_view factor) { return key.ends_with(factor); }));
}

// Whether the table reads or ignores the key.
bool has_row(const GgufArchitecture& a, std::string_view key) {
  return std::ranges::any_of(
      a.keys, [&](const GgufKey& row) { return row.kind == Kind::rope_scaling ? is_rope_scaling_key(key) : row.key == key; });
}

void refuse_other_keys(const GgufMetadata& metadata, const GgufArchitecture& a) {
  static constexpr std::array<std::string_view, 2> of_conversion = {"pooling_type", "tensor_data_layout"};
  const std::string prefix = std::string(a.name) + ".";
  for (const auto& [key, value] : metadata.values()) {
    if (!key.starts_with(prefix)) continue;
    const std::string_view own = std::string_view(key).substr(prefix.size());
    if (has_row(a, own) || std::ranges::find(of_conversion, own) != of_conversion.end()) continue;
    if (own == "attention.causal" ? metadata.boolean(key) : is_off(metadata, key, value)) continue;
    const bool words = value.type == GgufType::text || value.type == GgufType::array || value.type == GgufType::boolean;
    fail<UnsupportedError>("{}: '{}' = {} is not supported", metadata.where(), key,
                           words ? value.describe() : fmt::format("{}", metadata.number(key)));
  }
}

// The value of a row in the file; `discarded` if the file has none.
class RowReader {
 public:
  RowReader(const GgufFile& file, const GgufKeys& keys) : file_(file), keys_(keys), tensors_(file.list()) {}

  Json operator()(const GgufKey& row) const {
    switch (row.kind) {
      case Kind::integer: return is_left_out(row) ? nothing() : Json(keys_.integer(row.key, rounded(otherwise(row))));
      case Kind::number: return is_left_out(row) ? nothing() : Json(keys_.number(row.key, otherwise(row)));
      case Kind::flag: return is_left_out(row) ? nothing() : Json(keys_.flag(row.key));
      case Kind::rope_scaling: return read_rope_scaling(keys_);
      case Kind::divisors: {
        const std::vector<float> divisors = read_rope_divisors(file_, row.tensor);
        return divisors.empty() ? nothing() : Json(divisors);
      }
      case Kind::rows: return rows_of(row.tensor);
      case Kind::present: return tensors_.contains(std::string(row.tensor));
      case Kind::lacking: return !tensors_.contains(std::string(row.tensor));
      case Kind::per_layer: {
        if (is_left_out(row)) return nothing();
        const int64_t layers = keys_.integer("block_count");
        return keys_.integers(row.key, layers);
      }
      case Kind::layers: return layers_with(row.tensor);
      case Kind::implied:  // from the other rows
      case Kind::nothing: return nothing();
    }
    return nothing();
  }

 private:
  static Json nothing() { return Json(Json::value_t::discarded); }
  static std::optional<int64_t> rounded(std::optional<double> value) { return value ? std::optional(int64_t(*value)) : std::nullopt; }

  bool is_left_out(const GgufKey& row) const { return row.optional && !keys_.has(row.key); }
  std::optional<double> otherwise(const GgufKey& row) const {
    return row.otherwise && !keys_.has(row.key) ? std::optional(row.otherwise(keys_)) : std::nullopt;
  }
  int64_t rows_of(std::string_view tensor) const {
    const auto found = tensors_.find(std::string(tensor));
    if (found == tensors_.end() || found->second.shape.rank() != 2) fail<WeightError>("{}: has no matrix '{}'", keys_.where(), tensor);
    return found->second.shape[0];
  }

  Json layers_with(std::string_view pattern) const {
    const size_t at = pattern.find('#');
    Json all = Json::array();
    for (int64_t layer = 0, count = keys_.integer("block_count"); layer < count; ++layer)
      if (tensors_.contains(fmt::format("{}{}{}", pattern.substr(0, at), layer, pattern.substr(at + 1)))) all.push_back(layer);
    return all;
  }

  const GgufFile& file_;
  const GgufKeys& keys_;
  std::map<std::string, TensorInfo> tensors_;
};

void write_row(const GgufKey& row, const Config& config, bool yarn_truncates, GgufKeyWriter& to) {
  const std::string key(row.config);
  if (row.optional && !config.has(key)) return;
  switch (row.kind) {
    case Kind::integer:
    case Kind::rows: return to.integer(row.key, config.integer(key));
    case Kind::number: return to.f32(row.key, config.number(key));
    case Kind::flag: return to.flag(row.key, config.boolean(key));
    case Kind::rope_scaling: return config.has(key) ? write_rope_scaling(config.object(key), yarn_truncates, to) : void();
    case Kind::per_layer: return to.integers(row.key, config.integers(key));
    case Kind::implied:
      if (Json::parse(config.dump(key)) != Json::parse(row.implied(config)))
        to.cannot_express(fmt::format("'{}' = {}", key, config.dump(key)));
      return;
    case Kind::divisors:
    case Kind::present:
    case Kind::lacking:
    case Kind::layers:  // the tensors determine it
    case Kind::nothing: return;
  }
}

}  // namespace

const GgufArchitecture& gguf_architecture_of(const GgufMetadata& metadata, std::span<const GgufArchitecture> known) {
  const std::string name = metadata.text("general.architecture");
  const GgufArchitecture* plain = nullptr;
  std::vector<std::string_view> names;
  for (const GgufArchitecture& a : known) {
    if (std::ranges::find(names, a.name) == names.end()) names.push_back(a.name);
    if (a.name != name) continue;
    if (a.marked_by.empty()) plain = &a;
    else if (GgufKeys(metadata, name).integer(a.marked_by, 0) > 0) return a;
  }
  if (plain) return *plain;
  fail<UnsupportedError>("{}: the architecture '{}' is not supported, only {}", metadata.where(), name, fmt::join(names, ", "));
}

Config gguf_config(const GgufFile& file, const GgufArchitecture& architecture) {
  const GgufMetadata& metadata = file.metadata();
  const GgufKeys keys(metadata, architecture.name);
  refuse_other_keys(metadata, architecture);
  if (architecture.check) architecture.check(keys);

  Json c = {{"model_type", architecture.model_type}, {"architectures", {architecture.class_name}}};
  const RowReader read(file, keys);
  for (const GgufKey& row : architecture.keys) {
    if (c.contains(row.config)) continue;
    if (row.kind == Kind::implied) c[std::string(row.config)] = Json::parse(row.implied(Config::parse(c.dump(), metadata.where())));
    else if (Json value = read(row); !value.is_discarded()) c[std::string(row.config)] = std::move(value);
  }
  if (!architecture.plus_one.empty()) c["norm_offset"] = 0;
  if (std::ranges::any_of(architecture.forms, [](const GgufForm& f) { return f.kind == GgufForm::Kind::negative_exp; }))
    c["decay_logarithms"] = false;
  if (!architecture.yarn_truncates && c.contains("rope_scaling") && c["rope_scaling"].is_object()) c["rope_scaling"]["truncate"] = false;
  if (!architecture.neighbors.empty()) c["rope_pairs"] = "neighbors";
  if (metadata.has("tokenizer.ggml.eos_token_id")) c["eos_token_id"] = metadata.integer("tokenizer.ggml.eos_token_id");
  return Config::parse(c.dump(), metadata.where());
}

void write_gguf_config(const Config& config, const GgufArchitecture& architecture, GgufValues& values) {
  GgufKeyWriter to(values, architecture.name, config.where());
  // The architecture's name says the type of the model.
  const auto is_own_type = [&](const std::string& key) { return key == "model_type" && config.text(key) == architecture.model_type; };
  for (const std::string& key : config.keys())
    if (config.has(key) && !config.is_default(key) && !is_own_type(key) &&
        std::ranges::find(architecture.keys, key, &GgufKey::config) == architecture.keys.end())
      to.cannot_express(fmt::format("'{}' = {}", key, config.dump(key)));
  for (const GgufKey& row : architecture.keys) write_row(row, config, architecture.yarn_truncates, to);
}

std::map<std::string, std::vector<float>> gguf_divisors(const Config& config, const GgufArchitecture& architecture) {
  std::map<std::string, std::vector<float>> all;
  for (const GgufKey& row : architecture.keys) {
    if (row.kind != Kind::divisors || !config.has(row.config)) continue;
    std::vector<float>& divisors = all[std::string(row.tensor)];
    for (const double x : config.numbers(row.config)) divisors.push_back(float(x));
  }
  return all;
}

std::vector<std::string> gguf_divisor_names(const GgufArchitecture& architecture) {
  std::vector<std::string> names;
  for (const GgufKey& row : architecture.keys)
    if (row.kind == Kind::divisors) names.emplace_back(row.tensor);
  return names;
}

std::map<std::string, GgufPlace> gguf_places_of(const std::map<std::string, TensorInfo>& tensors, const GgufArchitecture& architecture) {
  std::map<std::string, GgufPlace> places;
  std::map<std::string, int64_t> slices;
  for (const auto& [official, info] : tensors) {
    if (info.shape.rank() < 2) continue;
    const int64_t rows = info.shape[0];
    if (const auto slice = stack_of(official, architecture.stacks)) {
      places[official] = {.name = slice->stack, .slice = slice->index, .rows = rows};
      slices[slice->stack] = std::max(slices[slice->stack], slice->index + 1);
      continue;
    }
    for (const Alias& alias : architecture.names)
      if (const auto name = rewrite(official, alias.official, alias.stored)) {
        places[official] = {.name = *name, .rows = rows};
        break;
      }
  }
  for (auto& [official, place] : places)
    if (const auto found = slices.find(place.name); found != slices.end()) place.slices = found->second;
  return places;
}

}  // namespace hearth
