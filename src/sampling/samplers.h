// The samplers by name, and running one. No sampler knows a network, no network a sampler.
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
  int64_t step, steps;  // 0 … steps − 1; where a sampler ends itself, as many of the schedule's steps as it has come past
  const Level& level;   // where the network was asked last
  const Tensor& x0;     // its x̂₀
  const Tensor& x;      // the state after the step
  const State& state;   // all of it: from here the run can be resumed
};
using OnStep = std::function<void(const StepInfo&)>;  // may throw Canceled

// The samplers that are built, one file of samplers/ each; in the order of the files' names.
std::span<const Sampler> samplers();
// By canonical name or alias; case, spaces, underscores, hyphens and "++"/"pp" do not matter. UsageError lists the names for an
// unknown one; UnsupportedError for one that is known but not built yet.
const Sampler& find_sampler(std::string_view name);
// The one that a scheduler's file stands for.
const Sampler& sampler_of(const SchedulerConfig& config);

// `given` and the defaults of all other options of the sampler. UsageError for an option that it does not have (naming those that it
// has), or out of its range.
Options resolve_options(const Sampler& sampler, const Options& given);

// What the scheduler's file says of the sampler's options, where the sampler stands for its class.
Options stated_options(const Sampler& sampler, const Schedule& schedule);

// The schedule as the sampler goes through it: its own plan where it makes one. `options`: all that it has.
Schedule planned(const Sampler& sampler, const Schedule& schedule, const Options& options);

// noise [B, H, W, C] standard normal → where the schedule starts.
Tensor starting_point(const Schedule& schedule, const Tensor& noise);

// Runs the sampler from `x`. Options that are not given are what the scheduler's file says, where the sampler stands for its class.
// UsageError as resolve_options.
Tensor sample(const Sampler& sampler, const Denoiser& denoise, const Tensor& x, const Schedule& schedule, Noise& noise,
              const Options& options = {}, const OnStep& on_step = {});

// The same from a state that on_step has shown, with the same sampler, schedule, options and a noise source that starts anew: the result
// is that of the run which was not interrupted, bit for bit. Samplers that end themselves do not ask `after_call`.
Tensor resume(const Sampler& sampler, const Denoiser& denoise, State state, const Schedule& schedule, Noise& noise,
              const Options& options = {}, const OnStep& on_step = {}, const AfterCall& after_call = {});

// How often the run will ask the network; nothing where that depends on its answers.
std::optional<int64_t> network_calls(const Sampler& sampler, const Schedule& schedule, const Options& options, Backend& device);

}  // namespace hearth::sampling
