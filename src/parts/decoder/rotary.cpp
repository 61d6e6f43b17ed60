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

void read_scaling(const Config& c, RotaryConfig& r) {
  using Kind = RotaryConfig::Kind;
  const std::string type = c.has("rope_type") ? c.text("rope_type") : c.text("type", "default");
  if (c.has("type") && c.has("rope_type") && c.text("type") != type)
    fail<WeightError>("{}: 'type' = \"{}\" and 'rope_type' = \"{}\" contradict each other", c.where(), c.text("type"), type);
  if (type == "default") return;
  const bool built = type == "linear" || type == "dynamic" || type == "llama3" || type == "yarn";
  if (!built)
    fail<UnsupportedError>("{}: 'rope_type' = \"{}\" is not supported, expected default, linear, dynamic, yarn or llama3", c.where(), type);
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
    const double natural =
        weight != 0 && weight_all != 0 ? yarn_scale(r.factor, weight) / yarn_scale(r.factor, weight_all) : yarn_scale(r.factor);
    r.attention_factor = c.number("attention_factor", natural);
  }
}

// The scaling in its simplest form, for the completed config; null if it is none or expressed by divisors.
nlohmann::json spelled(const RotaryConfig& r) {
  using Kind = RotaryConfig::Kind;
  switch (r.kind) {
    case Kind::plain:
    case Kind::llama3: return nullptr;
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

// Divisors of the plain frequencies, for a scaling that GGUF files have no keys for.
std::vector<float> spelled_divisors(const RotaryConfig& r) {
  if (r.kind != RotaryConfig::Kind::llama3) return r.divisors;
  RotaryConfig plain = r;
  plain.kind = RotaryConfig::Kind::plain;
  plain.divisors.clear();
  std::vector<float> quotients = plain.frequencies(0);
  const std::vector<float> stretched = r.frequencies(0);
  std::ranges::transform(quotients, stretched, quotients.begin(), std::divides());
  return quotients;
}

}  // namespace

RotaryConfig RotaryConfig::from(const Config& c, int64_t size_, int64_t positions_) {
  RotaryConfig r;
  r.size = size_;
  r.positions = positions_;
  r.theta = positive(c, "rope_theta", 10000.0);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!c.has(key)) continue;
    const Config scaling = c.object(key);
    if (scaling.has("rope_theta")) r.theta = positive(scaling, "rope_theta");
    // The current reference and that of 2024 differ here.
    if (std::string_view(key) == "rope_scaling" && c.has("rope_theta")) scaling.only_number("rope_theta", positive(c, "rope_theta"));
    scaling.only_number("partial_rotary_factor", 1);
    read_scaling(scaling, r);
    // Keys of other types, or of other programs: the reference warns and continues.
    scaling.no_effect({"attention_factor", "attn_factor", "beta_fast", "beta_slow", "factor", "finetuned", "high_freq_factor",
                       "low_freq_factor", "mscale", "mscale_all_dim", "original_max_position_embeddings", "truncate"});
    scaling.only_number("extrapolation_factor", 1);
    scaling.finish();
  }
  if (size_ % 2 != 0) fail<WeightError>("{}: head size is {}, expected an even number for rotary positions", c.where(), size_);
  const std::string pairs_ = c.text("rope_pairs", "halves");
  if (pairs_ != "halves" && pairs_ != "neighbors")
    fail<UnsupportedError>("{}: 'rope_pairs' = \"{}\" is not supported, expected halves or neighbors", c.where(), pairs_);
  r.pairs = pairs_ == "halves" ? RotaryPairs::halves : RotaryPairs::neighbors;
  for (const double x : c.numbers("rope_divisors", {{}})) r.divisors.push_back(float(x));
  if (!r.divisors.empty() && int64_t(r.divisors.size()) != size_ / 2)
    fail<WeightError>("{}: 'rope_divisors' has {} values for a head size of {}, expected {}", c.where(), r.divisors.size(), size_,
                      size_ / 2);

  c.no_effect({"rope_pairs"});  // of the file, not of the network
  c.means("rope_theta", nlohmann::json(r.theta).dump());
  c.means("rope_scaling", spelled(r).dump());
  if (const std::vector<float> list = spelled_divisors(r); !list.empty()) c.means("rope_divisors", nlohmann::json(list).dump());
  return r;
}

std::vector<float> RotaryConfig::frequencies(int64_t length) const {
  const double dim = double(size);
  double base = theta;
  if (kind == Kind::dynamic) {
    const double seen = double(std::max(length, positions));
    base *= std::pow(factor * seen / double(positions) - (factor - 1), dim / (dim - 2));
  }
  std::vector<float> frequency;
  for (int64_t i = 0; i < size / 2; ++i) frequency.push_back(1.0f / float(std::pow(float(base), float(2 * i) / float(size))));

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

Tensor RotaryConfig::table(Backend& backend, int64_t first, int64_t count, int64_t length) const {
  const std::vector<float> frequency = frequencies(length);
  const int64_t half = size / 2;
  const auto angles = [&](Tensor& y) {
    float* const values = y.data<float>();
    for (int64_t t = 0; t < count; ++t)
      for (int64_t i = 0; i < half; ++i) {
        const float angle = frequency[size_t(i)] * float(first + t);
        values[2 * t * half + i] = std::cos(angle) * float(attention_factor);
        values[(2 * t + 1) * half + i] = std::sin(angle) * float(attention_factor);
      }
  };
  return written_on_host(backend, {count, 2, half}, DType::f32, angles).to(backend);
}

}  // namespace hearth::parts
