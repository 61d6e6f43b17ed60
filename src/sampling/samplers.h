// Samplers: functions from noise to a picture's latents. No sampler knows a network, no network a sampler.
//
//   const Sampler& sampler = find_sampler("euler");
//   const Schedule schedule = make_schedule(config.with_class(sampler.scheduler), ScheduleKind::standard, 20);
//   Tensor x = starting_point(schedule, noise(device, {1, 64, 64, 4}));
//   x = sample(sampler, make_denoiser(unet, schedule.prediction, 7.5), x, schedule, noise, {}, on_step);
//
// The result is what the last `step` of diffusers' scheduler returns: the latents before the division by the VAE's scaling
// factor. With set_alpha_to_one = false DDIM and PNDM end at the noise level of timestep 0, not at 0.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "sampling/denoiser.h"
#include "sampling/noise.h"
#include "sampling/schedule.h"

namespace hearth::sampling {

struct SamplerOptions {
  std::optional<double> eta;  // how much fresh noise; the sampler's own default where absent. 0: none, and none is drawn
  double s_noise = 1;         // fresh noise is multiplied by this
};

struct StepInfo {
  int64_t step, steps;  // 0 … steps − 1, one per model call
  const Level& level;   // where the network was asked
  const Tensor& x0;     // its x̂₀
  const Tensor& x;      // the state after the step
};
using OnStep = std::function<void(const StepInfo&)>;  // may throw Cancelled

struct Sampler {
  using Run = Tensor (*)(const Denoiser&, Tensor x, const Schedule&, Noise&, const SamplerOptions&, const OnStep&);

  std::string_view name;                      // canonical, as metadata records it
  std::span<const std::string_view> aliases;  // other programs' names
  std::string_view summary;
  SchedulerClass scheduler;   // whose schedule and configuration defaults it takes
  std::optional<double> eta;  // default; absent: the sampler never draws noise and has no such option
  Run run;
};

// The samplers that are built.
std::span<const Sampler> samplers();
// By canonical name or alias; case, spaces, underscores, hyphens and "++"/"pp" do not matter. UsageError lists the names for an
// unknown one; UnsupportedError for one that is known but not built yet.
const Sampler& find_sampler(std::string_view name);
// The one that a scheduler class stands for.
const Sampler& sampler_of(SchedulerClass scheduler);

// noise [B, H, W, C] standard normal → where the schedule starts.
Tensor starting_point(const Schedule& schedule, const Tensor& noise);

// Runs the sampler. UsageError for an option that it does not have.
Tensor sample(const Sampler& sampler, const Denoiser& denoise, const Tensor& x, const Schedule& schedule, Noise& noise,
              const SamplerOptions& options = {}, const OnStep& on_step = {});

}  // namespace hearth::sampling
