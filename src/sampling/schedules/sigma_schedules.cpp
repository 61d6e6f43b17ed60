#include "sampling/schedules/sigma_schedules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.h"
#include "sampling/names.h"
#include "sampling/schedules/special_functions.h"
#include "sampling/schedules/step_tables.h"

namespace hearth::sampling {
namespace {

using Options = ScheduleOptions;

double option(const Options& options, std::string_view name) { return options.find(name)->second; }

// The value at `i` of n evenly spaced ones; for n = 1, the first.
double ramp(double from, double to, int64_t i, int64_t n) { return n == 1 ? from : from + (to - from) * double(i) / double(n - 1); }

// n values of f(u), u evenly spaced from 0 to 1, then 0.
template <class F> Values curve(int64_t n, const F& f) {
  Values sigmas;
  for (int64_t i = 0; i < n; ++i) sigmas.push_back(f(ramp(0, 1, i, n)));
  sigmas.push_back(0);
  return sigmas;
}

// Entries of the model's table by descending index, each once, then 0.
Values entries(const ModelSigmas& m, const std::vector<int64_t>& indices) {
  Values sigmas;
  int64_t last = -1;
  for (const int64_t i : indices)
    if (i != last) sigmas.push_back(m.table[size_t(last = i)]);
  sigmas.push_back(0);
  return sigmas;
}

// `points` values, interpolated linearly in ln σ between those of a published table.
Values interpolated(std::span<const double> table, int64_t points) {
  Values sigmas;
  for (int64_t i = 0; i < points; ++i) {
    const double at = ramp(0, double(table.size() - 1), i, points);
    const auto low = size_t(at);
    const bool entry = at == double(low);
    sigmas.push_back(entry ? table[low] : std::exp(std::lerp(std::log(table[low]), std::log(table[low + 1]), at - double(low))));
  }
  return sigmas;
}

Values normal(const ModelSigmas& m, int64_t n, const Options&) {
  const double from = m.time_of(m.most()), to = m.time_of(m.least());
  return curve(n, [&](double u) { return m.sigma_at(std::lerp(from, to, u)); });
}

Values sgm_uniform(const ModelSigmas& m, int64_t n, const Options&) {
  const double from = m.time_of(m.most()), to = m.time_of(m.least());
  Values sigmas;
  for (int64_t i = 0; i < n; ++i) sigmas.push_back(m.sigma_at(ramp(from, to, i, n + 1)));
  sigmas.push_back(0);
  return sigmas;
}

Values simple(const ModelSigmas& m, int64_t n, const Options&) {
  const auto N = int64_t(m.table.size());
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < n; ++i) indices.push_back(N - 1 - i * N / n);
  return entries(m, indices);
}

Values ddim_uniform(const ModelSigmas& m, int64_t n, const Options&) {
  const auto N = int64_t(m.table.size());
  std::vector<int64_t> indices;
  for (int64_t i = 1; i < N; i += std::max<int64_t>(N / n, 1)) indices.insert(indices.begin(), i);
  return entries(m, indices);
}

// Karras et al. 2022 (arXiv 2206.00364), equation 5.
Values karras(const ModelSigmas&, int64_t n, const Options& o) {
  const double rho = option(o, "rho"), high = std::pow(option(o, "sigma_max"), 1 / rho), low = std::pow(option(o, "sigma_min"), 1 / rho);
  return curve(n, [&](double u) { return std::pow(high + u * (low - high), rho); });
}

Values exponential(const ModelSigmas&, int64_t n, const Options& o) {
  const double high = std::log(option(o, "sigma_max")), low = std::log(option(o, "sigma_min"));
  return curve(n, [&](double u) { return std::exp(std::lerp(high, low, u)); });
}

Values polyexponential(const ModelSigmas&, int64_t n, const Options& o) {
  const double high = std::log(option(o, "sigma_max")), low = std::log(option(o, "sigma_min")), rho = option(o, "rho");
  return curve(n, [&](double u) { return std::exp(std::lerp(low, high, std::pow(1 - u, rho))); });
}

// Lee et al. 2024 (arXiv 2407.12173): quantiles of a beta distribution, dense at both ends.
Values beta(const ModelSigmas& m, int64_t n, const Options& o) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < n; ++i) {
    const double quantile = beta_quantile(1 - double(i) / double(n), option(o, "alpha"), option(o, "beta"));
    indices.push_back(int64_t(std::nearbyint(quantile * double(m.table.size() - 1))));
  }
  return entries(m, indices);
}

Values beta_a1111(const ModelSigmas&, int64_t n, const Options& o) {
  const double low = option(o, "sigma_min"), high = option(o, "sigma_max");
  return curve(n, [&](double u) { return std::lerp(low, high, beta_quantile(1 - u, option(o, "alpha"), option(o, "beta"))); });
}

// Mochi: small equal steps of σ over the first half of the run, quadratic ones to 0 over the second.
Values linear_quadratic(const ModelSigmas& m, int64_t n, const Options& o) {
  if (n == 1) return {m.most(), 0};
  const double half = double(n / 2), rest = double(n) - half, threshold = option(o, "threshold"), missing = half - threshold * double(n);
  const double a = missing / (half * rest * rest), b = threshold / half - 2 * missing / (rest * rest), c = a * half * half;
  Values sigmas;
  for (int64_t j = 0; j < n; ++j) {
    const auto t = double(j);
    sigmas.push_back(m.most() * (1 - (t < half ? t * threshold / half : a * t * t + b * t + c)));
  }
  sigmas.push_back(0);
  return sigmas;
}

// Sabour et al. 2024 (arXiv 2404.14507), the closed form for a Gaussian: evenly spaced in atan σ.
Values kl_optimal(const ModelSigmas&, int64_t n, const Options& o) {
  const double high = std::atan(option(o, "sigma_max")), low = std::atan(option(o, "sigma_min"));
  return curve(n, [&](double u) { return std::tan(std::lerp(high, low, u)); });
}

Values kl_optimal_a1111(const ModelSigmas& m, int64_t n, const Options& o) {
  Values sigmas = kl_optimal(m, n + 1, o);
  sigmas.pop_back();
  return sigmas;
}

Values laplace(const ModelSigmas&, int64_t n, const Options& o) {
  Values sigmas = curve(n, [&](double u) {
    const double side = u < 0.5 ? 1 : u > 0.5 ? -1 : 0;
    const double log_sigma = option(o, "mu") - option(o, "beta") * side * std::log(1 - 2 * std::abs(0.5 - u) + 1e-5);
    return std::clamp(std::exp(log_sigma), option(o, "sigma_min"), option(o, "sigma_max"));
  });
  sigmas.pop_back();
  return sigmas;
}

// Song et al. 2021 (arXiv 2011.13456): β linear in continuous time.
Values vp(const ModelSigmas&, int64_t n, const Options& o) {
  return curve(n, [&](double u) {
    const double t = std::lerp(1.0, option(o, "eps_s"), u);
    return std::sqrt(std::expm1(option(o, "beta_d") * t * t / 2 + option(o, "beta_min") * t));
  });
}

// The multiple is rounded after 1 is subtracted, as in Forge: at a tie (62.5 for 16 steps) this gives another entry.
Values turbo(const ModelSigmas& m, int64_t n, const Options&) {
  const auto N = double(m.table.size());
  std::vector<int64_t> indices;
  for (int64_t k = n; k >= 1; --k) indices.push_back(std::max<int64_t>(0, int64_t(std::nearbyint(double(k) * N / double(n) - 1))));
  return entries(m, indices);
}

// Luo et al. 2023 (arXiv 2310.04378): n of the 50 evenly spaced timesteps that the network was distilled on.
Values lcm(const ModelSigmas& m, int64_t n, const Options& o) {
  const auto trained = int64_t(option(o, "original_steps")), N = int64_t(m.table.size());
  if (n > trained) fail<UsageError>("schedule lcm: got {} steps, expected at most original_steps = {}", n, trained);
  if (trained > N) fail<UsageError>("schedule lcm: original_steps is {}, expected at most the model's {} noise levels", trained, N);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < n; ++i) indices.push_back((trained - trained * i / n) * (N / trained) - 1);
  return entries(m, indices);
}

Values smoothstep(const ModelSigmas& m, int64_t n, const Options&) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < n; ++i) {
    const double u = 1 - double(i) / double(n);
    indices.push_back(int64_t(std::nearbyint(double(m.table.size() - 1) * u * u * (3 - 2 * u))));
  }
  return entries(m, indices);
}

// `points` values on an arctangent that falls fastest at `pivot`, stretched to run from `high` to `low`.
Values tangent(int64_t points, double pivot, double slope, double high, double low) {
  const auto raw = [&](double x) { return -std::atan(slope * (x - pivot)); };
  const double first = raw(0), last = raw(double(points - 1));
  Values values;
  for (int64_t i = 0; i < points; ++i) values.push_back(low + (raw(double(i)) - last) / (first - last) * (high - low));
  return values;
}

// Two such ramps; the second starts where the first ends: at half the range, after 0.6 of the points.
Values bong_tangent(const ModelSigmas& m, int64_t n, const Options&) {
  const int64_t points = n + 2, joint = points * 3 / 5;
  const double slope = 0.2 * 40 / double(points), middle = (m.most() + m.least()) / 2;
  Values sigmas = joint > 1 ? tangent(joint, double(joint), slope, m.most(), middle) : Values{middle};
  sigmas.pop_back();
  const Values second = tangent(points - joint, 0, slope, middle, m.least());
  sigmas.insert(sigmas.end(), second.begin(), second.end());
  sigmas.back() = 0;
  return sigmas;
}

template <std::span<const double> (*table)()> Values published(const ModelSigmas&, int64_t n, const Options&) {
  Values sigmas = interpolated(table(), n + 1);
  sigmas.back() = 0;
  return sigmas;
}

// A1111's form: for a number of steps other than the table's number of values, n points of it.
template <std::span<const double> (*table)()> Values published_a1111(const ModelSigmas&, int64_t n, const Options&) {
  Values sigmas = interpolated(table(), n);
  sigmas.push_back(0);
  return sigmas;
}

// Above 20 steps the longest table, interpolated linearly in ln σ.
Values gits(const ModelSigmas&, int64_t n, const Options& o) {
  const Values table = gits_sd15_levels(option(o, "coeff"), n);
  Values sigmas = n == 1 ? Values{table.front(), 0} : int64_t(table.size()) == n + 1 ? table : interpolated(table, n + 1);
  sigmas.back() = 0;
  return sigmas;
}

Values flux(const ModelSigmas&, int64_t n, const Options& o) {
  const MuLine line{.base_shift = option(o, "base_shift"), .max_shift = option(o, "max_shift")};
  return flow_sigmas(flow_times(n), shift_of(TimeShift::exponential, mu_of(line, option(o, "tokens"))));
}

Values flux2(const ModelSigmas&, int64_t n, const Options& o) {
  return flow_sigmas(flow_times(n), shift_of(TimeShift::exponential, empirical_mu(option(o, "tokens"), n)));
}

Values ltx(const ModelSigmas&, int64_t n, const Options& o) {
  const double mu = mu_of(ltx_mu_line, option(o, "tokens"));
  return stretched_to(flow_sigmas(flow_times(n), shift_of(TimeShift::exponential, mu)), option(o, "terminal"));
}

Values logit_normal(const ModelSigmas&, int64_t n, const Options& o) {
  return logit_normal_sigmas(n, option(o, "mu") + 0.5 * std::log(option(o, "tokens") / 1024), option(o, "std"));
}

constexpr double own = std::numeric_limits<double>::quiet_NaN(), huge = 1e6;
constexpr ScheduleOption sigma_min{"sigma_min", "the least σ above 0", 1e-6, huge, own};
constexpr ScheduleOption sigma_max{"sigma_max", "the largest σ", 1e-6, huge, own};
constexpr ScheduleOption alpha{"alpha", "first parameter of the beta distribution", 0.01, 100, 0.6};
constexpr ScheduleOption beta_option{"beta", "second parameter of the beta distribution", 0.01, 100, 0.6};
constexpr ScheduleOption tokens{"tokens", "image tokens: 4096 of 1024×1024 pixels", 1, huge, 4096};

constexpr std::array ends{sigma_min, sigma_max};
constexpr std::array karras_options{ScheduleOption{"rho", "bend: σ is even in its ρ-th root", 0.1, 100, 7}, sigma_min, sigma_max};
constexpr std::array poly_options{ScheduleOption{"rho", "1 is exponential, above it the end is denser", 0.01, 100, 1}, sigma_min,
                                  sigma_max};
constexpr std::array beta_options{alpha, beta_option};
constexpr std::array beta_a1111_options{alpha, beta_option, sigma_min, sigma_max};
constexpr std::array quadratic_options{ScheduleOption{"threshold", "how far the linear half goes", 0.0001, 0.5, 0.025}};
constexpr std::array laplace_options{ScheduleOption{"mu", "center in ln σ", -20, 20, 0},
                                     ScheduleOption{"beta", "width in ln σ", 0.001, 20, 0.5}, sigma_min, sigma_max};
constexpr std::array vp_options{ScheduleOption{"beta_d", "slope of β", 0.001, 1000, 19.9},
                                ScheduleOption{"beta_min", "β at the start", 0, 100, 0.1},
                                ScheduleOption{"eps_s", "the least time", 1e-6, 0.5, 0.001}};
constexpr std::array lcm_options{ScheduleOption{"original_steps", "times of the distillation", 1, huge, 50}};
constexpr std::array gits_options{
    ScheduleOption{"coeff", "0.8 to 1.5 in steps of 0.05: how the release weighs a step's error", 0.8, 1.5, 1.2}};
constexpr std::array flux_options{tokens, ScheduleOption{"base_shift", "mu at 256 tokens", -20, 20, 0.5},
                                  ScheduleOption{"max_shift", "mu at 4096 tokens", -20, 20, 1.15}};
constexpr std::array flux2_options{tokens};
constexpr std::array ltx_options{tokens, ScheduleOption{"terminal", "the last σ above 0", 1e-6, 0.999999, 0.1}};
constexpr std::array logit_options{ScheduleOption{"mu", "center of the logit", -20, 20, 0},
                                   ScheduleOption{"std", "its spread", 0.001, 20, 1.75},
                                   ScheduleOption{"tokens", "image tokens of 16×16 pixels", 1, huge, 1024}};

constexpr std::array<std::string_view, 3> normal_names{"discrete", "Uniform", "linspace_time"};
constexpr std::array<std::string_view, 1> karras_names{"use_karras_sigmas"};
constexpr std::array<std::string_view, 1> exponential_names{"use_exponential_sigmas"};
constexpr std::array<std::string_view, 1> ddim_names{"DDIM"};
constexpr std::array<std::string_view, 1> beta_a1111_names{"use_beta_sigmas"};
constexpr std::array<std::string_view, 1> turbo_names{"sd_turbo"};
constexpr std::array<std::string_view, 3> ays_names{"Align Your Steps", "align_your_steps_sd15", "ays_sd15"};
constexpr std::array<std::string_view, 1> ays_sdxl_names{"align_your_steps_sdxl"};
constexpr std::array<std::string_view, 1> ays_svd_names{"align_your_steps_svd"};
constexpr std::array<std::string_view, 1> ays_11_names{"Align Your Steps 11"};
constexpr std::array<std::string_view, 1> ays_32_names{"Align Your Steps 32"};
constexpr std::array<std::string_view, 2> gits_names{"Align Your Steps GITS", "gits_sd15"};
constexpr std::array<std::string_view, 1> gits_comfyui_names{"GITSScheduler"};
constexpr std::array<std::string_view, 1> logit_names{"ideogram4"};

using enum SigmaSchedule::Models;
constexpr int64_t unlimited = 0, table_size = -1;
constexpr std::array table{
    SigmaSchedule{"normal", normal_names, "even in the network's time, both ends included", {}, any, unlimited, normal},
    SigmaSchedule{"karras", karras_names, "Karras et al. 2022: even in σ^(1/ρ)", karras_options, any, unlimited, karras},
    SigmaSchedule{"exponential", exponential_names, "even in ln σ", ends, any, unlimited, exponential},
    SigmaSchedule{"polyexponential", {}, "a power of even steps in ln σ", poly_options, any, unlimited, polyexponential},
    SigmaSchedule{"sgm_uniform", {}, "even in the network's time, the last point left out", {}, any, unlimited, sgm_uniform},
    SigmaSchedule{"simple", {}, "every so many entries of the model's table, from its end", {}, any, table_size, simple},
    SigmaSchedule{
        "ddim_uniform", ddim_names, "every so many entries, from the second on; starts below σ_max", {}, any, table_size, ddim_uniform},
    SigmaSchedule{"beta", {}, "entries at quantiles of a beta distribution (ComfyUI)", beta_options, any, table_size, beta},
    SigmaSchedule{"beta_a1111", beta_a1111_names, "quantiles of a beta distribution on σ (A1111, diffusers)", beta_a1111_options, any,
                  unlimited, beta_a1111},
    SigmaSchedule{
        "linear_quadratic", {}, "Mochi: even small steps, then quadratic ones", quadratic_options, any, unlimited, linear_quadratic},
    SigmaSchedule{"kl_optimal", {}, "even in atan σ, then 0 (ComfyUI)", ends, any, unlimited, kl_optimal},
    SigmaSchedule{"kl_optimal_a1111", {}, "even in atan σ, ends at the least σ (A1111)", ends, any, unlimited, kl_optimal_a1111},
    SigmaSchedule{
        "laplace", {}, "quantiles of a Laplace distribution in ln σ, ends at the least σ", laplace_options, any, unlimited, laplace},
    SigmaSchedule{"vp", {}, "even in the time of a continuous VP process", vp_options, exploding, unlimited, vp},
    SigmaSchedule{"turbo", turbo_names, "SD-Turbo: every so many entries, from the last", {}, any, table_size, turbo},
    SigmaSchedule{"lcm", {}, "some of the times that a consistency model was distilled at", lcm_options, any, table_size, lcm},
    SigmaSchedule{"smoothstep", {}, "entries along a smooth step", {}, any, table_size, smoothstep},
    SigmaSchedule{"bong_tangent", {}, "two arctangent ramps", {}, any, unlimited, bong_tangent},
    SigmaSchedule{"ays", ays_names, "Align Your Steps, for SD 1.5", {}, exploding, unlimited, published<ays_sd15>},
    SigmaSchedule{"ays_sdxl", ays_sdxl_names, "Align Your Steps, for SDXL", {}, exploding, unlimited, published<ays_sdxl>},
    SigmaSchedule{"ays_svd", ays_svd_names, "Align Your Steps, for Stable Video Diffusion", {}, exploding, unlimited, published<ays_svd>},
    SigmaSchedule{"ays_11",
                  ays_11_names,
                  "the same for SD 1.5 in A1111's form: n points, then 0",
                  {},
                  exploding,
                  unlimited,
                  published_a1111<ays_a1111_sd15>},
    SigmaSchedule{"ays_sdxl_11", {}, "the same for SDXL", {}, exploding, unlimited, published_a1111<ays_a1111_sdxl>},
    SigmaSchedule{
        "ays_32", ays_32_names, "the table of 32 values for SD 1.5, A1111's form", {}, exploding, unlimited, published_a1111<ays_32_sd15>},
    SigmaSchedule{
        "ays_32_sdxl", {}, "the table of 32 values for SDXL, A1111's form", {}, exploding, unlimited, published_a1111<ays_32_sdxl>},
    SigmaSchedule{"gits", gits_names, "GITS, for SD 1.5", {}, exploding, unlimited, published<gits_sd15>},
    SigmaSchedule{"gits_a1111", {}, "the same in A1111's form: n points, then 0", {}, exploding, unlimited, published_a1111<gits_sd15>},
    SigmaSchedule{"gits_comfyui", gits_comfyui_names,
                  "GITS, for SD 1.5: a table for each number of steps up to 20 (ComfyUI, stable-diffusion.cpp)", gits_options, exploding,
                  unlimited, gits},
    SigmaSchedule{"gits_sdxl", {}, "GITS, for SDXL", {}, exploding, unlimited, published<gits_sdxl>},
    SigmaSchedule{"gits_sdxl_a1111", {}, "the same in A1111's form", {}, exploding, unlimited, published_a1111<gits_sdxl>},
    SigmaSchedule{"flux", {}, "FLUX.1: shifted by the number of image tokens", flux_options, flow, unlimited, flux},
    SigmaSchedule{"flux2", {}, "FLUX.2: shifted by image tokens and steps", flux2_options, flow, unlimited, flux2},
    SigmaSchedule{"ltx", {}, "LTX-Video: shifted by tokens, stretched to end at 0.1", ltx_options, flow, unlimited, ltx},
    SigmaSchedule{"logit_normal", logit_names, "Ideogram 4: quantiles of a logit-normal distribution", logit_options, flow, unlimited,
                  logit_normal},
};

Options complete(const SigmaSchedule& s, const ModelSigmas& m, const Options& given) {
  Options all;
  std::vector<std::string_view> known;
  for (const ScheduleOption& o : s.options) {
    known.push_back(o.name);
    all.emplace(o.name, !std::isnan(o.value) ? o.value : o.name == "sigma_min" ? m.least() : m.most());
  }
  for (const auto& [name, value] : given) {
    const auto o =
        std::find_if(s.options.begin(), s.options.end(), [&, wanted = std::string_view(name)](const auto& k) { return k.name == wanted; });
    if (o == s.options.end())
      fail<UsageError>("schedule {}: option '{}' is unknown, expected {}", s.name, name,
                       known.empty() ? "none" : fmt::format("one of {}", fmt::join(known, ", ")));
    if (!(value >= o->least && value <= o->most))
      fail<UsageError>("schedule {}: {} is {}, expected {} to {}", s.name, name, value, o->least, o->most);
    all[name] = value;
  }
  if (all.contains("sigma_min") && all["sigma_min"] >= all["sigma_max"])
    fail<UsageError>("schedule {}: sigma_min is {}, expected less than sigma_max = {}", s.name, all["sigma_min"], all["sigma_max"]);
  if (m.family == SigmaFamily::flow && all.contains("sigma_max") && all["sigma_max"] > 1)
    fail<UsageError>("schedule {}: sigma_max is {}, expected at most 1 for a flow model", s.name, all["sigma_max"]);
  return all;
}

}  // namespace

ModelSigmas ModelSigmas::exploding(std::span<const float> sigmas) {
  ModelSigmas m{SigmaFamily::exploding, {sigmas.begin(), sigmas.end()}, {}, {}};
  m.sigma_at = [t = m.table](double time) {
    const double at = std::clamp(time, 0.0, double(t.size() - 1));
    const size_t low = size_t(at);
    if (at == double(low)) return t[low];
    return std::exp(std::lerp(std::log(t[low]), std::log(t[low + 1]), at - double(low)));
  };
  m.time_of = [t = m.table](double sigma) {
    if (sigma <= t.front()) return 0.0;
    if (sigma >= t.back()) return double(t.size() - 1);
    const auto low = size_t(std::upper_bound(t.begin(), t.end(), sigma) - t.begin() - 1);
    return double(low) + std::log(sigma / t[low]) / std::log(t[low + 1] / t[low]);
  };
  return m;
}

ModelSigmas ModelSigmas::flow(double shift, int64_t n) {
  ModelSigmas m{SigmaFamily::flow, {}, {}, {}};
  for (int64_t i = 1; i <= n; ++i) m.table.push_back(shifted(double(i) / double(n), shift));
  m.sigma_at = [shift, n](double time) { return shifted(time / double(n), shift); };
  m.time_of = [n](double sigma) { return sigma * double(n); };
  return m;
}

std::span<const SigmaSchedule> sigma_schedules() { return table; }

const SigmaSchedule* find_sigma_schedule(std::string_view name) {
  const std::string wanted = folded(name);
  for (const SigmaSchedule& s : table) {
    if (folded(s.name) == wanted) return &s;
    for (const std::string_view alias : s.aliases)
      if (folded(alias) == wanted) return &s;
  }
  return nullptr;
}

Values make_sigmas(const SigmaSchedule& s, const ModelSigmas& m, int64_t n, const ScheduleOptions& options) {
  const auto N = int64_t(m.table.size());
  if (n < 1) fail<UsageError>("steps: got {}, expected at least 1", n);
  if (s.most_steps == table_size && n > N)
    fail<UsageError>("steps: got {}, expected at most {}: {} uses entries of the model's noise table", n, N, s.name);
  if (s.models == exploding && m.family == SigmaFamily::flow)
    fail<UsageError>("schedule {}: does not support flow models, whose sigmas are at most 1", s.name);
  if (s.models == flow && m.family != SigmaFamily::flow) fail<UsageError>("schedule {}: supports only flow models", s.name);
  return s.make(m, n, complete(s, m, options));
}

void check_sigmas(std::span<const double> sigmas, SigmaFamily family, bool open_end) {
  if (sigmas.size() < 2) fail<UsageError>("sigmas: got {} values, expected at least 2: the start and the end of the run", sigmas.size());
  for (size_t i = 0; i < sigmas.size(); ++i) {
    if (!std::isfinite(sigmas[i]) || sigmas[i] < 0)
      fail<UsageError>("sigmas: value {} is {}, expected a number of at least 0", i + 1, sigmas[i]);
    if (i > 0 && sigmas[i] >= sigmas[i - 1])
      fail<UsageError>("sigmas: value {} is {} after {}, expected each below the one before", i + 1, sigmas[i], sigmas[i - 1]);
  }
  if (family == SigmaFamily::flow && sigmas[0] > 1)
    fail<UsageError>("sigmas: the first is {}, expected at most 1 for a flow model", sigmas[0]);
  if (!open_end && sigmas.back() != 0) fail<UsageError>("sigmas: the last is {}, expected 0", sigmas.back());
}

}  // namespace hearth::sampling
