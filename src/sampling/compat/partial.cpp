#include "sampling/compat/partial.h"

#include <algorithm>
#include <cmath>

#include "core/on_host.h"
#include "sampling/steps/vectors.h"

namespace hearth::sampling {

RunPart part_of_run(Compat compat, int64_t n, double strength, Steps how) {
  if (!(strength >= 0 && strength <= 1)) fail<UsageError>("strength: got {}, expected a number from 0 to 1", strength);
  if (n < 1) fail<UsageError>("steps: got {}, expected at least 1", n);
  const double below_one = compat == Compat::a1111 ? std::min(strength, 0.999) : strength;
  if (how == Steps::all_steps || compat == Compat::comfyui) {
    if (strength == 0) return {n, n};
    const double all = std::floor(double(n) / below_one);
    if (all > double(int64_t(1) << 30))
      fail<UsageError>("strength: {} of {} steps requires a schedule of {} steps, expected a larger strength", strength, n, all);
    return {int64_t(all), int64_t(all) - n};
  }
  if (compat == Compat::a1111) return {n, n - int64_t(below_one * double(n)) - 1};
  if (how == Steps::by_program_rounded_up) {
    const int64_t skipped = int64_t(double(n) - double(n) * strength);  // in this order, as in the reference's pipelines of flow models
    return {n, strength > 0 ? std::min(skipped, n - 1) : n};
  }
  const auto taken = int64_t(double(n) * strength);
  if (taken == 0 && strength > 0)
    fail<UsageError>("strength: {} of {} steps is less than one step, expected at least {}, or 0 to only encode and decode the image",
                     strength, n, 1 / double(n));
  return {n, n - taken};
}

Schedule without_first(const Schedule& schedule, int64_t skipped) {
  Schedule rest = schedule;
  const auto size = int64_t(schedule.steps.size());
  if (skipped <= 0) return rest;
  if (schedule.runge_kutta_calls > 0)
    fail<UnsupportedError>("schedule: PNDM's Runge–Kutta steps do not support image-to-image, expected skip_prk_steps or another sampler");
  const int64_t left = std::min(skipped, size);
  for (int64_t i = left; i-- > 0;) rest.left_out.push_back(schedule.steps[size_t(i)].from.sigma);
  rest.steps.erase(rest.steps.begin(), rest.steps.begin() + left);
  std::erase_if(rest.disabled_correctors, [left](int64_t step) { return step < left; });
  for (int64_t& step : rest.disabled_correctors) step -= left;
  const bool twice = size >= 3 && schedule.steps[1].at.timestep == schedule.steps[2].at.timestep;
  if (schedule.scheduler != SchedulerClass::pndm || schedule.path.family != Family::preserving || !twice) return rest;

  // The list of calls has its second timestep twice: what is left of it is one call more than steps. The first call of the rest is an
  // ordinary step; the second goes back by one step and does it again.
  const auto& whole = schedule.steps;
  const double apart = whole[0].at.timestep - whole[0].to.timestep;
  if (skipped == 1) rest.steps[0] = whole[2];
  if (rest.steps.size() < 2) return rest;
  const Level at = rest.steps[1].at;
  const std::vector<double>::size_type last = schedule.path.table->alphas_cumprod.size() - 1;
  const auto before = std::min(size_t(at.timestep + apart), size_t(last));
  rest.steps[1] = {at, Level::of_alpha_bar(double(schedule.path.table->alphas_cumprod[before]), float(before)), at};
  return rest;
}

Start start_of(Compat compat, const Schedule& whole, const Schedule& rest, int64_t skipped) {
  if (rest.steps.empty()) return {{1, 0, 0}, 0};
  const Level& level = rest.steps[0].from;
  return {level, compat == Compat::comfyui && skipped == 0 ? double(whole.init_scale) : level.sigma};
}

Rest rest_by_times(const Schedule& whole, int64_t times) {
  std::vector<Step> steps = whole.steps;
  const bool twice = whole.scheduler == SchedulerClass::pndm && steps.size() > 1 && steps[1].to.timestep == steps[0].to.timestep;
  if (twice) steps.erase(steps.begin() + 1);
  const int64_t left = times - 1, skipped = int64_t(steps.size()) - left;
  if (left < 1 || skipped < 1) fail<UsageError>("strength: leaves {} of A1111's times, expected 2 to {}", times, steps.size());
  Rest rest{whole, {steps[size_t(skipped) - 1].from, steps[size_t(skipped) - 1].from.sigma}};
  steps.erase(steps.begin(), steps.begin() + skipped);
  if (twice) steps.insert(steps.begin() + 1, {steps[0].to, steps[0].from, steps[0].to});
  rest.schedule.steps = std::move(steps);
  return rest;
}

Tensor noised(const Tensor& z, const Tensor& noise, const Start& start) {
  return combine({z, noise}, {start.level.alpha, start.noise_factor});
}
Tensor noised(const Tensor& z, const Tensor& noise, const Level& level) { return combine({z, noise}, {level.alpha, level.sigma}); }

Tensor blended(const Tensor& painted, const Tensor& kept, const Tensor& mask) {
  const auto [B, H, W, C] = painted.dims<4>();
  if (kept.shape() != painted.shape() || mask.shape() != Shape{B, H, W, 1})
    fail<ShapeError>("blended: shapes {}, {} and mask {} do not match", painted.shape(), kept.shape(), mask.shape());
  const int64_t pixels = B * H * W, channels = C;
  const auto mixed = [=](float* y, const float* p, const float* k, const float* m) {
    for (int64_t i = 0; i < pixels; ++i)
      for (int64_t c = 0; c < channels; ++c) y[i * channels + c] = (1 - m[i]) * k[i * channels + c] + m[i] * p[i * channels + c];
  };
  return on_host(painted.shape(), mixed, painted, kept, mask);
}

Denoiser keeping(Compat compat, bool by_times, Denoiser denoise, const Tensor& z, const Tensor& noise, const Tensor& mask) {
  if (compat == Compat::comfyui)
    return [=, denoise = std::move(denoise)](const Tensor& x, const Level& level) {
      Estimate e = denoise(blended(x, noised(z, noise, level), mask), level);
      e.x0 = blended(e.x0, z, mask);
      return e;
    };
  if (compat == Compat::a1111 && by_times)
    return [=, denoise = std::move(denoise)](const Tensor& x, const Level& level) {
      const Tensor seen = blended(x, z, mask);
      Estimate e = denoise(seen, level);
      e.x0 = combine({e.x0, x, seen}, {1, 1 / level.alpha, -1 / level.alpha});  // the sampler applies the estimate to its own x
      if (e.unconditional) e.unconditional = combine({e.unconditional, x, seen}, {1, 1 / level.alpha, -1 / level.alpha});
      return e;
    };
  if (compat == Compat::a1111)
    return [=, denoise = std::move(denoise)](const Tensor& x, const Level& level) {
      Estimate e = denoise(x, level);
      e.x0 = blended(e.x0, z, mask);
      return e;
    };
  return denoise;
}

}  // namespace hearth::sampling
