// Problems with known solutions for the tests of samplers: data from a unit Gaussian, in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "sampling/known_problem.h"
#include "sampling/samplers.h"
#include "sampling/schedules/sigma_schedules.h"
#include "support/backend_test.h"

namespace hearth::sampling::test_problem {

inline Tensor wide(Backend& device, const std::vector<double>& values) {
  Tensor x = Tensor::zeros(device, {1, 1, 1, int64_t(values.size())}, DType::f64);
  for (size_t i = 0; i < values.size(); ++i) x.data<double>()[i] = values[i];
  return x;
}

inline std::vector<double> values_of(const Tensor& x) { return {x.data<double>(), x.data<double>() + x.numel()}; }

inline Denoiser gaussian(int* calls = nullptr) {
  return [calls, of = unit_gaussian()](const Tensor& x, const Level& level) {
    if (calls) ++*calls;
    return of(x, level);
  };
}

// Each value independently from N(−1, ¼) with weight 0.3 or N(1.5, ¼) with weight 0.7: the exact posterior mean. The unconditional
// estimate has `other` as second mean.
inline Denoiser mixture(double other = 1.5) {
  return [other](const Tensor& x, const Level& level) {
    const auto mean = [&](double second) {
      Tensor y = Tensor::like(x);
      const double a = level.alpha, variance = a * a / 4 + level.sigma * level.sigma;
      for (int64_t i = 0; i < x.numel(); ++i) {
        const double v = x.data<double>()[i];
        const auto part = [&](double m) { return m + a / 4 / variance * (v - a * m); };
        const auto log_weight = [&](double w, double m) { return std::log(w) - (v - a * m) * (v - a * m) / (2 * variance); };
        const double odds = std::exp(log_weight(0.3, -1) - log_weight(0.7, second));
        y.data<double>()[i] = (odds * part(-1) + part(second)) / (1 + odds);
      }
      return y;
    };
    return Estimate(mean(1.5), mean(other));
  };
}

inline Schedule through(const Path& path, const std::vector<double>& sigmas) {
  Schedule s{.path = path};
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
    const Level at = path.at(sigmas[i]);
    s.steps.push_back({at, at, path.at(sigmas[i + 1])});
  }
  s.init_scale = float(sigmas.front());
  return s;
}

constexpr double sigma_min = 0.0291671582, sigma_max = 14.6146412293;

inline Path exploding_path() { return {.family = Family::exploding, .sigma_min = sigma_min, .sigma_max = sigma_max}; }
inline Path flow_path() { return {.family = Family::flow, .shift = 3}; }

inline Schedule karras(int64_t n) {
  const ModelSigmas ends{.family = SigmaFamily::exploding, .table = {sigma_min, sigma_max}, .sigma_at = {}, .time_of = {}};
  return through(exploding_path(), make_sigmas(*find_sigma_schedule("karras"), ends, n, {}));
}

inline std::vector<double> shifted(int64_t n, double shift = 3) {
  std::vector<double> sigmas;
  for (int64_t i = 0; i < n; ++i) {
    const double t = 1 - double(i) / double(n);
    sigmas.push_back(shift * t / (1 + (shift - 1) * t));
  }
  sigmas.push_back(0);
  return sigmas;
}

inline Schedule flow(int64_t n) { return through(flow_path(), shifted(n)); }

// The options that make a sampler deterministic.
inline Options without_noise(const Sampler& s) {
  Options options;
  const bool has_eta = std::ranges::any_of(s.options, [](const Option& o) { return o.name == "eta"; });
  for (const Option& o : s.options)
    if (o.name == "eta" || (o.name == "s_noise" && !has_eta)) options[std::string(o.name)] = 0;
  return options;
}

inline Noise no_noise() {
  return [](Backend&, const Shape&) -> Tensor {
    ADD_FAILURE() << "a deterministic run drew noise";
    throw Canceled();
  };
}

// Runs every case of a golden on a mixture, {"noise": [draws], "cases": [{"sampler", "path" ("exploding", which is karras, or "flow"), "n",
// "options", "x"}]}, starting with its first draw. Returns the largest absolute error of each sampler by its name, preceded by that of the
// path if there is one.
inline std::map<std::string, double> largest_errors(const std::filesystem::path& file, const Denoiser& denoiser) {
  const nlohmann::json golden = load_json(file);
  const auto draws = golden.at("noise").get<std::vector<std::vector<double>>>();
  const auto device = test::make_test_backend("reference");
  std::map<std::string, double> largest;
  for (const nlohmann::json& c : golden.at("cases")) {
    const auto name = c.at("sampler").get<std::string>(), path = c.value("path", "");
    const auto n = c.at("n").get<int64_t>();
    int64_t drawn = 0;
    Noise noise = [&](Backend& d, const Shape&) { return wide(d, draws.at(size_t(++drawn))); };
    const Schedule schedule = path == "flow" ? flow(n) : karras(n);
    const Tensor start = combine({wide(*device, draws[0])}, {schedule.steps[0].from.sigma});
    const Tensor x = sample(find_sampler(name), denoiser, start, schedule, noise, c.at("options").get<Options>());
    const auto wanted = c.at("x").get<std::vector<double>>();
    double& error = largest[path.empty() ? name : path + " " + name];
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double e = std::abs(values_of(x)[i] - wanted[i]);
      if (!(e <= error)) error = e;  // a NaN, too
    }
  }
  return largest;
}

}  // namespace hearth::sampling::test_problem
