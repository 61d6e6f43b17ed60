// Compatibility with other programs: the same seed, sampler and schedule give that program's image.
//
//             initial noise             step noise                 Brownian paths               start          timestep of σ
// hearth      torch, image by image     the same generators        OctavePath, by image         the scheduler  the scheduler's
// diffusers   torch, batch at once      the same generator         OctavePath, by image         the scheduler  the scheduler's
// comfyui     torch, batch at once      torch, seed + 1            torchsde, one tree           √(1 + σ²)      integer, nearest in ln σ
// a1111       Philox, image by image    the same, or seed + ENSD   torchsde, Philox, by image   σ              linear in ln σ
//
// On flow paths x starts as the first σ times the noise, and timesteps are proportional to σ. A1111's conventions for them are
// supported for families that state them. NoiseRequest::rng replaces torch or Philox by another generator. "start" is the factor of the
// standard normal noise; in ComfyUI it holds from the model's largest σ on, and is σ below. ComfyUI on a GPU draws step noise on the GPU;
// those values cannot be reproduced on a CPU.
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

// A program's own noise levels of a flow network: `entries` of them, the i-th is (i + 1)/entries, shifted.
struct FlowTable {
  double shift = 1;
  int64_t entries = 1000;
};

struct NoiseRequest {
  uint64_t seed = 0;
  std::optional<Rng> rng = {};   // replaces the program's own: cpu anywhere, nv under hearth and a1111
  int64_t eta_seed_delta = 0;    // a1111's ENSD: after the initial noise, generators restart at seed + this
  int64_t first_image = 0;       // comfyui: index of the batch's first image in a larger batch
  Tensor given = {};             // [B, C, H, W] f32, replaces the initial noise; may be undefined
  EncodingDraws encodings = {};  // for the run's input images; hearth and diffusers draw them from the run's generators
  // A1111's variations: noise interpolated by `strength` towards the noise of another seed. All images of a batch then share one seed, and
  // image k has the variation seed + k. Supported under hearth and a1111.
  struct Variation {
    uint64_t seed = 0;
    double strength = 0;
  } variation = {};
};

// UsageError if the request uses a detail of another program.
void check(Compat compat, const NoiseRequest& request);
// The noise of a run. Under comfyui and a1111, samplers without `brownian` draw all their noise instead of using a path.
Noise make_noise(Compat compat, const NoiseRequest& request, const Schedule& schedule, const Sampler& sampler);
// Noise for encoder posterior `number`; encodings before the initial noise count first (encodings.before), then those after it
// (encodings.after). Returns [B, H, W, C], or [1, H, W, C] if all images share it. ComfyUI uses the posterior's mean: undefined.
// A1111 draws from a generator that it does not seed; here, and with Philox, the noise is PyTorch's for the image's seed.
Tensor encoding_noise(Compat compat, const NoiseRequest& request, Backend& device, const Shape& shape, int64_t number);

// Whether the schedule is the program's own: under comfyui and a1111. UsageError if the program lacks the sampler.
bool has_own_schedule(Compat compat, const Sampler& sampler);
// A schedule by a name of sigma_schedules.h, or one of A1111's own forms under a1111. "" or "default" is `normal` in ComfyUI, as in its
// default workflow; in A1111 it is "automatic": the sampler's recommended schedule, else `normal`. Options as for make_sigmas. UsageError
// for an unknown option, and for any option of an A1111 sampler that has timesteps of its own (a1111_times.h).
ScheduleChoice own_choice(Compat compat, const Sampler& sampler, std::string_view schedule, const ScheduleOptions& options = {});
// The noise levels of such a choice, or of given_sigmas, which are used unchanged: no level is dropped. The noise table, or the shift of a
// flow network, is the checkpoint's, unless the program has its own for this network (`flow`). UnsupportedError for a flow network under
// a1111 without `flow`, or with a sampler that is not defined for it.
Schedule own_schedule(Compat compat, const SchedulerConfig& config, const Sampler& sampler, const ScheduleChoice& choice, int64_t steps,
                      const std::optional<FlowTable>& flow = {});
// A schedule on which all samplers solve the same equation, so that they can be compared: the choice's σ on the checkpoint's noise table,
// down to the smallest above 0. Timesteps are interpolated in ln σ; the start is σ times the noise. UsageError for a choice that is not a
// sequence of σ.
Schedule common_schedule(const SchedulerConfig& config, const ScheduleChoice& choice, int64_t steps);
// Defaults of the sampler's options that differ in the program.
Options own_options(Compat compat, const Sampler& sampler);

}  // namespace hearth::sampling
