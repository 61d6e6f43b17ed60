#include "sampling/scheduler_config.h"

#include <array>
#include <limits>
#include <utility>

#include "core/error.h"

namespace hearth::sampling {
namespace {

struct ClassName {
  SchedulerClass scheduler;
  std::string_view name;
};
constexpr std::array classes{
    ClassName{SchedulerClass::pndm, "PNDMScheduler"},
    ClassName{SchedulerClass::ddim, "DDIMScheduler"},
    ClassName{SchedulerClass::euler, "EulerDiscreteScheduler"},
    ClassName{SchedulerClass::euler_ancestral, "EulerAncestralDiscreteScheduler"},
    ClassName{SchedulerClass::dpmpp_multistep, "DPMSolverMultistepScheduler"},
};

template <class E> struct Choice {
  std::string_view text;
  E value;
};

// The value of a key that names one of several ways.
template <class E, size_t n>
E choice(const Config& c, std::string_view key, std::string_view otherwise, const std::array<Choice<E>, n>& choices) {
  const std::string text = c.text(key, std::string(otherwise));
  std::string known;
  for (const auto& choice : choices) {
    if (choice.text == text) return choice.value;
    known += (known.empty() ? "" : ", ") + std::string(choice.text);
  }
  fail<UnsupportedError>("{}: '{}' is \"{}\", which is not supported; supported: {}", c.where(), key, text, known);
}

constexpr std::array beta_schedules{Choice<BetaSchedule>{"linear", BetaSchedule::linear},
                                    Choice<BetaSchedule>{"scaled_linear", BetaSchedule::scaled_linear},
                                    Choice<BetaSchedule>{"squaredcos_cap_v2", BetaSchedule::squaredcos_cap_v2}};
constexpr std::array spacings{Choice<Spacing>{"leading", Spacing::leading}, Choice<Spacing>{"trailing", Spacing::trailing},
                              Choice<Spacing>{"linspace", Spacing::linspace}};
constexpr std::array predictions{Choice<Prediction>{"epsilon", Prediction::epsilon}, Choice<Prediction>{"v_prediction", Prediction::v},
                                 Choice<Prediction>{"sample", Prediction::sample}};
// PNDMScheduler and EulerAncestralDiscreteScheduler refuse "sample" too.
constexpr std::array predictions_without_sample{Choice<Prediction>{"epsilon", Prediction::epsilon},
                                                Choice<Prediction>{"v_prediction", Prediction::v}};
constexpr std::array final_sigmas{Choice<bool>{"zero", false}, Choice<bool>{"sigma_min", true}};

std::optional<double> optional_number(const Config& c, std::string_view key) {
  if (!c.has(key)) return std::nullopt;
  return c.number(key);
}

void read_table(const Config& c, SchedulerConfig& s) {
  s.num_train_timesteps = c.integer("num_train_timesteps", 1000);
  if (s.num_train_timesteps < 1) fail<WeightError>("{}: 'num_train_timesteps' is {}, needed at least 1", c.where(), s.num_train_timesteps);
  s.beta_start = c.number("beta_start", 0.0001);
  s.beta_end = c.number("beta_end", 0.02);
  s.beta_schedule = choice(c, "beta_schedule", "linear", beta_schedules);
  s.trained_betas = c.numbers("trained_betas", std::vector<double>{});
  if (!s.trained_betas.empty() && int64_t(s.trained_betas.size()) != s.num_train_timesteps)
    fail<WeightError>("{}: 'trained_betas' holds {} values, needed num_train_timesteps = {}", c.where(), s.trained_betas.size(),
                      s.num_train_timesteps);
}

void read_sigma_keys(const Config& c, SchedulerConfig& s) {
  s.karras = c.boolean("use_karras_sigmas", false);
  c.only("use_exponential_sigmas", false);
  c.only("use_beta_sigmas", false);
  s.sigma_min = optional_number(c, "sigma_min");
  s.sigma_max = optional_number(c, "sigma_max");
  s.ends_at_sigma_min = choice(c, "final_sigmas_type", "zero", final_sigmas);
}

void read_dpmpp(const Config& c, SchedulerConfig& s) {
  c.only("algorithm_type", {"dpmsolver++", "deis"});  // diffusers reads "deis" and the solver types of other classes as its own
  if (c.text("algorithm_type", "dpmsolver++") == "deis" && !s.ends_at_sigma_min)
    fail<UnsupportedError>("{}: 'algorithm_type' \"deis\" needs 'final_sigmas_type' \"sigma_min\"", c.where());
  c.only("solver_type", {"midpoint", "logrho", "bh1", "bh2"});
  c.only_number("solver_order", 2);
  c.only("thresholding", false);
  c.only("use_lu_lambdas", false);
  c.only("use_flow_sigmas", false);
  c.only("use_dynamic_shifting", false);
  c.only_null("variance_type");
  s.lower_order_final = c.boolean("lower_order_final", true);
  s.euler_at_final = c.boolean("euler_at_final", false);
  s.lambda_min_clipped = c.number("lambda_min_clipped", s.lambda_min_clipped);
}

// What the class at hand does not read: keys of the other four classes, then keys that only further classes of diffusers read.
// A file that has been through several classes carries them all.
void ignore_foreign_keys(const Config& c) {
  c.no_effect({"algorithm_type",
               "clip_sample",
               "clip_sample_range",
               "dynamic_thresholding_ratio",
               "euler_at_final",
               "final_sigmas_type",
               "flow_shift",
               "interpolation_type",
               "lambda_min_clipped",
               "lower_order_final",
               "rescale_betas_zero_snr",
               "sample_max_value",
               "set_alpha_to_one",
               "sigma_max",
               "sigma_min",
               "skip_prk_steps",
               "solver_order",
               "solver_type",
               "thresholding",
               "time_shift_type",
               "timestep_type",
               "use_beta_sigmas",
               "use_dynamic_shifting",
               "use_exponential_sigmas",
               "use_flow_sigmas",
               "use_karras_sigmas",
               "use_lu_lambdas",
               "variance_type"});
  c.no_effect({"clip_denoised", "corrector_order", "disable_corrector", "eta", "gamma", "invert_sigmas", "noise_sampler_seed",
               "original_inference_steps", "predict_x0", "predictor_order", "rho", "sigma_data", "sigma_schedule", "shift", "solver_p",
               "stochastic_sampling", "tau_func", "timestep_scaling"});
}

enum class PrkSteps { as_stated, skipped };

SchedulerConfig read_as(const Config& c, SchedulerClass scheduler, PrkSteps prk) {
  using enum SchedulerClass;
  SchedulerConfig s;
  s.scheduler = scheduler;
  s.lambda_min_clipped = -std::numeric_limits<double>::infinity();
  read_table(c, s);
  const bool vp_form = scheduler == pndm || scheduler == ddim;
  s.spacing = choice(c, "timestep_spacing", vp_form ? "leading" : "linspace", spacings);
  s.steps_offset = c.integer("steps_offset", 0);
  if (s.steps_offset < 0) fail<WeightError>("{}: 'steps_offset' is {}, needed at least 0", c.where(), s.steps_offset);
  s.prediction = scheduler == pndm || scheduler == euler_ancestral ? choice(c, "prediction_type", "epsilon", predictions_without_sample)
                                                                   : choice(c, "prediction_type", "epsilon", predictions);
  if (scheduler != pndm) s.rescale_betas_zero_snr = c.boolean("rescale_betas_zero_snr", false);

  switch (scheduler) {
    case pndm:
      if (prk == PrkSteps::as_stated && !c.boolean("skip_prk_steps", false))
        fail<UnsupportedError>("{}: PNDMScheduler with 'skip_prk_steps' false is not supported, needed true", c.where());
      s.set_alpha_to_one = c.boolean("set_alpha_to_one", false);
      break;
    case ddim:
      s.set_alpha_to_one = c.boolean("set_alpha_to_one", true);
      c.only("thresholding", false);
      if (c.boolean("clip_sample", true)) s.clip = c.number("clip_sample_range", 1.0);
      break;
    case euler:
      read_sigma_keys(c, s);
      s.log_linear = choice(c, "interpolation_type", "linear", std::array{Choice<bool>{"linear", false}, Choice<bool>{"log_linear", true}});
      s.continuous_timesteps =
          choice(c, "timestep_type", "discrete", std::array{Choice<bool>{"discrete", false}, Choice<bool>{"continuous", true}}) &&
          s.prediction == Prediction::v;
      break;
    case euler_ancestral: break;
    case dpmpp_multistep:
      read_sigma_keys(c, s);
      read_dpmpp(c, s);
      break;
  }
  ignore_foreign_keys(c);
  c.finish();
  return s;
}

}  // namespace

std::string_view name_of(SchedulerClass c) {
  for (const auto& entry : classes)
    if (entry.scheduler == c) return entry.name;
  return "";
}

std::optional<SchedulerClass> scheduler_class(std::string_view name) {
  for (const auto& entry : classes)
    if (entry.name == name) return entry.scheduler;
  return std::nullopt;
}

std::span<const SchedulerClass> scheduler_classes() {
  using enum SchedulerClass;
  static constexpr std::array all{pndm, ddim, euler, euler_ancestral, dpmpp_multistep};
  return all;
}

SchedulerConfig SchedulerConfig::read(const Config& c, std::string_view class_name) {
  const auto scheduler = scheduler_class(class_name);
  if (!scheduler) {
    std::string known;
    for (const auto& entry : classes) known += (known.empty() ? "" : ", ") + std::string(entry.name);
    fail<UnsupportedError>("{}: scheduler class '{}' is not supported; supported: {}", c.where(), class_name, known);
  }
  SchedulerConfig s = read_as(c, *scheduler, PrkSteps::as_stated);
  s.source_ = c;
  return s;
}

SchedulerConfig SchedulerConfig::with_class(SchedulerClass other) const {
  if (other == scheduler) return *this;
  SchedulerConfig s = read_as(source_, other, PrkSteps::skipped);
  s.source_ = source_;
  s.in_stable_diffusion_ = in_stable_diffusion_;
  if (in_stable_diffusion_ && source_.has("steps_offset")) s.steps_offset = 1;
  if (in_stable_diffusion_ && source_.has("clip_sample")) s.clip.reset();
  return s;
}

SchedulerConfig SchedulerConfig::in_stable_diffusion() const {
  SchedulerConfig s = *this;
  s.steps_offset = 1;
  s.clip.reset();
  s.in_stable_diffusion_ = true;
  return s;
}

}  // namespace hearth::sampling
