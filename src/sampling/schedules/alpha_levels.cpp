#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sampling/schedules/class_levels.h"
#include "sampling/schedules/spacing.h"

namespace hearth::sampling {
namespace {

using enum SchedulerClass;

Level table_level(const SchedulerConfig& c, const NoiseTable& table, int64_t t) {
  if (t < 0) return Level::of_alpha_bar(c.set_alpha_to_one ? 1.0 : double(table.alphas_cumprod.front()), -1);
  t = std::min(t, table.size() - 1);
  return Level::of_alpha_bar(double(table.alphas_cumprod[size_t(t)]), float(t));
}

std::vector<int64_t> whole_timesteps(const SchedulerConfig& c, int64_t n) {
  std::vector<int64_t> t;
  for (const double v : rounded(spaced_timesteps(c, n))) t.push_back(int64_t(v));
  return t;
}

// n of the timesteps that a consistency model was distilled on, evenly spaced.
std::vector<int64_t> distilled_timesteps(const SchedulerConfig& c, int64_t n) {
  const int64_t trained = c.original_steps, apart = c.num_train_timesteps / trained;
  std::vector<int64_t> t;
  for (const double i : linspace(0, double(trained), n + 1)) t.push_back((trained - int64_t(std::floor(i))) * apart - 1);
  t.pop_back();
  return t;
}

// Down by num_train_timesteps / n, independent of the next timestep of the list.
std::vector<Step> steps_down(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  std::vector<Step> steps;
  for (const int64_t t : whole_timesteps(c, n)) {
    const Level at = table_level(c, table, t);
    steps.push_back({at, at, table_level(c, table, t - c.num_train_timesteps / n)});
  }
  return steps;
}

// To the next timestep of the list, finally to `end`.
std::vector<Step> steps_between(const SchedulerConfig& c, const NoiseTable& table, const std::vector<int64_t>& timesteps,
                                const Level& end) {
  std::vector<Step> steps;
  for (size_t i = 0; i < timesteps.size(); ++i) {
    const Level at = table_level(c, table, timesteps[i]);
    steps.push_back({at, at, i + 1 < timesteps.size() ? table_level(c, table, timesteps[i + 1]) : end});
  }
  return steps;
}

// The second call repeats the first step with the average of two predictions; its noise levels are counted from its own timestep.
std::vector<Step> plms_steps(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  std::vector<Step> steps = steps_down(c, table, n);
  if (steps.size() < 2) return steps;
  const int64_t t = whole_timesteps(c, n)[1];
  const Level again = table_level(c, table, t);
  steps.insert(steps.begin() + 1, {again, table_level(c, table, t + c.num_train_timesteps / n), again});
  return steps;
}

// Three Runge–Kutta steps of four calls each, over the first four timesteps, then PLMS from the fourth.
std::vector<Step> pndm_steps(const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  const std::vector<int64_t> t = whole_timesteps(c, n);
  if (t.size() < 4)
    fail<UsageError>("steps: got {}, expected at least 4, because PNDMScheduler starts with Runge–Kutta steps over four timesteps", n);
  const int64_t half = c.num_train_timesteps / n / 2;
  const auto level = [&](int64_t timestep) { return table_level(c, table, timestep); };
  std::vector<Step> steps;
  for (size_t i = 0; i < 3; ++i) {
    const Level from = level(t[i]), middle = level(t[i + 1] + half);
    steps.push_back({from, from, level(t[i] - half)});
    steps.push_back({middle, from, middle});
    steps.push_back({middle, from, level(t[i + 1])});
    steps.push_back({level(t[i + 1]), from, level(t[i + 1])});
  }
  for (size_t i = 3; i < t.size(); ++i) steps.push_back({level(t[i]), level(t[i]), level(t[i] - c.num_train_timesteps / n)});
  return steps;
}

}  // namespace

bool has_alpha_levels(SchedulerClass c) {
  return c == pndm || c == ddim || c == ddpm || c == lcm || c == tcd || c == cogvideox_ddim || c == cogvideox_dpm;
}

void alpha_levels(Schedule& schedule, const SchedulerConfig& c, const NoiseTable& table, int64_t n) {
  schedule.path = {.family = Family::preserving, .times = Times::table, .table = std::make_shared<const NoiseTable>(table)};
  switch (c.scheduler) {
    case pndm:
      schedule.runge_kutta_calls = c.skips_prk ? 0 : 12;
      schedule.steps = c.skips_prk ? plms_steps(c, table, n) : pndm_steps(c, table, n);
      break;
    case ddpm: schedule.steps = steps_between(c, table, whole_timesteps(c, n), table_level(c, table, -1)); break;
    case lcm: schedule.steps = steps_between(c, table, distilled_timesteps(c, n), Level::preserving(0, 0)); break;
    case tcd: schedule.steps = steps_between(c, table, distilled_timesteps(c, n), table_level(c, table, 0)); break;
    default: schedule.steps = steps_down(c, table, n);
  }
}

}  // namespace hearth::sampling
