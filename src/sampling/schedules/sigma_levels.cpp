#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sampling/schedules/class_levels.h"
#include "sampling/schedules/spacing.h"
#include "sampling/schedules/special_functions.h"

namespace hearth::sampling {
namespace {

using enum SchedulerClass;

bool exploding(SchedulerClass c) {
  return c == euler || c == euler_ancestral || c == heun || c == lms || c == kdpm2 || c == kdpm2_ancestral || c == dpm_sde;
}

Values at_timesteps(const NoiseTable& table, const Values& timesteps) {
  Values sigmas;
  for (const double t : timesteps) sigmas.push_back(table.sigma_at(t));
  return sigmas;
}

Values timesteps_of(const NoiseTable& table, const Values& sigmas) {
  Values t;
  for (const double s : sigmas) t.push_back(table.timestep_of(s));
  return t;
}

struct Levels {
  Values sigmas, timesteps;  // n each; then the end of the run
  double end = 0;
};

// Lu et al. 2022 (arXiv 2206.00927): evenly spaced in ln σ, between the ends of the table.
Values uniform_in_lambda(const NoiseTable& table, int64_t n) {
  const double high = double(table.log_sigmas.back()), low = double(table.log_sigmas.front());
  Values sigmas = linspace(0, 1, n);
  for (double& s : sigmas) s = std::exp(high + s * (low - high));
  return sigmas;
}

Levels exploding_levels(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  Levels l;
  l.timesteps = c.scheduler == dpm_sde ? spaced_timesteps(c, n) : as_f32(spaced_timesteps(c, n));
  l.sigmas = at_timesteps(table, l.timesteps);
  if (c.log_linear) {  // over n + 1 points: the run always ends at σ_min
    l.sigmas.clear();
    for (const float v : linspace_f32(double(table.log_sigmas.back()), double(table.log_sigmas.front()), n + 1))
      l.sigmas.push_back(double(std::exp(v)));
  }
  if (c.curve != Curve::spacing) {
    const bool spacing_ends = c.curve == Curve::karras && (c.scheduler == lms || c.scheduler == dpm_sde);  // independent of the file
    const double low = spacing_ends ? l.sigmas.back() : c.sigma_min.value_or(l.sigmas.back());
    const double high = spacing_ends ? l.sigmas.front() : c.sigma_max.value_or(l.sigmas.front());
    l.sigmas = curved(c.curve, low, high, n);
    l.timesteps = timesteps_of(table, l.sigmas);
    if (c.curve == Curve::karras && (c.scheduler == kdpm2 || c.scheduler == kdpm2_ancestral)) l.timesteps = rounded(l.timesteps);
  }
  if (c.ends_at_sigma_min) l.end = double(table.sigmas.front());
  return l;
}

double flow_shift(const SchedulerConfig& c) { return c.dynamic_shift && c.mu ? shift_of(c.time_shift, *c.mu) : c.shift; }

// σ = shift·s/(1 + (shift − 1)·s) of s evenly spaced between 1 − 1/N (UniPC: 1) and 0, which is excluded.
Values flow_curve(const SchedulerConfig& c, int64_t n) {
  const auto N = double(c.num_train_timesteps);
  const double shift = flow_shift(c);
  Values sigmas = linspace(1, 1 / N, n + 1);
  if (c.scheduler == unipc) {
    sigmas.pop_back();
  } else {
    for (double& s : sigmas) s = 1 - s;
    std::reverse(sigmas.begin(), sigmas.end());
    sigmas.pop_back();
  }
  for (double& s : sigmas) s = shift * s / (1 + (shift - 1) * s);
  if (c.scheduler != unipc) return sigmas;
  if (c.shift_terminal) {
    sigmas.push_back(0);
    sigmas = stretched_to(sigmas, *c.shift_terminal);
    sigmas.pop_back();
  }
  if (std::abs(sigmas[0] - 1) < 1e-6) sigmas[0] -= 1e-6;
  return sigmas;
}

Levels preserving_levels(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  Levels l;
  const double low = c.sigma_min.value_or(double(table.sigmas.front())), high = c.sigma_max.value_or(double(table.sigmas.back()));
  switch (c.curve) {
    case Curve::spacing:
      l.timesteps = spaced_over_one_more(c, table, n);
      l.sigmas = at_timesteps(table, l.timesteps);
      break;
    case Curve::flow:
      l.sigmas = flow_curve(c, n);
      for (const double s : l.sigmas) l.timesteps.push_back(s * double(c.num_train_timesteps));
      break;
    case Curve::lu: l.sigmas = uniform_in_lambda(table, n); break;
    default: l.sigmas = curved(c.curve, low, high, n);
  }
  if (l.timesteps.empty() && c.prediction == Prediction::flow) {
    for (double& s : l.sigmas) l.timesteps.push_back((s /= s + 1) * double(c.num_train_timesteps));
  } else if (l.timesteps.empty()) {
    l.timesteps = timesteps_of(table, l.sigmas);
    const bool cosine = c.scheduler == dpmpp_multistep && c.beta_schedule == BetaSchedule::squaredcos_cap_v2;
    if ((c.curve == Curve::karras || c.curve == Curve::lu) && !cosine) l.timesteps = rounded(l.timesteps);
  }
  l.timesteps = whole_part(l.timesteps);

  const bool stays = c.scheduler == deis || c.scheduler == sa_solver;  // they end at the smallest σ, along a curve with a step of length 0
  const bool on_curve = c.curve != Curve::spacing && (stays || c.scheduler == unipc);
  if (stays || c.ends_at_sigma_min) l.end = on_curve ? l.sigmas.back() : double(table.sigmas.front());
  return l;
}

// A list of σ that includes the end of the run, unchanged; fractional timesteps.
Levels chosen_levels(const NoiseTable& table, Values sigmas) {
  Levels l;
  l.end = sigmas.back();
  sigmas.pop_back();
  l.timesteps = timesteps_of(table, sigmas);
  l.sigmas = std::move(sigmas);
  return l;
}

}  // namespace

bool has_sigma_levels(SchedulerClass c) {
  return exploding(c) || c == dpmpp_multistep || c == dpm_singlestep || c == unipc || c == deis || c == sa_solver;
}

Values curved(Curve curve, double sigma_min, double sigma_max, int64_t n, double rho) {
  Values sigmas = linspace(0, 1, n);
  if (curve == Curve::exponential) sigmas = linspace(std::log(sigma_max), std::log(sigma_min), n);
  const double low = std::pow(sigma_min, 1 / rho), high = std::pow(sigma_max, 1 / rho);
  for (double& s : sigmas) {
    if (curve == Curve::karras) s = std::pow(high + s * (low - high), rho);
    else if (curve == Curve::exponential) s = std::exp(s);
    else s = sigma_min + beta_quantile(1 - s, 0.6, 0.6) * (sigma_max - sigma_min);
  }
  return sigmas;
}

std::vector<Step> steps_along(const Values& sigmas, const Values& timesteps, MakeLevel level) {
  std::vector<Step> steps;
  for (size_t i = 0; i < timesteps.size(); ++i) {
    const Level at = level(double(float(sigmas[i])), float(timesteps[i]));
    const float next = i + 1 < timesteps.size() ? float(timesteps[i + 1]) : 0;
    steps.push_back({at, at, level(double(float(sigmas[i + 1])), next)});
  }
  return steps;
}

void sigma_levels(Schedule& schedule, const SchedulerConfig& c, const NoiseTable& table, const ScheduleChoice& choice, int64_t n) {
  const bool flow = c.prediction == Prediction::flow;
  schedule.path = {.family = exploding(c.scheduler) ? Family::exploding
                             : flow                 ? Family::flow
                                                    : Family::preserving,
                   .times = c.continuous_timesteps ? Times::quarter_log
                            : flow                 ? Times::proportional
                                                   : Times::table,
                   .multiplier = double(c.num_train_timesteps),
                   .table = std::make_shared<const NoiseTable>(table)};
  Levels l;
  if (choice.gives_sigmas() && flow) {
    l = chosen_levels(table, choice.make(ModelSigmas::flow(flow_shift(c), c.num_train_timesteps), n));
    for (size_t i = 0; i < l.sigmas.size(); ++i) l.timesteps[i] = l.sigmas[i] * double(c.num_train_timesteps);
  } else if (choice.gives_sigmas()) {
    l = chosen_levels(table, choice.make(ModelSigmas::exploding(table.sigmas), n));
  } else {
    l = exploding(c.scheduler) ? exploding_levels(c, table, n) : preserving_levels(c, table, n);
  }
  l.sigmas.resize(c.log_linear && c.curve == Curve::spacing && !choice.gives_sigmas() ? l.timesteps.size() + 1 : l.timesteps.size());
  l.sigmas.push_back(l.end);
  if (c.continuous_timesteps) {  // for all σ, including log-linear's n + 1
    l.timesteps.clear();
    for (size_t i = 0; i + 1 < l.sigmas.size(); ++i) l.timesteps.push_back(0.25 * double(std::log(float(l.sigmas[i]))));
  }
  const MakeLevel level = schedule.path.family == Family::flow ? Level::flow
                          : exploding(c.scheduler)             ? Level::exploding
                                                               : Level::preserving;
  schedule.steps = steps_along(l.sigmas, l.timesteps, level);
  if (!exploding(c.scheduler)) return;
  float sigma_max = 0;
  for (const Step& step : schedule.steps) sigma_max = std::max(sigma_max, float(step.at.sigma));
  schedule.init_scale = c.spacing == Spacing::leading ? std::sqrt(sigma_max * sigma_max + 1) : sigma_max;
}

}  // namespace hearth::sampling
