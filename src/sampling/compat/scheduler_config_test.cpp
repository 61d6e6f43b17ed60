#include "sampling/compat/scheduler_config.h"

#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "core/error.h"

namespace hearth::sampling {
namespace {

using enum SchedulerClass;

SchedulerConfig read(const std::string& json, std::string_view class_name) {
  return SchedulerConfig::read(Config::parse(json, "scheduler_config.json"), class_name);
}

template <class E> std::string message_of(const std::string& json, std::string_view class_name) {
  try {
    read(json, class_name);
  } catch (const E& e) { return e.what(); }
  return "nothing thrown";
}

const std::string sd1 =
    R"({"_class_name": "PNDMScheduler", "_diffusers_version": "0.6.0", "beta_end": 0.012, "beta_schedule": "scaled_linear",
  "beta_start": 0.00085, "num_train_timesteps": 1000, "set_alpha_to_one": false, "skip_prk_steps": true, "steps_offset": 1,
  "trained_betas": null, "clip_sample": false})";

// The config of the published SD 1 checkpoints under each class: omitted keys take the class's defaults.
TEST(SchedulerConfig, another_class_keeps_what_the_file_states_and_takes_its_own_defaults) {
  const SchedulerConfig pndm_config = read(sd1, "PNDMScheduler");
  EXPECT_EQ(pndm_config.spacing, Spacing::leading);
  EXPECT_EQ(pndm_config.beta_schedule, BetaSchedule::scaled_linear);
  EXPECT_EQ(pndm_config.steps_offset, 1);
  for (const SchedulerClass c : {pndm, ddim, ddpm, lcm, tcd, cogvideox_ddim, cogvideox_dpm, euler, euler_ancestral, heun, lms, kdpm2,
                                 kdpm2_ancestral, dpm_sde, dpmpp_multistep, unipc, deis, sa_solver, dpm_singlestep}) {
    const SchedulerConfig s = pndm_config.with_class(c);
    const bool by_timesteps = c == pndm || c == ddim || c == ddpm || c == lcm || c == tcd || c == cogvideox_ddim || c == cogvideox_dpm;
    EXPECT_EQ(s.scheduler, c);
    EXPECT_EQ(s.beta_end, 0.012) << name_of(c);
    EXPECT_EQ(s.steps_offset, c == dpm_singlestep ? 0 : 1) << name_of(c);
    EXPECT_EQ(s.spacing, by_timesteps ? Spacing::leading : Spacing::linspace) << name_of(c);
    EXPECT_EQ(s.set_alpha_to_one, c == ddpm) << name_of(c);
    EXPECT_FALSE(s.clip) << name_of(c);
  }
}

// Networks of another kind do not support these classes, and these networks do not support the others.
TEST(SchedulerConfig, classes_of_other_networks_are_refused) {
  const SchedulerConfig diffusion = read("{}", "DDIMScheduler"), flow = read(R"({"shift": 3})", "FlowMatchEulerDiscreteScheduler");
  for (const SchedulerClass c : {flow_euler, flow_heun, flow_lcm, ltx_euler_ancestral, edm_euler, edm_dpm, scm, ipndm, wuerstchen})
    EXPECT_THROW(diffusion.with_class(c), UnsupportedError) << name_of(c);
  for (const SchedulerClass c : {ddim, pndm, ddpm, tcd, edm_euler, scm}) EXPECT_THROW(flow.with_class(c), UnsupportedError) << name_of(c);
  // The samplers in σ and λ use the noise levels of a flow network.
  for (const SchedulerClass c : {euler, heun, lms, dpmpp_multistep, unipc}) {
    EXPECT_EQ(flow.with_class(c).scheduler, flow_euler) << name_of(c);
    EXPECT_EQ(flow.with_class(c).shift, 3) << name_of(c);
  }
  EXPECT_EQ(flow.with_class(flow_heun).scheduler, flow_heun);
}

TEST(SchedulerConfig, each_class_has_the_defaults_of_diffusers) {
  for (const SchedulerClass c : scheduler_classes()) {
    const SchedulerConfig s = read("{}", name_of(c));
    SCOPED_TRACE(name_of(c));
    EXPECT_EQ(s.num_train_timesteps, 1000);
    EXPECT_EQ(s.steps_offset, 0);
    EXPECT_EQ(s.set_alpha_to_one, c == ddim || c == ddpm || c == lcm || c == tcd || c == cogvideox_ddim || c == cogvideox_dpm);
    EXPECT_EQ(s.clip, c == ddim || c == ddpm ? std::optional(1.0) : std::nullopt);
    EXPECT_EQ(s.lambda_min_clipped, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(s.lower_order_final, c != dpm_singlestep);
    EXPECT_FALSE(s.skips_prk);
  }
  const auto table = [](std::string_view name) {
    const SchedulerConfig s = read("{}", name);
    return std::tuple(s.beta_start, s.beta_end, s.beta_schedule);
  };
  for (const char* name : {"PNDMScheduler", "DDIMScheduler", "EulerDiscreteScheduler", "LMSDiscreteScheduler",
                           "DPMSolverMultistepScheduler", "UniPCMultistepScheduler", "DDPMScheduler"})
    EXPECT_EQ(table(name), std::tuple(0.0001, 0.02, BetaSchedule::linear)) << name;
  for (const char* name : {"HeunDiscreteScheduler", "KDPM2DiscreteScheduler", "KDPM2AncestralDiscreteScheduler", "DPMSolverSDEScheduler"})
    EXPECT_EQ(table(name), std::tuple(0.00085, 0.012, BetaSchedule::linear)) << name;
  for (const char* name : {"LCMScheduler", "TCDScheduler", "CogVideoXDDIMScheduler", "CogVideoXDPMScheduler"})
    EXPECT_EQ(table(name), std::tuple(0.00085, 0.012, BetaSchedule::scaled_linear)) << name;
  EXPECT_EQ(read("{}", "CogVideoXDDIMScheduler").snr_shift, 3);
  EXPECT_EQ(read("{}", "EDMEulerScheduler").prediction, Prediction::edm);
  EXPECT_EQ(read("{}", "EDMEulerScheduler").sigma_data, 0.5);
  EXPECT_EQ(read("{}", "FlowMatchEulerDiscreteScheduler").prediction, Prediction::flow);
  EXPECT_EQ(read(R"({"invert_sigmas": true})", "FlowMatchEulerDiscreteScheduler").prediction, Prediction::reverse_flow);
  EXPECT_EQ(read("{}", "SCMScheduler").prediction, Prediction::trigflow);
}

// Recorded from StableDiffusionPipeline and from_config of diffusers 0.39.0 on these files.
TEST(SchedulerConfig, stable_diffusion_sets_the_offset_and_never_clips) {
  const auto offset_and_clip = [](const SchedulerConfig& s) { return std::pair{s.steps_offset, s.clip.has_value()}; };
  const std::string nothing = R"({"skip_prk_steps": true})", offset = R"({"skip_prk_steps": true, "steps_offset": 0})",
                    both = R"({"skip_prk_steps": true, "steps_offset": 0, "clip_sample": true})";
  EXPECT_EQ(offset_and_clip(read(nothing, "DDIMScheduler").in_stable_diffusion()), std::pair(int64_t(1), false));
  EXPECT_EQ(offset_and_clip(read(both, "DDIMScheduler").in_stable_diffusion()), std::pair(int64_t(1), false));
  EXPECT_EQ(offset_and_clip(read(both, "DDIMScheduler").in_stable_diffusion(true)), std::pair(int64_t(1), true));
  EXPECT_EQ(offset_and_clip(read(both, "PNDMScheduler").in_stable_diffusion(true).with_class(ddim)), std::pair(int64_t(1), true));
  EXPECT_EQ(offset_and_clip(read(nothing, "DDIMScheduler").in_stable_diffusion().with_class(ddim)), std::pair(int64_t(1), false));
  // Then DDIMScheduler.from_config(pipe.scheduler.config):
  EXPECT_EQ(offset_and_clip(read(nothing, "PNDMScheduler").in_stable_diffusion().with_class(ddim)), std::pair(int64_t(0), true));
  EXPECT_EQ(offset_and_clip(read(offset, "PNDMScheduler").in_stable_diffusion().with_class(ddim)), std::pair(int64_t(1), true));
  EXPECT_EQ(offset_and_clip(read(both, "PNDMScheduler").in_stable_diffusion().with_class(ddim)), std::pair(int64_t(1), false));
  EXPECT_EQ(read(offset, "PNDMScheduler").in_stable_diffusion().with_class(euler).steps_offset, 1);
  EXPECT_EQ(read(nothing, "DDIMScheduler").in_stable_diffusion().with_class(euler).steps_offset, 0);
}

TEST(SchedulerConfig, plms_of_another_class_needs_no_skip_prk_steps) {
  EXPECT_EQ(read("{}", "EulerDiscreteScheduler").with_class(pndm).scheduler, pndm);
  EXPECT_TRUE(read("{}", "EulerDiscreteScheduler").with_class(pndm).skips_prk);
  EXPECT_FALSE(read("{}", "PNDMScheduler").skips_prk);
}

TEST(SchedulerConfig, python_infinity_is_read) {
  EXPECT_EQ(read(R"({"lambda_min_clipped": -Infinity})", "DPMSolverMultistepScheduler").lambda_min_clipped,
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read(R"({"lambda_min_clipped": -5.1})", "DPMSolverMultistepScheduler").lambda_min_clipped, -5.1);
}

TEST(SchedulerConfig, unknown_class_is_refused_by_name) {
  const std::string told = message_of<UnsupportedError>("{}", "KarrasVeScheduler");
  EXPECT_EQ(told.substr(0, 121),
            "scheduler_config.json: scheduler class 'KarrasVeScheduler' is not supported, expected one of PNDMScheduler, DDIMScheduler");
}

struct Refused {
  const char* class_name;
  const char* json;
  const char* named;  // the text that the message must contain
};

TEST(SchedulerConfig, what_is_not_built_is_refused_by_key_and_value) {
  const Refused refused[] = {
      {"PNDMScheduler", R"({"skip_prk_steps": true, "prediction_type": "sample"})", "prediction_type"},
      {"PNDMScheduler", R"({"skip_prk_steps": true, "beta_schedule": "sigmoid"})", "sigmoid"},
      {"DDIMScheduler", R"({"timestep_spacing": "log"})", "timestep_spacing"},
      {"EulerAncestralDiscreteScheduler", R"({"prediction_type": "sample"})", "sample"},
      {"KDPM2DiscreteScheduler", R"({"prediction_type": "sample"})", "sample"},
      {"EulerDiscreteScheduler", R"({"use_karras_sigmas": true, "use_beta_sigmas": true})", "use_beta_sigmas"},
      {"EulerDiscreteScheduler", R"({"final_sigmas_type": "one"})", "final_sigmas_type"},
      {"EulerDiscreteScheduler", R"({"interpolation_type": "cubic"})", "interpolation_type"},
      {"EulerDiscreteScheduler", R"({"timestep_type": "odd"})", "timestep_type"},
      {"EulerDiscreteScheduler", R"({"prediction_type": "flow_prediction"})", "flow_prediction"},
      {"DPMSolverMultistepScheduler", R"({"solver_order": 4})", "solver_order"},
      {"DPMSolverMultistepScheduler", R"({"solver_type": "trapezoid"})", "solver_type"},
      {"DPMSolverMultistepScheduler", R"({"algorithm_type": "dpmsolver+++"})", "algorithm_type"},
      {"DPMSolverMultistepScheduler", R"({"algorithm_type": "deis"})", "final_sigmas_type"},
      {"DPMSolverMultistepScheduler", R"({"algorithm_type": "dpmsolver"})", "final_sigmas_type"},
      {"DPMSolverMultistepScheduler", R"({"algorithm_type": "sde-dpmsolver", "solver_order": 3, "final_sigmas_type": "sigma_min"})",
       "solver_order"},
      {"DPMSolverMultistepScheduler", R"({"use_flow_sigmas": true})", "use_flow_sigmas"},
      {"DPMSolverMultistepScheduler", R"({"prediction_type": "flow_prediction"})", "use_flow_sigmas"},
      {"DPMSolverMultistepScheduler", R"({"prediction_type": "flow_prediction", "use_flow_sigmas": true, "use_karras_sigmas": true})",
       "another curve"},
      {"UniPCMultistepScheduler", R"({"prediction_type": "flow_prediction", "use_flow_sigmas": true, "use_exponential_sigmas": true})",
       "another curve"},
      {"DPMSolverMultistepScheduler", R"({"variance_type": "learned_range"})", "variance_type"},
      {"DPMSolverSinglestepScheduler", R"({"algorithm_type": "sde-dpmsolver", "final_sigmas_type": "sigma_min"})", "algorithm_type"},
      {"EDMDPMSolverMultistepScheduler", R"({"algorithm_type": "dpmsolver", "final_sigmas_type": "sigma_min"})", "algorithm_type"},
      {"UniPCMultistepScheduler", R"({"solver_p": {"_class_name": "DDIMScheduler"}})", "solver_p"},
      {"UniPCMultistepScheduler", R"({"solver_order": 7})", "solver_order"},
      {"SASolverScheduler", R"({"corrector_order": 5})", "corrector_order"},
      {"SASolverScheduler", R"({"algorithm_type": "data"})", "algorithm_type"},
      {"DDPMScheduler", R"({"variance_type": "learned_range"})", "variance_type"},
      {"DDPMScheduler", R"({"variance_type": "fixed_large_log"})", "fixed_large_log"},
      {"DPMSolverSDEScheduler", R"({"noise_sampler_seed": 3})", "noise_sampler_seed"},
      {"FlowMatchLCMScheduler", R"({"scale_factors": [0.5]})", "scale_factors"},
      {"FlowMatchLCMScheduler", R"({"invert_sigmas": true})", "invert_sigmas"},
      {"FlowMatchEulerDiscreteScheduler", R"({"invert_sigmas": true, "stochastic_sampling": true})", "stochastic_sampling"},
      {"FlowMatchEulerDiscreteScheduler", R"({"time_shift_type": "cubic"})", "time_shift_type"},
      {"SCMScheduler", R"({"prediction_type": "epsilon"})", "prediction_type"},
      {"IPNDMScheduler", R"({"trained_betas": [0.5, 0.1]})", "trained_betas"},
      {"EulerDiscreteScheduler", R"({"brand_new_key": 3})", "brand_new_key"},
      {"DDPMWuerstchenScheduler", R"({"brand_new_key": 3})", "brand_new_key"},
  };
  for (const auto& [class_name, json, named] : refused)
    EXPECT_NE(message_of<UnsupportedError>(json, class_name).find(named), std::string::npos) << class_name << " " << json;
}

// Keys of other classes remain in files that have been through several classes; under this class they change nothing, as in diffusers.
TEST(SchedulerConfig, keys_of_other_classes_have_no_effect) {
  const SchedulerConfig s = read(R"({"skip_prk_steps": true, "use_karras_sigmas": true, "rescale_betas_zero_snr": true, "solver_p": null,
    "predict_x0": true, "solver_order": 3, "thresholding": true})",
                                 "PNDMScheduler");
  EXPECT_EQ(s.curve, Curve::spacing);
  EXPECT_FALSE(s.rescale_betas_zero_snr);
}

TEST(SchedulerConfig, values_of_the_wrong_kind_are_named) {
  EXPECT_NE(message_of<WeightError>(R"({"beta_start": "a"})", "DDIMScheduler").find("beta_start"), std::string::npos);
  EXPECT_NE(message_of<WeightError>(R"({"num_train_timesteps": 0})", "DDIMScheduler").find("num_train_timesteps"), std::string::npos);
  EXPECT_NE(message_of<WeightError>(R"({"steps_offset": -1})", "DDIMScheduler").find("steps_offset"), std::string::npos);
  EXPECT_NE(message_of<WeightError>(R"({"trained_betas": [0.1, 0.2]})", "DDIMScheduler").find("trained_betas"), std::string::npos);
}

}  // namespace
}  // namespace hearth::sampling
