// Schedules: which noise levels n steps go through, as pure functions in f64 of the levels that the model knows. Definitions are those of
// k-diffusion, ComfyUI, A1111/Forge and stable-diffusion.cpp; where two of them disagree under one name, each form has a name.
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

// What σ means: noise beside x₀ of weight 1 (ε- and v-prediction, EDM), or the share of noise in a mixture (flow).
enum class SigmaFamily { exploding, flow };

// The levels that a model was trained on, one per training step, and those in between.
struct ModelSigmas {
  SigmaFamily family;
  Values table;                            // increasing
  std::function<double(double)> sigma_at;  // at a time; the ends of the table beyond them
  std::function<double(double)> time_of;   // where on the time axis of sigma_at `normal` and `sgm_uniform` begin and end for this σ

  // From the σ of a noise table. Times count its entries; between them ln σ is linear.
  static ModelSigmas exploding(std::span<const float> sigmas);
  // Entry i is the shifted (i + 1)/n; times run from 0 to n. time_of(σ) is n·σ, the network's time, not the inverse of sigma_at: as in
  // ComfyUI, `normal` therefore shifts the lower end twice.
  static ModelSigmas flow(double shift, int64_t n = 1000);

  double least() const { return table.front(); }
  double most() const { return table.back(); }
};

using ScheduleOptions = std::map<std::string, double, std::less<>>;

struct ScheduleOption {
  std::string_view name, summary;
  double least, most;  // range, both ends included
  double value;        // default; NaN: the model's own end
};

struct SigmaSchedule {
  using Make = Values (*)(const ModelSigmas&, int64_t n, const ScheduleOptions&);  // options are complete and in range

  std::string_view name;  // canonical
  std::span<const std::string_view> aliases;
  std::string_view summary;
  std::span<const ScheduleOption> options;
  enum class Models { any, exploding, flow } models;
  int64_t most_steps;  // 0: as many as one likes; −1: as many as the table has entries
  Make make;
};

// All of them, in the order of docs and listings.
std::span<const SigmaSchedule> sigma_schedules();

// By name or alias; case, spaces, underscores, hyphens and "++"/"pp" do not matter. nullptr for an unknown one.
const SigmaSchedule* find_sigma_schedule(std::string_view name);

// σ from the largest to the last, which is 0 (for `laplace` and `kl_optimal_a1111` the least σ). One value more than there are steps;
// `beta`, `smoothstep` and `ddim_uniform` may have other numbers of steps than asked for. Steps of one: σ_max and 0 unless the definition
// says else. UsageError for an option that the schedule does not have or a value out of range, for steps below 1 or above what the table
// can give, and for a schedule of the other family.
Values make_sigmas(const SigmaSchedule& schedule, const ModelSigmas& model, int64_t n, const ScheduleOptions& options = {});

// UsageError unless the list, as a user gives it, has two values at least, all finite, each below the one before, none negative and, unless
// `open_end`, the last 0; for flow models none above 1.
void check_sigmas(std::span<const double> sigmas, SigmaFamily family, bool open_end = false);

}  // namespace hearth::sampling
