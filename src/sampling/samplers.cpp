#include "sampling/samplers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "ops/pointwise.h"
#include "sampling/compat/scheduler_samplers.h"
#include "sampling/guidance/guidance_methods.h"
#include "sampling/names.h"
#include "sampling/registry.h"

namespace hearth::sampling {
namespace {

const std::vector<Sampler>& table() {
  static const std::vector<Sampler> rows = all_rows();
  return rows;
}

std::string built_names() {
  std::string names;
  for (const Sampler& s : table()) names += (names.empty() ? "" : ", ") + std::string(s.name);
  return names;
}

}  // namespace

Options stated_options(const Sampler& sampler, const Schedule& schedule) {
  Options stated;
  if (!stands_for(sampler, schedule.scheduler)) return stated;
  for (const Option& o : sampler.options)
    if (const auto found = schedule.solver.find(o.name); found != schedule.solver.end()) stated.emplace(o.name, found->second);
  return stated;
}

Tensor bounded(const Tensor& x0, const Schedule& schedule) {
  if (schedule.thresholding) return dynamically_thresholded(x0, schedule.thresholding->ratio, schedule.thresholding->most);
  return schedule.clip ? clipped(x0, *schedule.clip) : x0;
}

Tensor Run::add_noise(const Tensor& x, double size) const { return size == 0 ? x : combine({x, noise(x.backend(), x.shape())}, {1, size}); }

Tensor Run::add_noise_between(const Tensor& x, double size, double sigma, double sigma_next) const {
  return size == 0 ? x : combine({x, noise.between(x.backend(), x.shape(), sigma, sigma_next)}, {1, size});
}

std::span<const Sampler> samplers() { return table(); }

const Sampler& find_sampler(std::string_view name) {
  const std::string wanted = folded(name);
  for (const Sampler& s : table()) {
    if (folded(s.name) == wanted) return s;
    for (const std::string_view alias : s.aliases)
      if (folded(alias) == wanted) return s;
  }
  if (const std::string_view own = sampler_name_of_class(name); !own.empty()) return find_sampler(own);
  fail<UsageError>("sampler '{}' is unknown, expected one of {}", name, built_names());
}

const Sampler& sampler_of(const SchedulerConfig& config) { return find_sampler(sampler_name_of(config)); }

Options resolve_options(const Sampler& sampler, const Options& given) {
  return resolve_options(fmt::format("sampler '{}'", sampler.name), sampler.options, given);
}

Schedule planned(const Sampler& sampler, const Schedule& schedule, const Options& options) {
  return sampler.prepare ? sampler.prepare(schedule, options) : schedule;
}

Tensor starting_point(const Schedule& schedule, const Tensor& noise) { return combine({noise}, {double(schedule.init_scale)}); }

Tensor sample(const Sampler& sampler, const Denoiser& denoise, const Tensor& x, const Schedule& schedule, Noise& noise,
              const Options& options, const OnStep& on_step) {
  return resume(sampler, denoise, {.x = x}, schedule, noise, options, on_step);
}

Tensor resume(const Sampler& sampler, const Denoiser& denoise, State s, const Schedule& schedule, Noise& noise, const Options& options,
              const OnStep& on_step, const AfterCall& after_call) {
  Options given = options;
  for (const auto& [name, value] : stated_options(sampler, schedule)) given.emplace(name, value);
  const Options all = resolve_options(sampler, given);
  const Schedule plan = planned(sampler, schedule, all);
  const auto steps = int64_t(plan.steps.size());
  Level level;
  Tensor x0;
  const Denoiser watched = [&](const Tensor& x, const Level& at) {
    Estimate e = denoise(x, at);
    if (sampler.needs_unconditional && !e.unconditional)
      fail<UsageError>("sampler '{}': requires the unconditional estimate, which the denoiser does not return", sampler.name);
    if (!sampler.bounds_itself) e.x0 = bounded(e.x0, plan);
    level = at, x0 = e.x0;
    return e;
  };
  if (s.draws > 0) noise.seek(s.draws);
  const AfterCall asked = sampler.ends_itself ? AfterCall() : after_call;
  const Run run{.denoise = watched, .schedule = plan, .noise = noise, .options = all, .after_call = asked};
  s.done = s.done || (!sampler.ends_itself && s.step >= steps);
  while (!s.done) {
    sampler.step(s, run);
    ++s.step;
    if (!sampler.ends_itself) s.done = s.step >= steps;
    if (asked) s.x = asked(s.x, s.done ? nullptr : &plan.steps[size_t(s.step)].at);
    s.draws = noise.position();
    const auto passed = std::ranges::count_if(plan.steps, [&](const Step& step) { return step.to.sigma >= level.sigma; });
    const int64_t step = !sampler.ends_itself ? s.step - 1 : s.done ? steps - 1 : std::min<int64_t>(passed, steps - 1);
    if (on_step) on_step({step, steps, level, x0, s.x, s});
    x0 = {};
  }
  return s.x;
}

std::optional<std::vector<int64_t>> calls_before_steps(const Sampler& sampler, const Schedule& schedule, const Options& options,
                                                       Backend& device) {
  if (sampler.ends_itself) return std::nullopt;
  int64_t calls = 0;
  std::vector<int64_t> before{0};
  const Denoiser counting = [&](const Tensor& x, const Level&) {
    ++calls;
    return Estimate(x, x);
  };
  Noise none = [](Backend& backend, const Shape& shape) { return Tensor::zeros(backend, shape, DType::f64); };
  Schedule counted = schedule;
  counted.thresholding.reset();  // supports f32 only, and does not matter here
  sample(sampler, counting, Tensor::zeros(device, {1, 1, 1, 1}, DType::f64), counted, none, options,
         [&](const StepInfo&) { before.push_back(calls); });
  return before;
}

std::optional<int64_t> network_calls(const Sampler& sampler, const Schedule& schedule, const Options& options, Backend& device) {
  const auto before = calls_before_steps(sampler, schedule, options, device);
  return before ? std::optional(before->back()) : std::nullopt;
}

}  // namespace hearth::sampling
