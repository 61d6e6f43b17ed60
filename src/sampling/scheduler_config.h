// A diffusers scheduler_config.json, as the scheduler class that runs it understands it.
//
// Five classes are supported: PNDMScheduler, DDIMScheduler, EulerDiscreteScheduler, EulerAncestralDiscreteScheduler and
// DPMSolverMultistepScheduler. A key is honoured, or has no effect under that class, or is refused by name; a key that a file
// omits takes the default of the class (diffusers 0.39.0). The class is the one that model_index.json names; `_class_name`
// inside the file has no say.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"

namespace hearth::sampling {

enum class Prediction { epsilon, v, sample };  // what the network answers: the noise, the velocity α·noise − σ·x₀, or x₀
enum class Spacing { leading, trailing, linspace };
enum class BetaSchedule { linear, scaled_linear, squaredcos_cap_v2 };
enum class SchedulerClass { pndm, ddim, euler, euler_ancestral, dpmpp_multistep };

std::string_view name_of(SchedulerClass c);  // "PNDMScheduler", …
std::optional<SchedulerClass> scheduler_class(std::string_view name);
std::span<const SchedulerClass> scheduler_classes();

struct SchedulerConfig {
  SchedulerClass scheduler = SchedulerClass::pndm;

  // The noise table.
  int64_t num_train_timesteps = 1000;
  double beta_start = 0.0001, beta_end = 0.02;
  BetaSchedule beta_schedule = BetaSchedule::linear;
  std::vector<double> trained_betas;  // where given, instead of the three above
  bool rescale_betas_zero_snr = false;

  Prediction prediction = Prediction::epsilon;

  // The way through it.
  Spacing spacing = Spacing::leading;
  int64_t steps_offset = 0;                    // added to leading timesteps
  bool set_alpha_to_one = false;               // PNDM, DDIM: the last step ends without noise, otherwise at the level of timestep 0
  std::optional<double> clip;                  // DDIM: x̂₀ is clipped to [-clip, clip]
  bool karras = false;                         // Euler, DPM++: σ by Karras et al. 2022
  std::optional<double> sigma_min, sigma_max;  // ends of the Karras σ; those of the table where absent
  bool ends_at_sigma_min = false;              // Euler, DPM++: final_sigmas_type "sigma_min"
  bool log_linear = false;                     // Euler: interpolation_type "log_linear"
  bool continuous_timesteps = false;           // Euler with v-prediction: the network is told ln(σ)/4
  bool lower_order_final = true, euler_at_final = false;  // DPM++
  double lambda_min_clipped = 0;                          // DPM++: no timestep below this ln(α/σ); read() sets -∞ where absent

  // Reads `c` for the class of that name. UnsupportedError names what is not supported: the class, or key and value;
  // WeightError for a value of the wrong kind.
  static SchedulerConfig read(const Config& c, std::string_view class_name);

  // The same file under another class, as diffusers' from_config does it: what the file states is kept, what it omits takes
  // the other class's default. (SD 1's published file has no timestep_spacing: PNDM goes leading, Euler linspace.) PNDM always
  // means its PLMS form here, whatever the file says of skip_prk_steps.
  SchedulerConfig with_class(SchedulerClass other) const;

  // What diffusers' StableDiffusionPipeline makes of it on loading: steps_offset is 1 and nothing is clipped. With another
  // class afterwards (with_class) this holds for those two keys only where the file states them.
  SchedulerConfig in_stable_diffusion() const;

 private:
  Config source_;
  bool in_stable_diffusion_ = false;
};

}  // namespace hearth::sampling
