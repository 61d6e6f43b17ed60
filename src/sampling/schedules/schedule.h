// A schedule: the noise levels of a run, step by step. Either equal to what diffusers' `set_timesteps` prepares, or made from σ by another
// program's definition or by the user.
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

// One denoiser call and the update after it. `at` is where the network is called; the update goes `from` → `to`. `at` and `from`
// differ only in PLMS' second call and in Runge–Kutta steps. `to` need not be the next step's `at`: DDIM and PNDM count down by
// num_train_timesteps / n, which with linspace and trailing spacing is not the next timestep of the list.
struct Step {
  Level at, from, to;
};

struct Schedule {
  std::vector<Step> steps;                             // n; n + 1 for plms (n ≥ 2); as many as diffusers makes in the cases below
  float init_scale = 1;                                // x starts as this times standard normal noise
  Prediction prediction = Prediction::epsilon;         // plms keeps a history of the network's predictions
  double sigma_data = 1;                               // of EDM and TrigFlow networks
  Path path;                                           // the curve that the levels lie on
  std::optional<double> clip;                          // x̂₀ is clipped to [-clip, clip]
  std::optional<Thresholding> thresholding;            // or dynamic thresholding
  std::vector<int> orders;                             // of each step, if the sampler's prepare() sets them
  std::optional<std::pair<double, double>> path_ends;  // of torchsde's path, smallest σ first, if they differ from those of the steps
  struct Ends {
    double from, to;
    int64_t steps;
  };
  std::optional<Ends> ends;                  // dpm_fast, dpm_adaptive: first and last σ and step count; the levels are ignored
  bool first_order_last = false;             // dpmpp_2m: the last step is one of first order
  int64_t runge_kutta_calls = 0;             // plms: number of calls at the start that are PNDM's Runge–Kutta steps
  std::vector<int64_t> disabled_correctors;  // unipc_multistep: steps without a corrector
  std::vector<double> left_out;              // σ of the steps that the run skipped, newest first: diffusers counts them

  // Options of the sampler that implements the class, as the scheduler's file sets them.
  SchedulerClass scheduler = SchedulerClass::pndm;
  std::map<std::string, double, std::less<>> solver;

  bool bounds_estimates() const { return clip || thresholding; }
  std::vector<float> timesteps() const;  // at each call
  std::vector<float> sigmas() const;     // sigma/alpha (σ on flow paths) at each call and at the end
};

// How a run's schedule is chosen; by default as the class does with its config.
struct ScheduleChoice {
  std::string name = "default";          // canonical
  std::optional<Spacing> spacing;        // as the class does, but with this spacing
  std::optional<Curve> curve;            // the class's own form of Karras', exponential or beta σ
  const SigmaSchedule* sigma = nullptr;  // a definition on the model's noise levels
  ScheduleOptions options;               // of `sigma`
  Values sigmas;                         // the user's own list
  bool drops_penultimate = false;        // one more step is computed and the next-to-last level is dropped

  bool gives_sigmas() const { return sigma || !sigmas.empty(); }
  Values make(const ModelSigmas& model, int64_t n) const;
  std::string text() const;  // complete: "karras:rho=5", "sigmas:14.6,7,0"
};

// Schedules by name:
//   default                      as the class does with its config
//   leading, trailing, linspace  the same with that spacing
//   karras, exponential, beta_a1111
//       without options the class's own form (use_karras_sigmas …) under Form::diffusers:
//         σ-classes (Euler, Heun, LMS …)   between the σ of the first and last timestep of the spacing; fractional timesteps
//         DPM++ and related, DDIM          between the ends of the table; integer timesteps
//   any other name, or with options: sigma_schedules.h; timesteps by interpolation of ln σ in the table, fractional
// Case and separators do not matter. UsageError for an unknown name or option.
enum class Form { diffusers, peers };
ScheduleChoice find_schedule(std::string_view name, const ScheduleOptions& options = {}, Form form = Form::diffusers);

// The user's own σ; the last must be 0 unless `open_end`. UsageError as check_sigmas.
ScheduleChoice given_sigmas(Values sigmas, SigmaFamily family, bool open_end = false);

struct ScheduleName {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view summary;
};
std::span<const ScheduleName> schedule_names();

// UsageError unless 1 ≤ steps, and unless steps ≤ num_train_timesteps if timesteps must be integers of the table: all cases but linspace
// under the σ-classes and curves of σ. (DPM++ and related classes with leading spacing: one less, because they space over steps + 1; LCM
// and TCD: original_steps.) UsageError for a list of σ whose length is not steps + 1. UnsupportedError for σ if a class has only times of
// its own (PNDM, SCM, IPNDM, Wuerstchen). Cases in which diffusers fails or misbehaves, and what happens here:
//   - leading with an offset reaches timesteps past the table (1000 steps of 1000, offset 1): DDIM and PNDM stop at the last one
//     (diffusers: IndexError); Euler uses the last σ and timestep 1000, as diffusers does
//   - trailing: for some n (61, 103, 121 …) the floating-point count of diffusers yields one more timestep, −1; it is dropped
//   - ᾱ = 0 (DDIM, zero terminal SNR) with ε-prediction: UnsupportedError, x₀ cannot be recovered from the noise (diffusers: NaN)
//   - PNDM with Runge–Kutta steps and fewer than 4 steps: UsageError (diffusers: a numpy error)
Schedule make_schedule(const SchedulerConfig& config, const ScheduleChoice& choice, int64_t steps);

}  // namespace hearth::sampling
