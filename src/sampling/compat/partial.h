// Runs that start from an image: image-to-image, which adds noise to it, and inpainting, which regenerates a part of it.
#pragma once

#include <functional>

#include "sampling/compat/compat.h"
#include "sampling/schedules/schedule.h"

namespace hearth::sampling {

// Which of n steps a run executes at a strength from 0 to 1; a smaller strength keeps more of the image.
//   hearth, diffusers   the last ⌊strength·n⌋ of n; by_program_rounded_up: all but the first ⌊n − strength·n⌋
//   comfyui             the last n of ⌊n/strength⌋; none at 0
//   a1111               the last ⌊min(strength, 0.999)·n⌋ + 1 of n; its samplers with times of their own: rest_by_times, a1111_even_rest
// all_steps: the last n of ⌊n/strength⌋ in any of them (a1111: of ⌊n/min(strength, 0.999)⌋), as in A1111's second pass; none at 0.
enum class Steps { by_program, by_program_rounded_up, all_steps };
struct RunPart {
  int64_t steps = 0;    // of the whole schedule
  int64_t skipped = 0;  // of these, at the noisy end
};
// UsageError unless 0 ≤ strength ≤ 1, and if no step is left at a strength above 0.
RunPart part_of_run(Compat compat, int64_t steps, double strength, Steps how = Steps::by_program);

// The schedule without its first steps. PLMS continues its list of calls as diffusers does: the first remaining call is made twice,
// whichever it is. LMS and the singlestep solver count the skipped steps. UnsupportedError for PNDM's Runge–Kutta steps.
Schedule without_first(const Schedule& schedule, int64_t skipped);

// How an image's latents z and noise are combined at the first level that the run executes.
struct Start {
  Level level;
  double noise_factor = 1;  // level.sigma, or the program's noise factor of a full run
};
Start start_of(Compat compat, const Schedule& whole, const Schedule& rest, int64_t skipped);

// A1111's ddim and plms: the given count of timesteps from the clean end, with one step less than timesteps. Noise is added for the
// timestep before them. PLMS makes its first step twice. UsageError if no step is left.
struct Rest {
  Schedule schedule;
  Start start;
};
Rest rest_by_times(const Schedule& whole, int64_t times);
// start.level.alpha·z + start.noise_factor·noise; all [B, H, W, C] f32.
Tensor noised(const Tensor& z, const Tensor& noise, const Start& start);
// level.alpha·z + level.sigma·noise
Tensor noised(const Tensor& z, const Tensor& noise, const Level& level);

// mask·regenerated + (1 − mask)·kept; mask [B, H, W, 1], else [B, H, W, C], f32.
Tensor blended(const Tensor& painted, const Tensor& kept, const Tensor& mask);

// Keeps z where the mask is 0, at each step, as the program does it.
//   hearth, diffusers   after each call x is replaced by z with the initial noise, at AfterCall's level
//   comfyui             the same before each call, and z itself in the call's x̂₀
//   a1111               z in each x̂₀; samplers with times of their own: z itself in the input of each call
Denoiser keeping(Compat compat, bool by_times, Denoiser denoise, const Tensor& z, const Tensor& noise, const Tensor& mask);

}  // namespace hearth::sampling
