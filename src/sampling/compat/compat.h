// Whose conventions a run follows, so that the same seed, sampler and schedule give that program's image.
//
//             noise of the start        noise of the steps         Brownian paths               start          network's time of σ
// hearth      torch, image by image     the same generators        OctavePath, by image         the scheduler  the scheduler's
// diffusers   torch, batch at once      the same generator         OctavePath, by image         the scheduler  the scheduler's
// comfyui     torch, batch at once      torch, seed + 1            torchsde, one tree           √(1 + σ²)      whole, nearest in ln σ
// a1111       Philox, image by image    the same, or seed + ENSD   torchsde, Philox, by image   σ              linear in ln σ
//
// NoiseRequest::rng puts another source in the place of torch or Philox. "start" is what standard normal noise is multiplied with;
// ComfyUI's only from the model's largest σ on, σ below. ComfyUI on a graphics card draws the noise of the steps there instead: those
// values are not to be had elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hearth/choices.h"
#include "sampling/compat/scheduler_config.h"
#include "sampling/noise/noise.h"
#include "sampling/noise/noise_sources.h"
#include "sampling/sampler.h"
#include "sampling/schedules/schedule.h"

namespace hearth::sampling {

using hearth::Compat;

struct NoiseRequest {
  uint64_t seed = 0;
  std::optional<Rng> rng = {};   // instead of the program's own: cpu anywhere, nv under hearth and a1111
  int64_t eta_seed_delta = 0;    // a1111's ENSD: generators begin anew at seed + this after the first noise
  int64_t first_image = 0;       // comfyui: the batch's images are those from this number on of a larger batch
  Tensor given = {};             // [B, C, H, W] f32 in place of the first draw; may be undefined
  EncodingDraws encodings = {};  // of the images that the run starts from; hearth and diffusers draw them from the run's generators
  // A1111's variations: the noise lies this far on the way to that of another seed. All images of a batch then have one seed, and image k
  // the variation seed + k. hearth, a1111.
  struct Variation {
    uint64_t seed = 0;
    double strength = 0;
  } variation = {};
};

// UsageError where the request asks for another program's detail.
void check(Compat compat, const NoiseRequest& request);
// A run's; of samplers that are not brownian in ComfyUI and A1111 all noise is drawn there.
Noise make_noise(Compat compat, const NoiseRequest& request, const Schedule& schedule, const Sampler& sampler);
// Noise for posterior number `number` of the images that are encoded, counted by encodings.before, then encodings.after; [B, H, W, C], or
// [1, H, W, C] where all images have one image's. ComfyUI takes the mean: undefined. A1111 draws it from a generator that it does not
// seed; here, and beside Philox, it is PyTorch's under the image's seed.
Tensor encoding_noise(Compat compat, const NoiseRequest& request, Backend& device, const Shape& shape, int64_t number);

// Whether the run's levels are the program's own: under comfyui and a1111. UsageError for a sampler that the program does not have.
bool has_own_schedule(Compat compat, const Sampler& sampler);
// A schedule as sigma_schedules.h names them, A1111's own forms under a1111; "" or "default" is, in ComfyUI, `normal`, that of its first
// workflow, and in A1111 what it calls automatic: the one that goes with the sampler, else `normal`. Options as make_sigmas takes them.
// UsageError for an unknown one, and for any where A1111's sampler goes by times of its own (a1111_times.h).
ScheduleChoice own_choice(Compat compat, const Sampler& sampler, std::string_view schedule, const ScheduleOptions& options = {});
// The levels of such a choice, or of given_sigmas, which are taken as they are: no level is left out of them. The noise table is the
// checkpoint's.
Schedule own_schedule(Compat compat, const SchedulerConfig& config, const Sampler& sampler, const ScheduleChoice& choice, int64_t steps);
// Levels on which all samplers solve one equation, so that they can be compared: the choice's on the checkpoint's σ, down to the least
// above 0; times by interpolation in ln σ; the start σ times the noise. UsageError for a choice
// that is not along σ.
Schedule common_schedule(const SchedulerConfig& config, const ScheduleChoice& choice, int64_t steps);
// Defaults of the sampler's options that are others in the program.
Options own_options(Compat compat, const Sampler& sampler);

}  // namespace hearth::sampling
