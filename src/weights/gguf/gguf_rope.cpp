#include "weights/gguf/gguf_rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace hearth {
namespace {

// YaRN's default attention factor (Peng et al. 2023, section 3.4).
double usual_attention_factor(double stretch) { return stretch <= 1 ? 1 : 0.1 * std::log(stretch) + 1; }

nlohmann::json read_scaling(const GgufKeys& keys) {
  const std::string type = keys.text("rope.scaling.type", "none");
  const double factor = keys.number("rope.scaling.attn_factor", 1.0);
  if (type != "yarn" && factor != 1)
    fail<UnsupportedError>("{}: '{}' = {} is not supported without yarn", keys.where(), keys.name("rope.scaling.attn_factor"), factor);
  if (type == "none" || type.empty()) {
    if (keys.has("rope.scale_linear") && keys.number("rope.scale_linear") != 1)
      return {{"rope_type", "linear"}, {"factor", keys.number("rope.scale_linear")}};
    return nullptr;
  }
  if (type != "linear" && type != "yarn")
    fail<UnsupportedError>("{}: rope scaling \"{}\" is not supported, expected linear or yarn", keys.where(), type);
  nlohmann::json scaling = {{"rope_type", type}, {"factor", keys.number("rope.scaling.factor")}};
  if (type == "linear") return scaling;
  if (keys.has("rope.scaling.original_context_length"))
    scaling["original_max_position_embeddings"] = keys.integer("rope.scaling.original_context_length");
  if (keys.has("rope.scaling.yarn_beta_fast")) scaling["beta_fast"] = keys.number("rope.scaling.yarn_beta_fast");
  if (keys.has("rope.scaling.yarn_beta_slow")) scaling["beta_slow"] = keys.number("rope.scaling.yarn_beta_slow");
  if (keys.has("rope.scaling.yarn_log_multiplier"))  // of scores, and not of cosines and sines
    scaling["mscale"] = scaling["mscale_all_dim"] = keys.number("rope.scaling.yarn_log_multiplier") / 0.1;
  if (factor != 1)  // llama.cpp multiplies the default by it
    scaling["attention_factor"] = factor * usual_attention_factor(keys.number("rope.scaling.factor"));
  return scaling;
}

// mrope_section: frame, row and column. A fourth number is for an axis that no model here has.
std::vector<int64_t> read_sections(const GgufKeys& keys) {
  constexpr std::string_view key = "rope.dimension_sections";
  if (!keys.has(key)) return {};
  std::vector<int64_t> sections = keys.integers(key);
  if (sections.size() < 3 || sections.size() > 4)
    fail<WeightError>("{}: '{}' has {} entries, expected 3 or 4", keys.where(), keys.name(key), sections.size());
  if (sections.size() == 4 && sections[3] != 0)
    fail<UnsupportedError>("{}: '{}' has a fourth axis of {} frequencies, which is not supported", keys.where(), keys.name(key),
                           sections[3]);
  sections.resize(3);
  return sections;
}

}  // namespace

bool is_rope_scaling_key(std::string_view key) {
  static constexpr std::array<std::string_view, 10> keys = {"rope.dimension_sections",     "rope.scale_linear",
                                                            "rope.scaling.attn_factor",    "rope.scaling.factor",
                                                            "rope.scaling.finetuned",      "rope.scaling.original_context_length",
                                                            "rope.scaling.type",           "rope.scaling.yarn_beta_fast",
                                                            "rope.scaling.yarn_beta_slow", "rope.scaling.yarn_log_multiplier"};
  return std::ranges::find(keys, key) != keys.end();
}

nlohmann::json read_rope_scaling(const GgufKeys& keys) {
  nlohmann::json scaling = read_scaling(keys);
  const std::vector<int64_t> sections = read_sections(keys);
  if (sections.empty()) return scaling;
  if (scaling.is_null()) scaling = {{"rope_type", "default"}};
  scaling["mrope_section"] = sections;
  return scaling;
}

void write_rope_scaling(const Config& scaling, bool truncates, GgufKeyWriter& to) {
  const std::string type = scaling.text("rope_type");
  if (scaling.has("mrope_section")) {
    std::vector<int64_t> sections = scaling.integers("mrope_section");
    sections.push_back(0);
    to.integers("rope.dimension_sections", sections);
    if (type == "default") return;
  }
  if (type != "linear" && type != "yarn") to.cannot_express("rope scaling of the type " + type);
  const double factor = scaling.number("factor");
  to.text("rope.scaling.type", type);
  to.f32("rope.scaling.factor", factor);
  if (type == "linear") return;
  const bool of_scores = scaling.has("mscale_all_dim");
  const bool usual = scaling.number("beta_fast") == 32 && scaling.number("beta_slow") == 1 && scaling.boolean("truncate") == truncates &&
                     scaling.number("attention_factor") == (of_scores ? 1 : usual_attention_factor(factor));
  if (!usual) to.cannot_express("yarn with a beta_fast, beta_slow, truncate or attention factor other than the default");
  if (of_scores) to.f32("rope.scaling.yarn_log_multiplier", 0.1 * scaling.number("mscale_all_dim"));
  to.integer("rope.scaling.original_context_length", int64_t(scaling.number("original_max_position_embeddings")));
}

std::vector<float> read_rope_divisors(const GgufFile& file, std::string_view tensor) {
  for (size_t part = 0; part < file.paths().size(); ++part) {
    const auto& entries = file.entries(part);
    const auto found = entries.find(std::string(tensor));
    if (found == entries.end()) continue;
    const TensorInfo& info = found->second.info;
    if (info.dtype != DType::f32) fail<UnsupportedError>("{}: '{}' is {}, expected f32", file.describe(), tensor, name_of(info.dtype));
    const std::string_view bytes = file.bytes(part, found->second);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }
  return {};
}

}  // namespace hearth
