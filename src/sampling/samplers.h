// The samplers by name, and running one. Samplers do not know networks, and networks do not know samplers.
//
//   const Sampler& sampler = find_sampler("euler");
//   const Schedule schedule = make_schedule(config.with_class(sampler.scheduler), {}, 20);
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

#include "sampling/sampler.h"

namespace hearth::sampling {

struct StepInfo {
  int64_t step, steps;  // 0 … steps − 1; with ends_itself, the number of the schedule's steps that it has passed
  const Level& level;   // of the last denoiser call
  const Tensor& x0;     // its x̂₀
  const Tensor& x;      // the state after the step
  const State& state;   // complete: the run can be resumed from it
};
using OnStep = std::function<void(const StepInfo&)>;  // may throw Canceled

// The implemented samplers, one file of samplers/ each, in the order of the files' names.
std::span<const Sampler> samplers();
// By canonical name or alias; case, spaces, underscores, hyphens and "++"/"pp" do not matter. UsageError for an unknown name, listing
// the known ones; UnsupportedError for a name that is known but not implemented.
const Sampler& find_sampler(std::string_view name);
// The sampler that implements the class of a scheduler config.
const Sampler& sampler_of(const SchedulerConfig& config);

// `given`, completed with the defaults of all other options of the sampler. UsageError for an option that it does not have (listing those
// that it has), or a value out of range.
Options resolve_options(const Sampler& sampler, const Options& given);

// The sampler's options as the scheduler's file sets them, if the sampler implements its class.
Options stated_options(const Sampler& sampler, const Schedule& schedule);

// The schedule as the sampler runs it: its own plan if it makes one. `options`: all that it has.
Schedule planned(const Sampler& sampler, const Schedule& schedule, const Options& options);

// noise [B, H, W, C] standard normal → x at the start of the schedule.
Tensor starting_point(const Schedule& schedule, const Tensor& noise);

// Runs the sampler from `x`. Options that are not given come from the scheduler's file, if the sampler implements its class.
// UsageError as resolve_options.
Tensor sample(const Sampler& sampler, const Denoiser& denoise, const Tensor& x, const Schedule& schedule, Noise& noise,
              const Options& options = {}, const OnStep& on_step = {});

// Resumes from a state that on_step received, with the same sampler, schedule and options and a fresh noise source: the result is
// bit-identical to that of the uninterrupted run. Samplers that end themselves do not call `after_call`.
Tensor resume(const Sampler& sampler, const Denoiser& denoise, State state, const Schedule& schedule, Noise& noise,
              const Options& options = {}, const OnStep& on_step = {}, const AfterCall& after_call = {});

// Number of denoiser calls before each step of the run and, last, of all; nothing if that depends on the estimates.
std::optional<std::vector<int64_t>> calls_before_steps(const Sampler& sampler, const Schedule& schedule, const Options& options,
                                                       Backend& device);
// Number of denoiser calls of the run; nothing if that depends on the estimates.
std::optional<int64_t> network_calls(const Sampler& sampler, const Schedule& schedule, const Options& options, Backend& device);

}  // namespace hearth::sampling
