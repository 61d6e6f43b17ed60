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

// Everything that a run remembers from one step to the next: with it a run can be resumed later and elsewhere, bit-identically.
struct State {
  Tensor x;                     // [B, H, W, C] f32
  int64_t step = 0;             // steps completed
  std::vector<Tensor> history;  // kept from earlier steps, in the sampler's own order
  std::vector<double> memory;
  int64_t draws = 0;  // from the noise source, so far
  bool done = false;
};

// Replaces x after each denoiser call. `next`: the level that x has then; none after a run's last call. Between the calls of one step it
// is the midpoint of the next call, or the end of the step if diffusers' class counts the midpoint as that.
using AfterCall = std::function<Tensor(const Tensor& x, const Level* next)>;

// Inputs of a step. `options` holds all options of the sampler.
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
  // x + size·(the next standard normal draw); draws nothing if size is 0.
  Tensor add_noise(const Tensor& x, double size) const;
  // The same with the noise of the interval from one σ to another, if the source has one path for all runs.
  Tensor add_noise_between(const Tensor& x, double size, double sigma, double sigma_next) const;
};

// x̂₀ bounded as the schedule requires: clipped, or by dynamic thresholding.
Tensor bounded(const Tensor& x0, const Schedule& schedule);

enum class Draws { never, on_request, always };  // on_request: an option that is 0 by default turns noise on

// The other programs that something applies to.
struct Programs {
  bool comfyui = false, a1111 = false;
};

// How A1111 determines a run's noise levels.
//   sigmas      the σ of a schedule
//   ends        the same, but a run from noise goes from the model's largest σ to its smallest, for any schedule
//   distilled   the σ of a schedule on the 50 timesteps that LCM networks were distilled on (a1111_times.h)
//   timesteps, times   times of its own, integers of the table or not (a1111_times.h)
enum class A1111Levels { sigmas, ends, distilled, timesteps, times };

struct Sampler {
  std::string_view name;                       // canonical: ComfyUI's, as metadata records it
  std::vector<std::string_view> aliases = {};  // other programs' names; spelling variants need none (names.h)
  std::string_view summary;                    // at most half a line
  int order = 1;                               // of convergence: the error is proportional to this power of the step size
  std::string_view calls = "n";                // denoiser calls of n steps, the last of which ends at σ = 0
  Draws draws = Draws::never;
  std::string_view schedule = "default";  // the recommended one, used if none is chosen
  std::vector<Option> options = {};
  double guidance_factor = 1;        // multiplies the user's guidance scale
  bool needs_unconditional = false;  // needs the unconditional estimate, for any guidance
  Programs drops_penultimate = {};   // one more step is computed and the next-to-last level dropped
  Programs brownian = {};            // step noise comes from torchsde's path; in the other programs it is drawn
  Programs programs = {};            // programs that have it (a1111: with Forge); under --compat the others reject its name
  A1111Levels a1111_levels = A1111Levels::sigmas;
  Options in_comfyui = {};  // defaults of its options that differ there
  Options in_a1111 = {};
  SchedulerClass scheduler;          // whose schedule and configuration defaults it uses
  bool on_flow_paths = true;         // defined on levels of Family::flow, if a schedule has them
  bool bounds_itself = false;        // receives x̂₀ unbounded and bounds it where the method requires
  void (*step)(State&, const Run&);  // one step of the schedule: from state.step to the next
  // Makes the sampler's own plan from the schedule; absent: the schedule is used unchanged.
  Schedule (*prepare)(const Schedule&, const Options&) = nullptr;
  bool ends_itself = false;  // the step function sets state.done; the number of steps is not known in advance
};

}  // namespace hearth::sampling
