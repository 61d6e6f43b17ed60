// A schedule: the noise levels of a run, step by step. Equal to what diffusers' `set_timesteps` prepares.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sampling/noise_table.h"
#include "sampling/path.h"
#include "sampling/scheduler_config.h"

namespace hearth::sampling {

// One model call and the update after it. `at` is where the network is asked; the update goes `from` → `to`. at and from
// differ in PLMS' second call only, and `to` need not be the next step's `at`: DDIM and PNDM count down by
// num_train_timesteps / n, which on linspace and trailing spacing is not the next timestep of the list.
struct Step {
  Level at, from, to;
};

struct Schedule {
  std::vector<Step> steps;                      // n of them; n + 1 for plms (n ≥ 2); as many as diffusers makes in the cases told below
  float init_scale = 1;                         // x starts as this times standard normal noise
  Prediction prediction = Prediction::epsilon;  // plms keeps its history in what the network answers
  Path path;                                    // the curve that the levels lie on
  std::optional<double> clip;                   // ddim: x̂₀ is clipped to [-clip, clip]
  std::vector<int> orders;                      // of each step, where a sampler's own plan says so
  bool first_order_last = false;                // dpmpp_2m: the last step is one of first order

  std::vector<float> timesteps() const;  // of each call
  std::vector<float> sigmas() const;     // sigma/alpha of each call and of the end
};

// Schedules by name: "default" (what the class does with its config) and "karras" (Karras et al. 2022, arXiv 2206.00364,
// equation 5 with ρ = 7, then 0).
//   euler, euler_ancestral   between the σ of the first and last timestep of the spacing; fractional timesteps
//   dpmpp_2m, ddim           between the ends of the table; whole timesteps (kept fractional, then cut off, for squaredcos_cap_v2)
//   plms                     refused: its weights hold for evenly spaced timesteps
// Case and separators do not matter. UsageError lists the names for an unknown one; UnsupportedError for one that is known but
// not built.
enum class ScheduleKind { standard, karras };
ScheduleKind find_schedule(std::string_view name);

struct ScheduleName {
  std::string_view name, summary;
};
std::span<const ScheduleName> schedule_names();

// UsageError unless 1 ≤ steps; and where timesteps must be whole numbers of the table (all but linspace under the σ-classes and
// "karras"), unless steps ≤ num_train_timesteps (DPM++ with leading spacing: one less, it spaces over steps + 1).
// Where diffusers fails or runs astray, and what happens here:
//   - leading with an offset reaches timesteps past the table (1000 steps of 1000, offset 1): DDIM and PNDM stop at the last one
//     (diffusers: IndexError); Euler takes the last σ and tells the network 1000, as diffusers does
//   - trailing: for some n (61, 103, 121 …) the floating-point count of diffusers yields one timestep more, −1; it is left out
//   - ᾱ = 0 (DDIM, zero terminal SNR) with ε-prediction: UnsupportedError, x₀ cannot be told from the noise (diffusers: NaN)
Schedule make_schedule(const SchedulerConfig& config, ScheduleKind kind, int64_t steps);

}  // namespace hearth::sampling
