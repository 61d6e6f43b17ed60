// A diffusers scheduler_config.json, interpreted as the scheduler class that runs it does.
//
// Each key is applied, ignored because that class ignores it, or rejected by name. A key that the file omits takes the default of the
// class (diffusers 0.39.0). The class is the one that model_index.json names; `_class_name` inside the file is ignored.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/config.h"
#include "sampling/schedules/flow_schedules.h"

namespace hearth::sampling {

// What the network predicts.
enum class Prediction {
  epsilon,       // the noise
  v,             // the velocity α·noise − σ·x₀ (σ_data·… for EDM networks)
  sample,        // x₀
  flow,          // noise − x₀
  reverse_flow,  // x₀ − noise, with times in reverse (Mochi)
  edm,           // Karras et al. 2022: x₀ with c_skip and c_out
  trigflow,      // SANA-Sprint: a flow network, used along cos t·x₀ + sin t·noise
};
enum class Spacing { leading, trailing, linspace };
enum class BetaSchedule { linear, scaled_linear, squaredcos_cap_v2, exp, sigmoid, laplace };
// Where σ come from: the timesteps of the spacing, or a curve between two endpoints.
enum class Curve { spacing, karras, exponential, beta, lu, flow };
enum class SchedulerClass {
  pndm,
  ddim,
  euler,
  euler_ancestral,
  dpmpp_multistep,
  heun,
  lms,
  kdpm2,
  kdpm2_ancestral,
  dpm_sde,
  dpm_singlestep,
  unipc,
  deis,
  sa_solver,
  ipndm,
  ddpm,
  lcm,
  tcd,
  scm,
  flow_euler,
  flow_heun,
  flow_lcm,
  ltx_euler_ancestral,
  edm_euler,
  edm_dpm,
  cogvideox_ddim,
  cogvideox_dpm,
  wuerstchen,
};

std::string_view name_of(SchedulerClass c);  // "PNDMScheduler", …
std::optional<SchedulerClass> scheduler_class(std::string_view name);
std::span<const SchedulerClass> scheduler_classes();

// Saharia et al. 2022 (arXiv 2205.11487): x̂₀ is clipped at the quantile `ratio` of |x̂₀| of its image, 1 at least and `most` at most, and
// divided by it.
struct Thresholding {
  double ratio = 0.995, most = 1;
};

struct SchedulerConfig {
  SchedulerClass scheduler = SchedulerClass::pndm;

  // The noise table.
  int64_t num_train_timesteps = 1000;
  double beta_start = 0.0001, beta_end = 0.02;
  BetaSchedule beta_schedule = BetaSchedule::linear;
  std::vector<double> trained_betas;  // replaces the three above if not empty
  bool rescale_betas_zero_snr = false;
  double snr_shift = 1;  // CogVideoX: ᾱ/(s + (1 − s)·ᾱ)

  Prediction prediction = Prediction::epsilon;
  double sigma_data = 1;  // EDM, TrigFlow: the standard deviation of x₀

  // The path through it.
  Spacing spacing = Spacing::leading;
  int64_t steps_offset = 0;                    // added to leading timesteps
  Curve curve = Curve::spacing;                // of the σ-classes
  double rho = 7;                              // of Karras' σ
  std::optional<double> sigma_min, sigma_max;  // ends of a curve; absent: those of the table or of the spacing
  bool set_alpha_to_one = false;               // the last step ends at σ = 0; false: at the level of timestep 0
  bool ends_at_sigma_min = false;              // final_sigmas_type "sigma_min"
  bool log_linear = false;                     // Euler: interpolation_type "log_linear"
  bool continuous_timesteps = false;           // Euler with v-prediction: the timestep is ln(σ)/4
  double lambda_min_clipped = 0;               // no timestep below this ln(α/σ); read() sets −∞ if absent
  bool lower_order_final = true, euler_at_final = false;
  std::vector<int64_t> disabled_correctors;  // UniPC: steps without a corrector
  bool skips_prk = false;                    // PNDM: no Runge–Kutta steps at the start
  int64_t original_steps = 50;               // LCM, TCD: number of timesteps of the distillation
  double scaler = 1, offset = 0.008;         // Wuerstchen's cosine

  // Flow models.
  double shift = 1;
  bool even_times = false;     // the family's pipelines run the class on flow_times(n), not on its own times
  bool dynamic_shift = false;  // the shift depends on the image's size; `mu` is required
  std::optional<double> mu;
  TimeShift time_shift = TimeShift::exponential;
  MuLine mu_line;
  std::optional<double> shift_terminal;

  // How each x̂₀ is bounded.
  std::optional<double> clip;  // clipped to [-clip, clip]
  std::optional<Thresholding> thresholding;

  // Options of the sampler that implements the class (listed in its row), as the file sets them.
  std::map<std::string, double, std::less<>> solver;

  // Reads `c` for the class of that name. UnsupportedError names the class, or the key and value, that is not supported;
  // WeightError for a value of the wrong type.
  static SchedulerConfig read(const Config& c, std::string_view class_name);

  // The same file under another class, as diffusers' from_config does it: keys that the file states are kept, and omitted keys take the
  // other class's defaults. (SD 1's published file has no timestep_spacing: PNDM uses leading, Euler linspace.) PNDM always means its
  // PLMS form here, regardless of the file's skip_prk_steps. UnsupportedError if the other class is for another kind of network: flow, EDM
  // and TrigFlow networks do not share classes with the others.
  SchedulerConfig with_class(SchedulerClass other) const;

  // The changes that some of diffusers' pipelines make on loading: steps_offset becomes 1 and clipping is turned off; …InpaintPipeline
  // keeps clipping (`clips`). If another class follows (with_class), the changes hold for those of the two keys that the file states.
  SchedulerConfig in_stable_diffusion(bool clips = false) const;

 private:
  SchedulerConfig own_levels() const;

  Config source_;
  bool in_stable_diffusion_ = false, clips_ = false;
};

// Values of options with named choices, in the order of their indices; the first is the default.
inline constexpr std::string_view dpm_algorithms[] = {"dpmsolver++", "sde-dpmsolver++", "dpmsolver", "sde-dpmsolver"};
inline constexpr std::string_view dpm_solver_types[] = {"midpoint", "heun"};
inline constexpr std::string_view unipc_solver_types[] = {"bh2", "bh1"};
inline constexpr std::string_view sa_algorithms[] = {"data_prediction", "noise_prediction"};
inline constexpr std::string_view ddpm_variances[] = {"fixed_small", "fixed_small_log", "fixed_large"};

}  // namespace hearth::sampling
