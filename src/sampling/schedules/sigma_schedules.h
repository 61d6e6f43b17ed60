// Schedules: the noise levels of n steps, as pure functions in f64 of the model's noise levels. Definitions are those of
// k-diffusion, ComfyUI, A1111/Forge and stable-diffusion.cpp; if two of them differ under one name, each form has a name of its own.
//
//   const ModelSigmas model = ModelSigmas::exploding(table.sigmas);
//   const Values sigmas = make_sigmas(find_sigma_schedule("karras"), model, 20, {{"rho", 5}});
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/schedules/flow_schedules.h"

namespace hearth::sampling {

// What σ means: standard deviation of noise added to x₀ of weight 1 (ε- and v-prediction, EDM), or share of noise in a mixture (flow).
enum class SigmaFamily { exploding, flow };

// The noise levels that a model was trained on, one per training step, and those in between.
struct ModelSigmas {
  SigmaFamily family;
  Values table;                            // increasing
  std::function<double(double)> sigma_at;  // at a time, clamped to the ends of the table
  std::function<double(double)> time_of;   // the time at which `normal` and `sgm_uniform` place this σ when they start or end there

  // From the σ of a noise table. Times count its entries; between them ln σ is linear.
  static ModelSigmas exploding(std::span<const float> sigmas);
  // Entry i is the shifted (i + 1)/n; times run from 0 to n. time_of(σ) is n·σ, the network's timestep, not the inverse of sigma_at: as in
  // ComfyUI, `normal` therefore shifts the lower end twice.
  static ModelSigmas flow(double shift, int64_t n = 1000);

  double least() const { return table.front(); }
  double most() const { return table.back(); }
};

using ScheduleOptions = std::map<std::string, double, std::less<>>;

struct ScheduleOption {
  std::string_view name, summary;
  double least, most;  // range, both ends included
  double value;        // default; NaN: the end of the model's own range
};

struct SigmaSchedule {
  using Make = Values (*)(const ModelSigmas&, int64_t n, const ScheduleOptions&);  // options are complete and in range

  std::string_view name;  // canonical
  std::span<const std::string_view> aliases;
  std::string_view summary;
  std::span<const ScheduleOption> options;
  enum class Models { any, exploding, flow } models;
  int64_t most_steps;  // 0: no limit; −1: as many as the table has entries
  Make make;
};

// All schedules, in the order of documentation and listings.
std::span<const SigmaSchedule> sigma_schedules();

// By name or alias; case, spaces, underscores, hyphens and "++"/"pp" do not matter. nullptr for an unknown one.
const SigmaSchedule* find_sigma_schedule(std::string_view name);

// σ from the largest to the last, which is 0 (for `laplace` and `kl_optimal_a1111` the smallest σ). There is one value more than steps;
// `beta`, `smoothstep` and `ddim_uniform` may return another number of steps than requested. One step gives σ_max and 0 unless the
// definition differs. UsageError for an option that the schedule does not have or a value out of range, for fewer than 1 step or more
// steps than the table supports, and for a schedule of the other family.
Values make_sigmas(const SigmaSchedule& schedule, const ModelSigmas& model, int64_t n, const ScheduleOptions& options = {});

// Checks a user's list. UsageError unless it has at least two values, all finite, none negative, each below the one before and, unless
// `open_end`, the last 0; for flow models none may be above 1.
void check_sigmas(std::span<const double> sigmas, SigmaFamily family, bool open_end = false);

}  // namespace hearth::sampling
