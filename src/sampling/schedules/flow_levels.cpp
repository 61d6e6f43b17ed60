#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "sampling/schedules/class_levels.h"
#include "sampling/schedules/spacing.h"

namespace hearth::sampling {
namespace {

double shift_in_use(const SchedulerConfig& c) {
  if (!c.dynamic_shift) return c.shift;
  if (!c.mu)
    fail<UsageError>("schedule: {} shifts by the image's size (use_dynamic_shifting), expected a value for mu", name_of(c.scheduler));
  return shift_of(c.time_shift, *c.mu);
}

// As in the classes: between the ends of the shifted table, and shifted (again); or of even times.
Values class_sigmas(const SchedulerConfig& c, double shift, int64_t n) {
  const auto N = double(c.num_train_timesteps);
  const auto end = [&](float t) {
    const float s = t / float(N), k = float(c.shift);
    return c.dynamic_shift ? double(s) : double(k * s / (1 + (k - 1) * s));
  };
  Values sigmas = c.even_times ? flow_times(n) : linspace(end(float(N)) * N, end(1) * N, n);
  if (!c.even_times)
    for (double& s : sigmas) s /= N;
  for (double& s : sigmas) s = c.dynamic_shift ? shift / (shift + (1 / s - 1)) : shifted(s, shift);
  if (c.shift_terminal) {
    sigmas.push_back(0);
    sigmas = stretched_to(sigmas, *c.shift_terminal);
    sigmas.pop_back();
  }
  if (c.curve != Curve::spacing) sigmas = curved(c.curve, c.sigma_min.value_or(sigmas.back()), c.sigma_max.value_or(sigmas.front()), n);
  sigmas.push_back(0);
  return sigmas;
}

}  // namespace

void flow_levels(Schedule& schedule, const SchedulerConfig& c, const ScheduleChoice& choice, int64_t n) {
  const double shift = shift_in_use(c);
  const auto N = float(c.num_train_timesteps);
  const bool reverse = c.prediction == Prediction::reverse_flow;
  schedule.path = {.family = Family::flow, .times = Times::proportional, .multiplier = double(N), .shift = shift};
  const Values sigmas = choice.gives_sigmas() ? choice.make(ModelSigmas::flow(shift, c.num_train_timesteps), n) : class_sigmas(c, shift, n);
  Values timesteps;
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) timesteps.push_back(double((reverse ? 1 - float(sigmas[i]) : float(sigmas[i])) * N));
  schedule.steps = steps_along(sigmas, timesteps, Level::flow);
  if (reverse) {
    schedule.path.times = Times::reversed;
    schedule.steps.back().to.timestep = N;
  }
}

// Karras et al. 2022 (arXiv 2206.00364): no table, the timestep is ln(σ)/4.
void edm_levels(Schedule& schedule, const SchedulerConfig& c, const ScheduleChoice& choice, int64_t n) {
  schedule.path = {.family = Family::exploding, .times = Times::quarter_log, .sigma_min = *c.sigma_min, .sigma_max = *c.sigma_max};
  Values sigmas;
  if (choice.gives_sigmas()) {
    std::vector<float> entries;
    for (const double s : curved(Curve::exponential, *c.sigma_max, *c.sigma_min, c.num_train_timesteps)) entries.push_back(float(s));
    sigmas = choice.make(ModelSigmas::exploding(entries), n);
  } else {
    if (c.curve == Curve::karras) {
      sigmas = curved(Curve::karras, *c.sigma_min, *c.sigma_max, n, c.rho);
    } else {  // ascending, then reversed: a single step gives the smallest σ
      for (const float v : linspace_f32(std::log(*c.sigma_min), std::log(*c.sigma_max), n)) sigmas.push_back(double(std::exp(v)));
      std::reverse(sigmas.begin(), sigmas.end());
    }
    const bool end = c.ends_at_sigma_min;
    sigmas.push_back(!end ? 0 : c.scheduler == SchedulerClass::edm_dpm ? *c.sigma_min : sigmas.back());
  }
  Values timesteps;
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) timesteps.push_back(double(0.25f * std::log(float(sigmas[i]))));
  schedule.steps = steps_along(sigmas, timesteps, Level::exploding);
  schedule.init_scale = float(std::sqrt(*c.sigma_max * *c.sigma_max + 1));
  if (choice.gives_sigmas()) schedule.init_scale = float(sigmas[0]);
}

void trigflow_levels(Schedule& schedule, const SchedulerConfig& c, int64_t n) {
  const Values angles = trigflow_angles(n);
  schedule.path.family = Family::preserving;
  const auto level = [](double angle) { return Level{std::cos(angle), std::sin(angle), float(angle)}; };
  for (size_t i = 0; i + 1 < angles.size(); ++i) schedule.steps.push_back({level(angles[i]), level(angles[i]), level(angles[i + 1])});
  schedule.init_scale = float(c.sigma_data);
}

// σ = sin²(πs/2) and α = √(1 − σ²), s evenly spaced from 1 to 0; the timestep is the angle between them, in units of a right angle.
void ipndm_levels(Schedule& schedule, int64_t n) {
  schedule.path.family = Family::preserving;
  std::vector<Level> levels;
  for (int64_t i = 0; i <= n; ++i) {
    const float part = i < n ? linspace_f32(1, 0, n + 1)[size_t(i)] : 0;
    const float root = std::sin(part * float(std::numbers::pi) / 2), sigma = root * root, alpha = std::sqrt(1 - sigma * sigma);
    levels.push_back({double(alpha), double(sigma), std::atan2(sigma, alpha) / float(std::numbers::pi) * 2});
  }
  for (size_t i = 0; i + 1 < levels.size(); ++i) schedule.steps.push_back({levels[i], levels[i], levels[i + 1]});
}

// Pernias et al. 2023 (arXiv 2306.00637): a cosine in continuous time; the timestep is that time, from 1 down to but excluding 0.
void wuerstchen_levels(Schedule& schedule, const SchedulerConfig& c, int64_t n) {
  schedule.path.family = Family::preserving;
  const auto alpha_bar = [&](double t) {
    const double root = std::cos((t + c.offset) / (1 + c.offset) * std::numbers::pi / 2);
    return root * root;
  };
  const std::vector<float> times = linspace_f32(1, 0, n + 1);
  const auto level = [&](float t) {
    double at = double(t);
    if (c.scaler > 1) at = 1 - std::pow(1 - at, c.scaler);
    if (c.scaler < 1) at = std::pow(at, c.scaler);
    return Level::of_alpha_bar(double(float(std::clamp(alpha_bar(at) / alpha_bar(0), 0.0001, 0.9999))), t);
  };
  for (size_t i = 0; i + 1 < times.size(); ++i) schedule.steps.push_back({level(times[i]), level(times[i]), level(times[i + 1])});
}

}  // namespace hearth::sampling
