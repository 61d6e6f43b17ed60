#include "sampling/a1111_times.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace hearth::sampling {
namespace {

std::vector<int64_t> timesteps_of(const Sampler& sampler, int64_t size, int64_t n, int64_t least) {
  if (n < 1 || n > size) fail<UsageError>("steps: got {}, A1111's {} needs 1 to {}", n, sampler.name, size);
  std::vector<int64_t> t;
  for (int64_t k = 0; k < size; k += size / n) t.push_back(std::min(k + 1, size - 1));
  if (int64_t(t.size()) < least)
    fail<UsageError>("steps: got {}, A1111's {} makes {} times of it, needed at least {}", n, sampler.name, t.size(), least);
  return t;
}

Level at_timestep(const NoiseTable& table, int64_t t) { return Level::of_alpha_bar(double(table.alphas_cumprod[size_t(t)]), float(t)); }

// Entry k of the table is time (k + 1)/N.
Level at_time(const NoiseTable& table, double time) {
  const auto N = double(table.size());
  const double at = std::clamp(time * N - 1, 0.0, N - 1);
  const auto low = std::min(size_t(at), size_t(N) - 2);
  const auto log_bar = [&](size_t k) { return std::log(double(table.alphas_cumprod[k])); };
  return Level::of_alpha_bar(std::exp(std::lerp(log_bar(low), log_bar(low + 1), at - double(low))), float(at * 1000 / N));
}

}  // namespace

Schedule a1111_time_schedule(const SchedulerConfig& config, const Sampler& sampler, int64_t n) {
  const auto table = std::make_shared<const NoiseTable>(config.with_class(SchedulerClass::euler));
  Schedule s{.steps = {}, .prediction = config.prediction};
  s.path = {.family = Family::preserving, .times = Times::table, .table = table};
  const bool whole = sampler.a1111_levels == A1111Levels::timesteps;
  const std::vector<int64_t> t = timesteps_of(sampler, table->size(), n, whole ? 2 : 3);
  if (whole) {
    for (size_t i = t.size() - 1; i > 0; --i) {
      const Level from = at_timestep(*table, t[i]), to = at_timestep(*table, t[i - 1]);
      s.steps.push_back({from, from, to});
      if (i + 1 == t.size() && sampler.scheduler == SchedulerClass::pndm) s.steps.push_back({to, from, to});  // the first step again
    }
  } else {
    const auto count = double(t.size()), last = 1 / double(table->size());
    const auto time = [&](double i) { return std::lerp(1.0, last, i / count); };
    for (double i = 0; i < count; ++i) {
      const Level from = at_time(*table, time(i));
      s.steps.push_back({from, from, at_time(*table, time(i + 1))});
    }
  }
  return s;
}

}  // namespace hearth::sampling
