#include "sampling/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "sampling/names.h"

namespace hearth::sampling {
namespace {

using Values = std::vector<double>;

// In f64, as numpy.linspace.
Values linspace(double from, double to, int64_t n) {
  Values values;
  const double step = n > 1 ? (to - from) / double(n - 1) : 0;
  for (int64_t i = 0; i < n; ++i) values.push_back(double(i) * step + from);
  return values;
}

// Lin et al. 2023 (arXiv 2305.08891), table 2: largest first.
Values leading(int64_t train, int64_t n, int64_t offset) {
  Values t;
  const int64_t ratio = train / n;
  for (int64_t i = n - 1; i >= 0; --i) t.push_back(double(i * ratio + offset));
  return t;
}

Values trailing(int64_t first, double ratio) {
  Values t;
  const double start = double(first), step = (start - ratio) - start;  // the step of numpy.arange has been rounded by the sum
  const auto count = int64_t(std::ceil(-start / -ratio));
  for (int64_t i = 0; i < count; ++i) t.push_back(std::nearbyint(start + double(i) * step) - 1);
  while (!t.empty() && t.back() < 0) t.pop_back();
  return t;
}

Values linspace_downwards(int64_t train, int64_t n) {
  Values t = linspace(0, double(train - 1), n);
  std::reverse(t.begin(), t.end());
  return t;
}

Values rounded(Values t) {
  for (double& v : t) v = std::nearbyint(v);
  return t;
}

Values as_f32(Values t) {
  for (double& v : t) v = double(float(v));
  return t;
}

Values spaced_timesteps(const SchedulerConfig& c, int64_t n) {
  switch (c.spacing) {
    case Spacing::leading: return leading(c.num_train_timesteps, n, c.steps_offset);
    case Spacing::trailing: return trailing(c.num_train_timesteps, double(c.num_train_timesteps) / double(n));
    case Spacing::linspace: return linspace_downwards(c.num_train_timesteps, n);
  }
  return {};
}

// DPM++ spaces over n + 1 points and leaves out the last, and stops where λ would fall below lambda_min_clipped.
Values spaced_timesteps_dpmpp(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  const auto log_snr = [](float alpha_bar) { return std::log(std::sqrt(alpha_bar)) - std::log(std::sqrt(1 - alpha_bar)); };
  const auto& bars = table.alphas_cumprod;
  const auto last = int64_t(std::count_if(bars.begin(), bars.end(), [&](float a) { return double(log_snr(a)) >= c.lambda_min_clipped; }));
  if (c.spacing == Spacing::trailing) return trailing(last, double(c.num_train_timesteps) / double(n));
  Values t = c.spacing == Spacing::leading ? leading(last, n + 1, c.steps_offset) : rounded(linspace_downwards(last, n + 1));
  t.pop_back();
  return t;
}

Values karras_sigmas(double sigma_min, double sigma_max, int64_t n) {
  constexpr double rho = 7;
  const double low = std::pow(sigma_min, 1 / rho), high = std::pow(sigma_max, 1 / rho);
  Values sigmas = linspace(0, 1, n);
  for (double& s : sigmas) s = std::pow(high + s * (low - high), rho);
  return sigmas;
}

Level table_level(const SchedulerConfig& c, const NoiseTable& table, int64_t t) {
  if (t < 0) return Level::of_alpha_bar(c.set_alpha_to_one ? 1.0 : double(table.alphas_cumprod.front()), 0);
  t = std::min(t, table.size() - 1);
  return Level::of_alpha_bar(double(table.alphas_cumprod[size_t(t)]), float(t));
}

std::vector<Step> ddim_steps(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  std::vector<Step> steps;
  for (const double t : rounded(spaced_timesteps(c, n))) {
    const Level at = table_level(c, table, int64_t(t));
    steps.push_back({at, at, table_level(c, table, int64_t(t) - c.num_train_timesteps / n)});
  }
  return steps;
}

// The second call repeats the first step with the average of two evaluations; its levels are counted from its own timestep.
std::vector<Step> plms_steps(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  std::vector<Step> steps = ddim_steps(c, table, n);
  if (steps.size() < 2) return steps;
  const auto t = int64_t(rounded(spaced_timesteps(c, n))[1]);
  const Level again = table_level(c, table, t);
  steps.insert(steps.begin() + 1, {again, table_level(c, table, t + c.num_train_timesteps / n), again});
  return steps;
}

std::vector<Step> sigma_steps(const Values& sigmas, const Values& timesteps, Level (*level)(double, float)) {
  std::vector<Step> steps;
  for (size_t i = 0; i < timesteps.size(); ++i) {
    const Level at = level(double(float(sigmas[i])), float(timesteps[i]));
    const float next = i + 1 < timesteps.size() ? float(timesteps[i + 1]) : 0;
    steps.push_back({at, at, level(double(float(sigmas[i + 1])), next)});
  }
  return steps;
}

Values sigmas_at(const NoiseTable& table, const Values& timesteps) {
  Values sigmas;
  for (const double t : timesteps) sigmas.push_back(table.sigma_at(t));
  return sigmas;
}

Values timesteps_of(const NoiseTable& table, const Values& sigmas) {
  Values t;
  for (const double s : sigmas) t.push_back(table.timestep_of(s));
  return t;
}

std::vector<Step> euler_steps(const SchedulerConfig& c, const NoiseTable& table, ScheduleKind kind, int64_t n) {
  Values t = as_f32(spaced_timesteps(c, n));
  Values sigmas = sigmas_at(table, t);
  if (c.log_linear) {  // over n + 1 points: the run ends at σ_min, whatever follows
    const std::vector<float> logs = linspace_f32(double(table.log_sigmas.back()), double(table.log_sigmas.front()), n + 1);
    sigmas.clear();
    for (const float l : logs) sigmas.push_back(double(std::exp(l)));
  }
  if (c.karras || kind == ScheduleKind::karras) {
    sigmas = karras_sigmas(c.sigma_min.value_or(sigmas.back()), c.sigma_max.value_or(sigmas.front()), n);
    t = timesteps_of(table, sigmas);
  }
  sigmas.push_back(c.ends_at_sigma_min ? double(table.sigmas.front()) : 0);
  if (c.continuous_timesteps) {
    t.clear();
    for (size_t i = 0; i + 1 < sigmas.size(); ++i) t.push_back(0.25 * double(std::log(float(sigmas[i]))));
  }
  return sigma_steps(sigmas, t, Level::exploding);
}

std::vector<Step> dpmpp_steps(const SchedulerConfig& c, const NoiseTable& table, ScheduleKind kind, int64_t n) {
  Values t, sigmas;
  if (c.karras || kind == ScheduleKind::karras) {
    sigmas = karras_sigmas(c.sigma_min.value_or(double(table.sigmas.front())), c.sigma_max.value_or(double(table.sigmas.back())), n);
    t = timesteps_of(table, sigmas);
    if (c.beta_schedule != BetaSchedule::squaredcos_cap_v2) t = rounded(t);
    for (double& v : t) v = std::trunc(v);
  } else {
    t = spaced_timesteps_dpmpp(c, table, n);
    sigmas = sigmas_at(table, t);
  }
  sigmas.push_back(c.ends_at_sigma_min ? double(table.sigmas.front()) : 0);
  return sigma_steps(sigmas, t, Level::preserving);
}

Path path_of(const SchedulerConfig& c, const NoiseTable& table) {
  const bool exploding = c.scheduler == SchedulerClass::euler || c.scheduler == SchedulerClass::euler_ancestral;
  return {.family = exploding ? Family::exploding : Family::preserving,
          .times = c.continuous_timesteps ? Times::quarter_log : Times::table,
          .table = std::make_shared<const NoiseTable>(table)};
}

void check_steps(const SchedulerConfig& c, ScheduleKind kind, int64_t n) {
  using enum SchedulerClass;
  if (n < 1) fail<UsageError>("steps: got {}, needed at least 1", n);
  const bool sigma_class = c.scheduler == euler || c.scheduler == euler_ancestral || c.scheduler == dpmpp_multistep;
  const bool karras = kind == ScheduleKind::karras || c.karras;
  if (sigma_class && c.spacing == Spacing::linspace) return;
  if (karras && (c.scheduler == dpmpp_multistep || c.scheduler == ddim)) return;
  const bool one_more = c.scheduler == dpmpp_multistep && c.spacing == Spacing::leading;
  const int64_t most = c.num_train_timesteps - (one_more ? 1 : 0);
  if (n > most)
    fail<UsageError>("steps: got {}, needed at most {}: {} takes each of the {} training timesteps at most once here", n, most,
                     name_of(c.scheduler), c.num_train_timesteps);
}

constexpr std::array schedules{
    ScheduleName{"default", "what the checkpoint's scheduler configuration says"},
    ScheduleName{"karras", "Karras et al. 2022: evenly spaced in σ^(1/7)"},
};
constexpr std::array<std::string_view, 20> known_schedules{
    "normal",     "exponential",     "sgm_uniform",  "simple", "ddim_uniform", "beta",   "linear_quadratic",
    "kl_optimal", "polyexponential", "laplace",      "vp",     "turbo",        "ays",    "align_your_steps",
    "gits",       "smoothstep",      "bong_tangent", "lcm",    "automatic",    "uniform"};

}  // namespace

std::vector<float> Schedule::timesteps() const {
  std::vector<float> t;
  for (const Step& step : steps) t.push_back(step.at.timestep);
  return t;
}

std::vector<float> Schedule::sigmas() const {
  std::vector<float> sigmas;
  for (const Step& step : steps) sigmas.push_back(float(step.at.sigma / step.at.alpha));
  if (!steps.empty()) sigmas.push_back(float(steps.back().to.sigma / steps.back().to.alpha));
  return sigmas;
}

std::span<const ScheduleName> schedule_names() { return schedules; }

ScheduleKind find_schedule(std::string_view name) {
  const std::string wanted = folded(name);
  if (wanted == "default") return ScheduleKind::standard;
  if (wanted == "karras") return ScheduleKind::karras;
  for (const std::string_view known : known_schedules)
    if (folded(known) == wanted) fail<UnsupportedError>("schedule '{}' is known but not built yet; built: default, karras", known);
  fail<UsageError>("schedule '{}' is unknown; known: default, karras", name);
}

Schedule make_schedule(const SchedulerConfig& c, ScheduleKind kind, int64_t n) {
  using enum SchedulerClass;
  check_steps(c, kind, n);
  const NoiseTable table(c);
  Schedule schedule{.steps = {}, .init_scale = 1, .prediction = c.prediction, .path = path_of(c, table), .clip = c.clip};
  switch (c.scheduler) {
    case pndm:
      if (kind == ScheduleKind::karras)
        fail<UnsupportedError>("schedule 'karras' does not go with plms, whose weights hold for evenly spaced timesteps; needed 'default'");
      schedule.steps = plms_steps(c, table, n);
      break;
    case ddim:
      if (kind == ScheduleKind::karras) {
        SchedulerConfig sigma_form = c;  // whose table has a finite σ at zero terminal SNR
        sigma_form.scheduler = dpmpp_multistep;
        schedule.steps = dpmpp_steps(sigma_form, NoiseTable(sigma_form), kind, n);
      } else {
        schedule.steps = ddim_steps(c, table, n);
      }
      break;
    case euler:
    case euler_ancestral: {
      schedule.steps = euler_steps(c, table, kind, n);
      float sigma_max = 0;
      for (const Step& step : schedule.steps) sigma_max = std::max(sigma_max, float(step.at.sigma));
      schedule.init_scale = c.spacing == Spacing::leading ? std::sqrt(sigma_max * sigma_max + 1) : sigma_max;
      break;
    }
    case dpmpp_multistep:
      schedule.steps = dpmpp_steps(c, table, kind, n);
      schedule.first_order_last = c.euler_at_final || !c.ends_at_sigma_min || (c.lower_order_final && schedule.steps.size() < 15);
      break;
  }
  if (c.prediction == Prediction::epsilon)
    for (const Step& step : schedule.steps)
      if (step.at.alpha == 0)
        fail<UnsupportedError>(
            "schedule: timestep {} has no signal (zero terminal SNR), where ε-prediction cannot tell x₀; needed v_prediction, sample or "
            "leading spacing",
            step.at.timestep);
  return schedule;
}

}  // namespace hearth::sampling
