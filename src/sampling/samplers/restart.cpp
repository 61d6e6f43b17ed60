#include <algorithm>
#include <cmath>

#include "sampling/schedules/sigma_schedules.h"
#include "sampling/steps/heun_step.h"

namespace hearth::sampling {
namespace {

double ratio(const Level& level) { return level.sigma / level.alpha; }

// n noise levels of Karras et al. 2022 between two, without a final 0.
std::vector<Level> ramp(const Path& path, double low, double high, int64_t n) {
  const ModelSigmas ends{.family = SigmaFamily::exploding, .table = {low, high}, .sigma_at = {}, .time_of = {}};
  Values sigmas = make_sigmas(*find_sigma_schedule("karras"), ends, n, {});
  sigmas.resize(size_t(n));
  std::vector<Level> levels;
  for (const double sigma : sigmas) levels.push_back(path.at(sigma));
  return levels;
}

size_t nearest(const std::vector<Level>& levels, double wanted) {
  const auto distance = [&](const Level& l) { return std::abs(ratio(l) - wanted); };
  return size_t(std::ranges::min_element(levels, {}, distance) - levels.begin());
}

// Xu et al. 2023 (arXiv 2306.14878), as in A1111: from 20 steps on, some steps are spent on restarts. When σ/α is near 0.1,
// noise raises x to about 2, and a Karras ramp goes down again: once with 9 steps, or from 36 steps on twice with a quarter of all steps.
Schedule restarting(const Schedule& schedule, const Options&) {
  const auto n = int64_t(schedule.steps.size());
  if (n < 20) return schedule;
  const int64_t length = n >= 36 ? n / 4 : 9, times = n >= 36 ? 2 : 1;
  const Path& path = schedule.path;
  std::vector<Level> levels =
      ramp(path, path.coordinate(schedule.steps.back().from), path.coordinate(schedule.steps.front().from), n - length * times);
  levels.push_back(schedule.steps.back().to);
  const size_t low = nearest(levels, 0.1), high = nearest(levels, 2);
  Schedule plan = schedule;
  plan.steps.clear();
  const auto walk = [&](const std::vector<Level>& way, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) plan.steps.push_back({way[i], way[i], way[i + 1]});
  };
  walk(levels, 0, low);
  if (high < low) {
    const std::vector<Level> again = ramp(path, path.coordinate(levels[low]), path.coordinate(levels[high]), length + 1);
    for (int64_t k = 0; k < times; ++k) walk(again, 0, size_t(length));
  }
  walk(levels, low, levels.size() - 1);
  return plan;
}

// Before Heun's step, noise raises x from where the last step ended.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  if (s.step > 0) {
    const Level& before = run.schedule.steps[size_t(s.step) - 1].to;
    if (before.sigma < from.sigma) {
      const double keep = from.alpha / before.alpha, left = keep * before.sigma;
      const Tensor kept = keep == 1 ? s.x : combine({s.x}, {keep});
      s.x = run.add_noise(kept, run.option("s_noise") * std::sqrt(from.sigma * from.sigma - left * left));
    }
  }
  s.x = heun_step(run, s.x, from, to);
}

}  // namespace

std::vector<Sampler> restart_rows() {
  return {{.name = "restart",
           .aliases = {"Restart"},
           .summary = "Heun with restarts at a higher noise level; from 20 steps on uses only the schedule's ends and step count",
           .order = 2,
           .calls = "2 per sub-step",
           .draws = Draws::always,
           .schedule = "karras",
           .options = {{.name = "s_noise", .summary = "factor of the step noise", .standard = 1}},
           .programs = {.a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step,
           .prepare = restarting}};
}

}  // namespace hearth::sampling
