#include "parts/decoder/rotary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/on_host.h"
#include "parts/config_reading.h"

namespace hearth::parts {
namespace {

double positive(const Config& c, const std::string& key, std::optional<double> otherwise = {}) {
  const double value = c.number(key, otherwise);
  if (!(value > 0) || !std::isfinite(value)) fail<WeightError>("{}: '{}' = {}, expected more than 0", c.where(), key, value);
  return value;
}

// A factor that is 0 or absent means the default, as in the reference.
double number_or(const Config& c, const std::string& key, double otherwise) {
  const double value = c.number(key, 0.0);
  return value != 0 ? value : otherwise;
}

double yarn_scale(double factor, double weight = 1) { return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1; }

bool is_long(const RotaryConfig& r, const TextLengths& length) { return double(length.planned) > r.original_positions; }

std::vector<float> divisor_list(const Config& c, const std::string& key, int64_t size) {
  std::vector<float> list;
  for (const double x : c.numbers(key)) list.push_back(float(x));
  if (int64_t(list.size()) != size / 2)
    fail<WeightError>("{}: '{}' has {} values, expected {} for {} rotated elements", c.where(), key, list.size(), size / 2, size);
  if (std::ranges::any_of(list, [](float x) { return !(x > 0); }))
    fail<WeightError>("{}: '{}' has a value that is not positive", c.where(), key);
  return list;
}

std::vector<int64_t> section_list(const Config& c, const RotaryConfig& r) {
  std::vector<int64_t> list = c.integers("mrope_section");
  int64_t sum = 0;
  for (const int64_t n : list) sum += n;
  if (list.size() != 3 || std::ranges::any_of(list, [](int64_t n) { return n < 0; }) || sum != r.size / 2)
    fail<WeightError>("{}: 'mrope_section' is {}, expected 3 numbers that add up to {}", c.where(), c.dump("mrope_section"), r.size / 2);
  return list;
}

// Ding et al. 2024. The trained length is a key next to rope_scaling, in newer files inside; `factor` counts only without it.
void read_longrope(const Config& top, const Config& c, RotaryConfig& r) {
  r.kind = RotaryConfig::Kind::longrope;
  r.short_divisors = divisor_list(c, "short_factor", r.size);
  r.long_divisors = divisor_list(c, "long_factor", r.size);
  const double inside = number_or(c, "original_max_position_embeddings", 0);
  r.original_positions = number_or(top, "original_max_position_embeddings", inside);
  const double stretch = r.original_positions > 0 ? double(r.positions) / r.original_positions : c.number("factor", 1.0);
  if (!(r.original_positions > 0)) r.original_positions = double(r.positions);
  r.attention_factor = r.long_attention_factor =
      c.number("attention_factor", stretch <= 1 ? 1 : std::sqrt(1 + std::log(stretch) / std::log(r.original_positions)));
  if (c.has("short_mscale")) r.attention_factor = positive(c, "short_mscale");
  if (c.has("long_mscale")) r.long_attention_factor = positive(c, "long_mscale");
}

// The same from a GGUF file.
void read_longrope_lists(const Config& c, RotaryConfig& r) {
  r.kind = RotaryConfig::Kind::longrope;
  r.short_divisors = divisor_list(c, "rope_short_divisors", r.size);
  r.long_divisors = divisor_list(c, "rope_long_divisors", r.size);
  r.original_positions = positive(c, "original_max_position_embeddings");
  r.attention_factor = positive(c, "rope_attention_factor", 1.0);
  r.long_attention_factor = positive(c, "rope_long_attention_factor", r.attention_factor);
}

// `top`: the config that contains c.
void read_scaling(const Config& top, const Config& c, RotaryConfig& r) {
  using Kind = RotaryConfig::Kind;
  const std::string type = c.has("rope_type") ? c.text("rope_type") : c.text("type", "default");
  const bool mrope = c.has("mrope_section") && c.text("type", "") == "mrope";  // which newer files call the default
  if (c.has("type") && c.has("rope_type") && c.text("type") != type && !mrope)
    fail<WeightError>("{}: 'type' = \"{}\" and 'rope_type' = \"{}\" contradict each other", c.where(), c.text("type"), type);
  if (type == "default" || (type == "mrope" && c.has("mrope_section"))) return;
  if (type == "longrope" || type == "su") return read_longrope(top, c, r);
  const bool built = type == "linear" || type == "dynamic" || type == "llama3" || type == "yarn";
  if (!built)
    fail<UnsupportedError>("{}: 'rope_type' = \"{}\" is not supported, expected default, linear, dynamic, yarn, llama3 or longrope",
                           c.where(), type);
  r.factor = positive(c, "factor");
  if (type == "linear") {
    r.kind = Kind::linear;
  } else if (type == "dynamic") {
    r.kind = Kind::dynamic;
  } else if (type == "llama3") {
    r.kind = Kind::llama3;
    r.low = positive(c, "low_freq_factor");
    r.high = positive(c, "high_freq_factor");
    r.original_positions = positive(c, "original_max_position_embeddings");
    if (r.high <= r.low)
      fail<WeightError>("{}: 'high_freq_factor' = {}, expected more than 'low_freq_factor' = {}", c.where(), r.high, r.low);
  } else {
    r.kind = Kind::yarn;
    r.fast = number_or(c, "beta_fast", 32);
    r.slow = number_or(c, "beta_slow", 1);
    r.truncate = c.boolean("truncate", true);
    r.original_positions = number_or(c, "original_max_position_embeddings", double(r.positions));
    const double weight = c.number("mscale", 0.0), weight_all = c.number("mscale_all_dim", 0.0);
    r.mscale_all_dim = weight_all;
    const double natural =
        weight != 0 && weight_all != 0 ? yarn_scale(r.factor, weight) / yarn_scale(r.factor, weight_all) : yarn_scale(r.factor);
    r.attention_factor = c.number("attention_factor", natural);
  }
}

// The scaling in its simplest form, for the completed config; null if it is none or expressed by divisors.
nlohmann::json spelled_scaling(const RotaryConfig& r) {
  using Kind = RotaryConfig::Kind;
  switch (r.kind) {
    case Kind::plain:
    case Kind::llama3:
    case Kind::longrope: return nullptr;
    case Kind::linear: return {{"rope_type", "linear"}, {"factor", r.factor}};
    case Kind::dynamic: return {{"rope_type", "dynamic"}, {"factor", r.factor}};
    case Kind::yarn: break;
  }
  return {{"rope_type", "yarn"},
          {"factor", r.factor},
          {"original_max_position_embeddings", r.original_positions},
          {"beta_fast", r.fast},
          {"beta_slow", r.slow},
          {"truncate", r.truncate},
          {"attention_factor", r.attention_factor}};
}

nlohmann::json spelled(const RotaryConfig& r) {
  nlohmann::json scaling = spelled_scaling(r);
  if (r.sections.empty()) return scaling;
  if (scaling.is_null()) scaling = {{"rope_type", "default"}};
  scaling["mrope_section"] = r.sections;
  return scaling;
}

// Divisors of the plain frequencies, for a scaling that GGUF files have no keys for.
std::vector<float> spelled_divisors(const RotaryConfig& r) {
  if (r.kind != RotaryConfig::Kind::llama3) return r.divisors;
  RotaryConfig plain = r;
  plain.kind = RotaryConfig::Kind::plain;
  plain.divisors.clear();
  std::vector<float> quotients = plain.frequencies({});
  const std::vector<float> stretched = r.frequencies({});
  std::ranges::transform(quotients, stretched, quotients.begin(), std::divides());
  return quotients;
}

}  // namespace

RotaryConfig RotaryConfig::from(const Config& c, int64_t size_, int64_t positions_, const Defaults& defaults) {
  RotaryConfig r;
  r.size = size_;
  r.positions = positions_;
  r.theta = positive(c, "rope_theta", defaults.theta);
  if (size_ % 2 != 0 || size_ < 2) fail<WeightError>("{}: head size is {}, expected an even number for rotary positions", c.where(), size_);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!c.has(key)) continue;
    Config scaling = c.object(key);
    if (!defaults.layers.empty() && scaling.has(defaults.layers)) scaling = scaling.object(defaults.layers);
    if (scaling.has("rope_theta")) r.theta = positive(scaling, "rope_theta");
    // The current reference and that of 2024 differ here.
    if (std::string_view(key) == "rope_scaling" && c.has("rope_theta")) scaling.only_number("rope_theta", positive(c, "rope_theta"));
    scaling.only_number("partial_rotary_factor", defaults.partial);
    read_scaling(c, scaling, r);
    if (scaling.has("mrope_section")) r.sections = section_list(scaling, r);
    // Keys of other types, or of other programs: the reference warns and continues.
    scaling.no_effect({"attention_factor", "attn_factor", "beta_fast", "beta_slow", "factor", "finetuned", "high_freq_factor",
                       "long_factor", "long_mscale", "low_freq_factor", "mscale", "mscale_all_dim", "original_max_position_embeddings",
                       "short_factor", "short_mscale", "truncate"});
    scaling.only_number("extrapolation_factor", 1);
    scaling.finish();
  }
  const std::string pairs_ = c.text("rope_pairs", "halves");
  if (pairs_ != "halves" && pairs_ != "neighbors")
    fail<UnsupportedError>("{}: 'rope_pairs' = \"{}\" is not supported, expected halves or neighbors", c.where(), pairs_);
  r.pairs = pairs_ == "halves" ? RotaryPairs::halves : RotaryPairs::neighbors;
  if (c.has("rope_divisors")) r.divisors = divisor_list(c, "rope_divisors", size_);
  if (c.has("rope_short_divisors")) read_longrope_lists(c, r);

  c.no_effect({"rope_pairs"});  // of the file, not of the network
  c.means("rope_theta", nlohmann::json(r.theta).dump());
  c.means("rope_scaling", spelled(r).dump());
  if (const std::vector<float> list = spelled_divisors(r); !list.empty()) c.means("rope_divisors", nlohmann::json(list).dump());
  if (r.kind == Kind::longrope) {
    c.means("rope_short_divisors", nlohmann::json(r.short_divisors).dump());
    c.means("rope_long_divisors", nlohmann::json(r.long_divisors).dump());
    c.means("original_max_position_embeddings", nlohmann::json(r.original_positions).dump());
    c.means("rope_attention_factor", nlohmann::json(r.attention_factor).dump());
    c.no_effect({"rope_long_attention_factor"});
    if (r.long_attention_factor != r.attention_factor)
      c.means("rope_long_attention_factor", nlohmann::json(r.long_attention_factor).dump());
  }
  return r;
}

std::vector<float> RotaryConfig::frequencies(const TextLengths& length) const {
  const double dim = double(size);
  double base = theta;
  if (kind == Kind::dynamic) {
    const double seen = double(std::max(length.now, positions));
    base *= std::pow(factor * seen / double(positions) - (factor - 1), dim / (dim - 2));
  }
  std::vector<float> frequency;
  for (int64_t i = 0; i < size / 2; ++i) frequency.push_back(1.0f / float(std::pow(float(base), float(2 * i) / float(size))));

  if (kind == Kind::longrope) {
    const std::vector<float>& list = is_long(*this, length) ? long_divisors : short_divisors;
    for (size_t i = 0; i < frequency.size(); ++i)
      frequency[i] = 1.0f / (list[i] * float(std::pow(float(base), float(2 * i) / float(size))));
  }
  if (kind == Kind::linear)
    for (float& f : frequency) f /= float(factor);
  if (kind == Kind::llama3)
    for (float& f : frequency) {
      const double wavelength = 2 * M_PI / double(f);
      if (wavelength < original_positions / high) continue;
      const double smooth = (original_positions / wavelength - low) / (high - low);
      f = wavelength > original_positions / low ? f / float(factor) : float((1 - smooth) * double(f) / factor + smooth * double(f));
    }
  if (kind == Kind::yarn) {
    const auto turns = [&](double rotations) {
      return dim * std::log(original_positions / (rotations * 2 * M_PI)) / (2 * std::log(theta));
    };
    double begin = turns(fast), end = turns(slow);
    if (truncate) begin = std::floor(begin), end = std::ceil(end);
    begin = std::max(begin, 0.0), end = std::min(end, dim - 1);
    if (begin == end) end += 0.001;
    for (size_t i = 0; i < frequency.size(); ++i) {
      const float ramp = std::clamp(float((double(i) - begin) / (end - begin)), 0.0f, 1.0f), plain = frequency[i];
      frequency[i] = plain / float(factor) * ramp + plain * (1 - ramp);
    }
  }
  for (size_t i = 0; i < divisors.size(); ++i) frequency[i] /= divisors[i];
  return frequency;
}

double RotaryConfig::factor_of_angles(const TextLengths& length) const {
  return kind == Kind::longrope && is_long(*this, length) ? long_attention_factor : attention_factor;
}

double RotaryConfig::score_factor() const {
  const double scale = kind == Kind::yarn && mscale_all_dim != 0 ? yarn_scale(factor, mscale_all_dim) : 1;
  return scale * scale;
}

std::string RotaryConfig::spelled_with_score_factor() const {
  nlohmann::json all = spelled(*this);
  if (kind == Kind::yarn && mscale_all_dim != 0) all["mscale_all_dim"] = mscale_all_dim;
  return all.dump();
}

namespace {

// at(t, i): the number of position t that frequency i turns by.
template <class At> Tensor table_of(const RotaryConfig& r, Backend& backend, int64_t count, const TextLengths& length, At at) {
  const std::vector<float> frequency = r.frequencies(length);
  const auto factor = float(r.factor_of_angles(length));
  const int64_t half = r.size / 2;
  const auto angles = [&](Tensor& y) {
    float* const values = y.data<float>();
    for (int64_t t = 0; t < count; ++t)
      for (int64_t i = 0; i < half; ++i) {
        const float angle = frequency[size_t(i)] * float(at(t, i));
        values[2 * t * half + i] = std::cos(angle) * factor;
        values[(2 * t + 1) * half + i] = std::sin(angle) * factor;
      }
  };
  return written_on_host(backend, {count, 2, half}, DType::f32, angles).to(backend);
}

}  // namespace

Tensor RotaryConfig::table(Backend& backend, int64_t first, int64_t count, const TextLengths& length) const {
  return table_of(*this, backend, count, length, [first](int64_t t, int64_t) { return first + t; });
}

Tensor RotaryConfig::table(Backend& backend, std::span<const Position> places, const TextLengths& length) const {
  if (sections.empty()) fail<UnsupportedError>("decoder: positions of images are not supported by a model without 'mrope_section'");
  std::vector<size_t> axis;
  for (size_t i = 0; i < sections.size(); ++i) axis.insert(axis.end(), size_t(sections[i]), i);
  return table_of(*this, backend, int64_t(places.size()), length, [&](int64_t t, int64_t i) { return places[size_t(t)][axis[size_t(i)]]; });
}

}  // namespace hearth::parts
