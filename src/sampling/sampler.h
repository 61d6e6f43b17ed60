// What a sampler is: a step function with explicit state, and a row of data. One file of samplers/ each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/guidance/denoiser.h"
#include "sampling/noise/noise.h"
#include "sampling/options.h"
#include "sampling/schedules/schedule.h"
#include "sampling/steps/vectors.h"

namespace hearth::sampling {

// All that a run remembers from one step to the next: who has it can go on later and elsewhere, bit for bit.
struct State {
  Tensor x;                     // [B, H, W, C] f32
  int64_t step = 0;             // steps done
  std::vector<Tensor> history;  // what earlier steps left, in the sampler's own order
  std::vector<double> memory;
  int64_t draws = 0;  // of the noise source, so far
  bool done = false;
};

// What takes the place of x after each call of the network. `next`: the level that x is on then; none after a run's last call. Between the
// calls of one step it is the middle that the sampler asks at; where diffusers' class counts it as the step's end, that.
using AfterCall = std::function<Tensor(const Tensor& x, const Level* next)>;

// What a step works with. Of `options` all that the sampler knows are there.
struct Run {
  const Denoiser& denoise;
  const Schedule& schedule;
  Noise& noise;
  const Options& options;
  const AfterCall& after_call;

  double option(std::string_view name) const { return options.find(name)->second; }
  const Step& step(const State& s) const { return schedule.steps[size_t(s.step)]; }
  // x for the next call within a step.
  Tensor between_calls(const Tensor& x, const Level& level) const { return after_call ? after_call(x, &level) : x; }
  bool last(const State& s) const { return size_t(s.step) + 1 == schedule.steps.size(); }
  // x + size·(the next standard normal draw); draws nothing where size is 0.
  Tensor add_noise(const Tensor& x, double size) const;
  // The same with the noise that belongs to the way from one σ to another, where the source has one path for all runs.
  Tensor add_noise_between(const Tensor& x, double size, double sigma, double sigma_next) const;
};

// x̂₀ as the schedule bounds it: clipped, or by dynamic thresholding.
Tensor bounded(const Tensor& x0, const Schedule& schedule);

enum class Draws { never, on_request, always };  // on_request: an option that is 0 by default asks for noise

// Programs where something is so.
struct Where {
  bool comfyui = false, a1111 = false;
};

// What A1111 counts a run's levels by.
//   sigmas      the σ of a schedule
//   ends        the same, but a run from noise goes from the model's largest σ to its least, whatever the schedule
//   distilled   the σ of a schedule on the 50 timesteps that LCM networks were distilled at (a1111_times.h)
//   timesteps, times   times of its own, whole ones of the table or not (a1111_times.h)
enum class A1111Levels { sigmas, ends, distilled, timesteps, times };

struct Sampler {
  std::string_view name;                       // canonical: ComfyUI's, as metadata records it
  std::vector<std::string_view> aliases = {};  // other programs' names; spelling variants need none (names.h)
  std::string_view summary;                    // half a line
  int order = 1;                               // its error falls with this power of the steps' size
  std::string_view calls = "n";                // of the network, for n steps the last of which ends without noise
  Draws draws = Draws::never;
  std::string_view schedule = "default";  // the one that goes with it where nobody chooses
  std::vector<Option> options = {};
  double guidance_factor = 1;        // of the guidance that the user gives
  bool needs_unconditional = false;  // asks for the answer without prompt, whatever the guidance
  Where drops_penultimate = {};      // one step more is computed and the level before the last left out
  Where brownian = {};               // its fresh noise lies on torchsde's path; in the other programs it is drawn
  Where programs = {};               // programs that have it (a1111: with Forge); the others refuse its name under --compat
  A1111Levels a1111_levels = A1111Levels::sigmas;
  Options in_comfyui = {};  // defaults of its options that are others there
  Options in_a1111 = {};
  SchedulerClass scheduler;          // whose schedule and configuration defaults it takes
  bool bounds_itself = false;        // asks for x̂₀ as it is and bounds it where the method wants that
  void (*step)(State&, const Run&);  // one step of the schedule: from state.step to the next
  // Its own plan, made of the schedule; absent: the schedule as it is.
  Schedule (*prepare)(const Schedule&, const Options&) = nullptr;
  bool ends_itself = false;  // the step function sets state.done; the number of steps is not known before
};

}  // namespace hearth::sampling
