// A schedule: the noise levels of a run, step by step. Equal to what diffusers' `set_timesteps` prepares, or along σ that another
// program's definition or the user gives.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/compat/scheduler_config.h"
#include "sampling/schedules/noise_table.h"
#include "sampling/schedules/path.h"
#include "sampling/schedules/sigma_schedules.h"

namespace hearth::sampling {

// One model call and the update after it. `at` is where the network is asked; the update goes `from` → `to`. at and from
// differ in PLMS' second call and in Runge–Kutta steps only, and `to` need not be the next step's `at`: DDIM and PNDM count down by
// num_train_timesteps / n, which on linspace and trailing spacing is not the next timestep of the list.
struct Step {
  Level at, from, to;
};

struct Schedule {
  std::vector<Step> steps;                      // n of them; n + 1 for plms (n ≥ 2); as many as diffusers makes in the cases told below
  float init_scale = 1;                         // x starts as this times standard normal noise
  Prediction prediction = Prediction::epsilon;  // plms keeps its history in what the network answers
  double sigma_data = 1;                        // of EDM and TrigFlow networks
  Path path;                                    // the curve that the levels lie on
  std::optional<double> clip;                   // x̂₀ is clipped to [-clip, clip]
  std::optional<Thresholding> thresholding;     // or bounded like this
  std::vector<int> orders;                      // of each step, where a sampler's own plan says so
  std::optional<std::pair<double, double>> path_ends;  // of torchsde's path, least σ first, where they are not those of the steps
  struct Ends {
    double from, to;
    int64_t steps;
  };
  std::optional<Ends> ends;                  // dpm_fast, dpm_adaptive: from this σ to that one in so many steps, whatever the levels
  bool first_order_last = false;             // dpmpp_2m: the last step is one of first order
  int64_t runge_kutta_calls = 0;             // plms: the first so many calls are PNDM's Runge–Kutta steps
  std::vector<int64_t> disabled_correctors;  // unipc_multistep: steps that are not corrected afterwards
  std::vector<double> left_out;              // σ of the steps before a run begun on the way, newest first: diffusers counts them

  // What the scheduler's file says of the options of the sampler that stands for the class.
  SchedulerClass scheduler = SchedulerClass::pndm;
  std::map<std::string, double, std::less<>> solver;

  bool bounds_estimates() const { return clip || thresholding; }
  std::vector<float> timesteps() const;  // of each call
  std::vector<float> sigmas() const;     // sigma/alpha (σ of flow paths) of each call and of the end
};

// Where a run's levels come from; by default what the class does with its config.
struct ScheduleChoice {
  std::string name = "default";          // canonical
  std::optional<Spacing> spacing;        // the class's way, with this spacing
  std::optional<Curve> curve;            // the class's own form of Karras', exponential or beta σ
  const SigmaSchedule* sigma = nullptr;  // a definition on the model's levels
  ScheduleOptions options;               // of `sigma`
  Values sigmas;                         // the user's own list
  bool drops_penultimate = false;        // one step more is made and the level before the last is left out

  bool gives_sigmas() const { return sigma || !sigmas.empty(); }
  Values make(const ModelSigmas& model, int64_t n) const;
  std::string text() const;  // all of it: "karras:rho=5", "sigmas:14.6,7,0"
};

// Schedules by name:
//   default                      what the class does with its config
//   leading, trailing, linspace  the same with that spacing
//   karras, exponential, beta_a1111
//       without options the class's own (use_karras_sigmas …), where Form::diffusers:
//         σ-classes (Euler, Heun, LMS …)   between the σ of the first and last timestep of the spacing; fractional timesteps
//         DPM++ and its kin, DDIM          between the ends of the table; whole timesteps
//   any other, or with options: sigma_schedules.h; timesteps by interpolation of ln σ in the table, fractional
// Case and separators do not matter. UsageError for an unknown name or option.
enum class Form { diffusers, peers };
ScheduleChoice find_schedule(std::string_view name, const ScheduleOptions& options = {}, Form form = Form::diffusers);

// The user's own σ, the last of which must be 0 unless `open_end`. UsageError: check_sigmas.
ScheduleChoice given_sigmas(Values sigmas, SigmaFamily family, bool open_end = false);

struct ScheduleName {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view summary;
};
std::span<const ScheduleName> schedule_names();

// UsageError unless 1 ≤ steps; and where timesteps must be whole numbers of the table (all but linspace under the σ-classes and
// curves of σ), unless steps ≤ num_train_timesteps (DPM++ and its kin with leading spacing: one less, they space over steps + 1; LCM and
// TCD: original_steps). UsageError for a list of σ with another number of values than steps + 1. UnsupportedError for σ where a class has
// its own times only (PNDM, SCM, IPNDM, Wuerstchen).
// Where diffusers fails or runs astray, and what happens here:
//   - leading with an offset reaches timesteps past the table (1000 steps of 1000, offset 1): DDIM and PNDM stop at the last one
//     (diffusers: IndexError); Euler takes the last σ and tells the network 1000, as diffusers does
//   - trailing: for some n (61, 103, 121 …) the floating-point count of diffusers yields one timestep more, −1; it is left out
//   - ᾱ = 0 (DDIM, zero terminal SNR) with ε-prediction: UnsupportedError, x₀ cannot be told from the noise (diffusers: NaN)
//   - PNDM with Runge–Kutta steps and fewer than 4 steps: UsageError (diffusers: a numpy error)
Schedule make_schedule(const SchedulerConfig& config, const ScheduleChoice& choice, int64_t steps);

}  // namespace hearth::sampling
