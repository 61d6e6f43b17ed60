#include "sampling/compat/a1111_times.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace hearth::sampling {
namespace {

constexpr int64_t least_of_unipc = 3;  // same as its order

std::vector<int64_t> timesteps_of(std::string_view sampler, int64_t size, int64_t n, int64_t least) {
  if (n < 1 || n > size) fail<UsageError>("steps: got {}, expected 1 to {} for A1111's {}", n, size, sampler);
  std::vector<int64_t> t;
  for (int64_t k = 0; k < size; k += size / n) t.push_back(std::min(k + 1, size - 1));
  if (int64_t(t.size()) < least)
    fail<UsageError>("steps: got {}, which gives A1111's {} {} times, expected at least {}", n, sampler, t.size(), least);
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

// The given number of steps of equal length in time, from `start` to the table's first entry.
std::vector<Step> even_steps(const NoiseTable& table, double start, int64_t count) {
  const auto level = [&](int64_t i) { return at_time(table, std::lerp(start, 1 / double(table.size()), double(i) / double(count))); };
  std::vector<Step> steps;
  for (int64_t i = 0; i < count; ++i) steps.push_back({level(i), level(i), level(i + 1)});
  return steps;
}

constexpr int64_t trained = 1000, distilled = 50, apart = trained / distilled;

}  // namespace

float DistilledLevels::timestep_of(double sigma) const {
  const auto distance = [&](float s) { return std::abs(float(std::log(sigma)) - std::log(s)); };
  const auto nearest = std::ranges::min_element(sigmas, {}, distance);
  return float((nearest - sigmas.begin()) * apart + apart - 1);
}

DistilledLevels a1111_distilled_levels(const NoiseTable& table, Prediction prediction) {
  if (table.size() != trained)
    fail<UnsupportedError>("sampler 'lcm': A1111's supports {} training timesteps, the checkpoint has {}", trained, table.size());
  if (prediction != Prediction::epsilon)
    fail<UnsupportedError>("sampler 'lcm': A1111's supports only ε-prediction, which this network does not have, expected another sampler");
  DistilledLevels levels;
  for (int64_t t = apart - 1; t < trained; t += apart) levels.sigmas.push_back(table.sigmas[size_t(t)]);
  return levels;
}

Schedule a1111_time_schedule(const SchedulerConfig& config, const Sampler& sampler, int64_t n) {
  const auto table = std::make_shared<const NoiseTable>(config.with_class(SchedulerClass::euler));
  Schedule s{.steps = {}, .prediction = config.prediction};
  s.path = {.family = Family::preserving, .times = Times::table, .table = table};
  const bool whole = sampler.a1111_levels == A1111Levels::timesteps;
  const std::vector<int64_t> t = timesteps_of(sampler.name, table->size(), n, whole ? 2 : least_of_unipc);
  if (whole) {
    for (size_t i = t.size() - 1; i > 0; --i) {
      const Level from = at_timestep(*table, t[i]), to = at_timestep(*table, t[i - 1]);
      s.steps.push_back({from, from, to});
      if (i + 1 == t.size() && sampler.scheduler == SchedulerClass::pndm) s.steps.push_back({to, from, to});  // the first step again
    }
  } else {
    s.steps = even_steps(*table, 1, int64_t(t.size()));
  }
  return s;
}

Rest a1111_even_rest(const Schedule& whole, int64_t n, int64_t times) {
  const NoiseTable& table = *whole.path.table;
  const std::vector<int64_t> t = timesteps_of("uni_pc", table.size(), n, least_of_unipc);
  if (times < least_of_unipc || times >= int64_t(t.size()))
    fail<UsageError>("strength: leaves {} of A1111's times, expected {} to {}", times, least_of_unipc, t.size() - 1);
  const Level noisy = at_timestep(table, t[size_t(times)]);
  Rest rest{whole, {noisy, noisy.sigma}};
  rest.schedule.steps = even_steps(table, double(t[size_t(times) - 1] + 1) / double(table.size()), times);
  return rest;
}

}  // namespace hearth::sampling
