// Runs that begin on the way: from an image that noise is added to, or that is painted into.
#pragma once

#include <functional>

#include "sampling/compat/compat.h"
#include "sampling/schedules/schedule.h"

namespace hearth::sampling {

// Which steps a run of so many at a strength from 0 to 1 takes, the less the more of the image stays.
//   hearth, diffusers   the last ⌊strength·n⌋ of n
//   comfyui             the last n of ⌊n/strength⌋; none at 0
//   a1111               the last ⌊min(strength, 0.999)·n⌋ + 1 of n; samplers that go by times there: rest_by_times, a1111_even_rest
// all_steps: the last n of ⌊n/strength⌋ in any of them (a1111: of ⌊n/min(strength, 0.999)⌋), as A1111's second pass has it; none at 0.
enum class Steps { by_program, all_steps };
struct Part {
  int64_t steps = 0;    // of the schedule that is made
  int64_t skipped = 0;  // of them, from the noisy end
};
// UsageError unless 0 ≤ strength ≤ 1, and where no step is left at a strength above 0.
Part part_of_run(Compat compat, int64_t steps, double strength, Steps how = Steps::by_program);

// The schedule without its first steps. PLMS takes up its list of calls where diffusers does: the first one left is done twice whatever
// it is. LMS and the singlestep solver count what is left out. UnsupportedError for PNDM's Runge–Kutta steps.
Schedule without_first(const Schedule& schedule, int64_t skipped);

// What an image's latents z and noise become on the first level of the rest of a run.
struct Start {
  Level level;
  double noise_factor = 1;  // level.sigma, or what the program scales the noise of a whole run with
};
Start start_of(Compat compat, const Schedule& whole, const Schedule& rest, int64_t skipped);

// A1111's ddim and plms: so many of the times, counted from the clean end, between which one step less lies; noise is added for the time
// before them. PLMS does its first step twice. UsageError where no step is left.
struct Rest {
  Schedule schedule;
  Start start;
};
Rest rest_by_times(const Schedule& whole, int64_t times);
// start.level.alpha·z + start.noise_factor·noise; all [B, H, W, C] f32.
Tensor noised(const Tensor& z, const Tensor& noise, const Start& start);
// level.alpha·z + level.sigma·noise
Tensor noised(const Tensor& z, const Tensor& noise, const Level& level);

// mask·painted + (1 − mask)·kept; mask [B, H, W, 1], else [B, H, W, C], f32.
Tensor blended(const Tensor& painted, const Tensor& kept, const Tensor& mask);

// z where the mask is 0, at each step, as the program does it.
//   hearth, diffusers   what follows from a call gives way to z with the same noise as at first, on AfterCall's level
//   comfyui             the same before each call, and z itself in the call's x̂₀
//   a1111               z in each x̂₀; for samplers that go by times, z itself in what each call sees
Denoiser keeping(Compat compat, bool by_times, Denoiser denoise, const Tensor& z, const Tensor& noise, const Tensor& mask);

}  // namespace hearth::sampling
