#include "sampling/scheduler_config.h"

#include <gtest/gtest.h>

#include <limits>

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

// The file of the published SD 1 checkpoints under each class: what it omits takes the class's default.
TEST(SchedulerConfig, another_class_keeps_what_the_file_states_and_takes_its_own_defaults) {
  const SchedulerConfig pndm_config = read(sd1, "PNDMScheduler");
  EXPECT_EQ(pndm_config.spacing, Spacing::leading);
  EXPECT_EQ(pndm_config.beta_schedule, BetaSchedule::scaled_linear);
  EXPECT_EQ(pndm_config.steps_offset, 1);
  for (const SchedulerClass c : scheduler_classes()) {
    const SchedulerConfig s = pndm_config.with_class(c);
    EXPECT_EQ(s.scheduler, c);
    EXPECT_EQ(s.beta_end, 0.012) << name_of(c);
    EXPECT_EQ(s.steps_offset, 1) << name_of(c);
    EXPECT_EQ(s.spacing, c == pndm || c == ddim ? Spacing::leading : Spacing::linspace) << name_of(c);
    EXPECT_FALSE(s.set_alpha_to_one) << name_of(c);
    EXPECT_FALSE(s.clip) << name_of(c);
  }
}

TEST(SchedulerConfig, each_class_has_the_defaults_of_diffusers) {
  for (const SchedulerClass c : scheduler_classes()) {
    const SchedulerConfig s = read(R"({"skip_prk_steps": true})", name_of(c));
    EXPECT_EQ(s.num_train_timesteps, 1000);
    EXPECT_EQ(s.beta_start, 0.0001);
    EXPECT_EQ(s.beta_end, 0.02);
    EXPECT_EQ(s.beta_schedule, BetaSchedule::linear);
    EXPECT_EQ(s.prediction, Prediction::epsilon);
    EXPECT_EQ(s.steps_offset, 0);
    EXPECT_EQ(s.set_alpha_to_one, c == ddim);
    EXPECT_EQ(s.clip, c == ddim ? std::optional(1.0) : std::nullopt);
    EXPECT_EQ(s.lambda_min_clipped, -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(s.lower_order_final);
  }
}

// Told by running StableDiffusionPipeline and from_config of diffusers 0.39.0 on these files.
TEST(SchedulerConfig, stable_diffusion_sets_the_offset_and_never_clips) {
  const auto offset_and_clip = [](const SchedulerConfig& s) { return std::pair{s.steps_offset, s.clip.has_value()}; };
  const std::string nothing = R"({"skip_prk_steps": true})", offset = R"({"skip_prk_steps": true, "steps_offset": 0})",
                    both = R"({"skip_prk_steps": true, "steps_offset": 0, "clip_sample": true})";
  EXPECT_EQ(offset_and_clip(read(nothing, "DDIMScheduler").in_stable_diffusion()), std::pair(int64_t(1), false));
  EXPECT_EQ(offset_and_clip(read(both, "DDIMScheduler").in_stable_diffusion()), std::pair(int64_t(1), false));
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
  EXPECT_EQ(message_of<UnsupportedError>("{}", "PNDMScheduler"),
            "scheduler_config.json: PNDMScheduler with 'skip_prk_steps' false is not supported, needed true");
}

TEST(SchedulerConfig, python_infinity_is_read) {
  EXPECT_EQ(read(R"({"lambda_min_clipped": -Infinity})", "DPMSolverMultistepScheduler").lambda_min_clipped,
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read(R"({"lambda_min_clipped": -5.1})", "DPMSolverMultistepScheduler").lambda_min_clipped, -5.1);
}

TEST(SchedulerConfig, unknown_class_is_refused_by_name) {
  EXPECT_EQ(message_of<UnsupportedError>("{}", "LMSDiscreteScheduler"),
            "scheduler_config.json: scheduler class 'LMSDiscreteScheduler' is not supported; supported: PNDMScheduler, DDIMScheduler, "
            "EulerDiscreteScheduler, EulerAncestralDiscreteScheduler, DPMSolverMultistepScheduler");
}

struct Refused {
  const char* class_name;
  const char* json;
  const char* named;  // what the message must name
};

TEST(SchedulerConfig, what_is_not_built_is_refused_by_key_and_value) {
  const Refused refused[] = {
      {"PNDMScheduler", R"({"skip_prk_steps": true, "prediction_type": "sample"})", "prediction_type"},
      {"PNDMScheduler", R"({"skip_prk_steps": true, "beta_schedule": "sigmoid"})", "sigmoid"},
      {"DDIMScheduler", R"({"thresholding": true})", "thresholding"},
      {"DDIMScheduler", R"({"timestep_spacing": "log"})", "timestep_spacing"},
      {"EulerAncestralDiscreteScheduler", R"({"prediction_type": "sample"})", "sample"},
      {"EulerDiscreteScheduler", R"({"use_exponential_sigmas": true})", "use_exponential_sigmas"},
      {"EulerDiscreteScheduler", R"({"use_beta_sigmas": true})", "use_beta_sigmas"},
      {"EulerDiscreteScheduler", R"({"final_sigmas_type": "one"})", "final_sigmas_type"},
      {"EulerDiscreteScheduler", R"({"interpolation_type": "cubic"})", "interpolation_type"},
      {"EulerDiscreteScheduler", R"({"timestep_type": "odd"})", "timestep_type"},
      {"DPMSolverMultistepScheduler", R"({"solver_order": 3})", "solver_order"},
      {"DPMSolverMultistepScheduler", R"({"solver_type": "heun"})", "solver_type"},
      {"DPMSolverMultistepScheduler", R"({"algorithm_type": "sde-dpmsolver++"})", "algorithm_type"},
      {"DPMSolverMultistepScheduler", R"({"algorithm_type": "deis"})", "final_sigmas_type"},
      {"DPMSolverMultistepScheduler", R"({"thresholding": true})", "thresholding"},
      {"DPMSolverMultistepScheduler", R"({"use_lu_lambdas": true})", "use_lu_lambdas"},
      {"DPMSolverMultistepScheduler", R"({"use_flow_sigmas": true})", "use_flow_sigmas"},
      {"DPMSolverMultistepScheduler", R"({"use_exponential_sigmas": true})", "use_exponential_sigmas"},
      {"DPMSolverMultistepScheduler", R"({"use_beta_sigmas": true})", "use_beta_sigmas"},
      {"DPMSolverMultistepScheduler", R"({"use_dynamic_shifting": true})", "use_dynamic_shifting"},
      {"DPMSolverMultistepScheduler", R"({"variance_type": "learned_range"})", "variance_type"},
      {"DPMSolverMultistepScheduler", R"({"prediction_type": "flow_prediction"})", "flow_prediction"},
      {"EulerDiscreteScheduler", R"({"brand_new_key": 3})", "brand_new_key"},
  };
  for (const auto& [class_name, json, named] : refused)
    EXPECT_NE(message_of<UnsupportedError>(json, class_name).find(named), std::string::npos) << class_name << " " << json;
}

// Keys of other classes stay in files that have been through several; under this class they change nothing, as in diffusers.
TEST(SchedulerConfig, keys_of_other_classes_have_no_effect) {
  const SchedulerConfig s = read(R"({"skip_prk_steps": true, "use_karras_sigmas": true, "rescale_betas_zero_snr": true, "solver_p": null,
    "predict_x0": true, "solver_order": 3, "thresholding": true})",
                                 "PNDMScheduler");
  EXPECT_FALSE(s.karras);
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
