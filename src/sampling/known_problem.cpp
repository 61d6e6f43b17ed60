#include "sampling/known_problem.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sampling/samplers.h"

namespace hearth::sampling {

Denoiser unit_gaussian() {
  return [](const Tensor& x, const Level& level) {
    const Tensor x0 = combine({x}, {level.alpha / (level.alpha * level.alpha + level.sigma * level.sigma)});
    return Estimate(x0, x0);
  };
}

double gaussian_size(const Level& level) { return std::hypot(level.alpha, level.sigma); }

Schedule graded_schedule(const Path& path, double first, double last, int64_t n) {
  const double from = lambda(path.at(first)), to = lambda(path.at(last));
  const auto at = [&](int64_t i) {
    const double u = double(i) / double(n);
    return path.at_lambda(from + (to - from) * u * u * u * (10 - 15 * u + 6 * u * u));
  };
  Schedule s{.steps = {}, .path = path};
  for (int64_t i = 0; i < n; ++i) s.steps.push_back({at(i), at(i), at(i + 1)});
  s.init_scale = float(first);
  return s;
}

std::optional<Options> deterministic_options(const Sampler& sampler) {
  const bool has_eta = std::ranges::any_of(sampler.options, [](const Option& o) { return o.name == "eta"; });
  if (has_eta) return Options{{"eta", 0}};
  if (sampler.draws == Draws::always) return std::nullopt;
  return Options{};
}

bool solves_the_ode(const Sampler& sampler) {
  return deterministic_options(sampler) && !sampler.ends_itself && !sampler.needs_unconditional &&
         sampler.scheduler != SchedulerClass::pndm;
}

KnownError known_error(const Sampler& sampler, Backend& device, int64_t n) {
  const auto options = deterministic_options(sampler);
  if (!options) fail<UsageError>("sampler '{}' has no deterministic form", sampler.name);
  KnownError found;
  const Denoiser denoise = [&found, gaussian = unit_gaussian()](const Tensor& x, const Level& level) {
    ++found.calls;
    return gaussian(x, level);
  };
  const Schedule schedule = graded_schedule({.family = Family::exploding, .sigma_min = 0.01, .sigma_max = 100}, 10, 0.1, n);
  Tensor x = Tensor::zeros(device, {1, 1, 1, 1}, DType::f64);
  x.data<double>()[0] = 1;
  Noise none = [](Backend&, const Shape&) -> Tensor { fail<UsageError>("sampler: a deterministic form drew noise"); };
  x = sample(sampler, denoise, x, schedule, none, *options);
  const double exact = gaussian_size(schedule.steps.back().to) / gaussian_size(schedule.steps.front().from);
  found.error = std::abs(x.data<double>()[0] - exact);
  return found;
}

}  // namespace hearth::sampling
