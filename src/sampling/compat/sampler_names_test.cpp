// Names as other programs write them: all labels and internal names of A1111 (1.0 to 1.10) and Forge, names of InvokeAI, Draw Things,
// stable-diffusion.cpp and diffusers' classes.
#include "sampling/compat/sampler_names.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "core/error.h"
#include "sampling/compat/compat.h"
#include "sampling/compat/run_schedule.h"
#include "sampling/compat/scheduler_samplers.h"
#include "sampling/names.h"
#include "sampling/samplers.h"
#include "support/complaint.h"

namespace hearth::sampling {
namespace {

struct Row {
  const char *name, *sampler, *schedule;
};

// Sampler and schedule in one; "" if the name has no schedule.
constexpr Row rows[] = {
    // A1111 before 1.9, and since
    {"DPM++ 2M Karras", "dpmpp_2m", "karras"},
    {"DPM++ SDE Karras", "dpmpp_sde", "karras"},
    {"DPM++ 2M SDE Exponential", "dpmpp_2m_sde", "exponential"},
    {"DPM++ 2M SDE Karras", "dpmpp_2m_sde", "karras"},
    {"Euler a", "euler_ancestral", ""},
    {"Euler", "euler", ""},
    {"LMS", "lms", ""},
    {"Heun", "heun", ""},
    {"DPM2", "dpm_2", ""},
    {"DPM2 a", "dpm_2_ancestral", ""},
    {"DPM++ 2S a", "dpmpp_2s_ancestral", ""},
    {"DPM++ 2M", "dpmpp_2m", ""},
    {"DPM++ SDE", "dpmpp_sde", ""},
    {"DPM++ 2M SDE", "dpmpp_2m_sde", ""},
    {"DPM++ 2M SDE Heun", "dpmpp_2m_sde_heun", ""},
    {"DPM++ 2M SDE Heun Karras", "dpmpp_2m_sde_heun", "karras"},
    {"DPM++ 2M SDE Heun Exponential", "dpmpp_2m_sde_heun", "exponential"},
    {"DPM++ 3M SDE", "dpmpp_3m_sde", ""},
    {"DPM++ 3M SDE Karras", "dpmpp_3m_sde", "karras"},
    {"DPM++ 3M SDE Exponential", "dpmpp_3m_sde", "exponential"},
    {"DPM fast", "dpm_fast", ""},
    {"DPM adaptive", "dpm_adaptive", ""},
    {"LMS Karras", "lms", "karras"},
    {"DPM2 Karras", "dpm_2", "karras"},
    {"DPM2 a Karras", "dpm_2_ancestral", "karras"},
    {"DPM++ 2S a Karras", "dpmpp_2s_ancestral", "karras"},
    {"Restart", "restart", ""},
    {"DDIM", "ddim", ""},
    {"DDIM CFG++", "ddim_cfg_pp", ""},
    {"PLMS", "plms", ""},
    {"UniPC", "uni_pc", ""},
    {"LCM", "lcm", ""},
    {"HeunPP2", "heunpp2", ""},
    {"IPNDM", "ipndm", ""},
    {"IPNDM_V", "ipndm_v", ""},
    {"DEIS", "deis", ""},
    {"Euler SGM Uniform", "euler", "sgm_uniform"},
    {"DPM++ 2M Align Your Steps", "dpmpp_2m", "ays"},
    {"DPM++ 2M KL Optimal", "dpmpp_2m", "kl_optimal"},
    {"Euler a Automatic", "euler_ancestral", "automatic"},
    {"Euler Uniform", "euler", "normal"},
    {"DPM++ 2M Beta", "dpmpp_2m", "beta"},
    // its internal names
    {"k_euler_a", "euler_ancestral", ""},
    {"k_dpmpp_2m_ka", "dpmpp_2m", "karras"},
    {"k_dpmpp_sde_ka", "dpmpp_sde", "karras"},
    {"k_dpmpp_2m_sde_exp", "dpmpp_2m_sde", "exponential"},
    {"k_dpmpp_2m_sde_ka", "dpmpp_2m_sde", "karras"},
    {"k_dpmpp_2m_sde_heun_ka", "dpmpp_2m_sde_heun", "karras"},
    {"k_dpmpp_2m_sde_heun_exp", "dpmpp_2m_sde_heun", "exponential"},
    {"k_dpmpp_3m_sde_ka", "dpmpp_3m_sde", "karras"},
    {"k_dpmpp_3m_sde_exp", "dpmpp_3m_sde", "exponential"},
    {"k_lms_ka", "lms", "karras"},
    {"k_dpm_2_ka", "dpm_2", "karras"},
    {"k_dpm_2_a_ka", "dpm_2_ancestral", "karras"},
    {"k_dpmpp_2s_a_ka", "dpmpp_2s_ancestral", "karras"},
    {"k_dpm_ad", "dpm_adaptive", ""},
    {"ddim_cfgpp", "ddim_cfg_pp", ""},
    {"restart", "restart", ""},
    // Forge
    {"Euler A Turbo", "euler_ancestral", "turbo"},
    {"DPM++ 2M Turbo", "dpmpp_2m", "turbo"},
    {"DPM++ 2M SDE Turbo", "dpmpp_2m_sde", "turbo"},
    {"DPM++ 2M SDE AYS", "dpmpp_2m_sde", "ays"},
    {"LCM Karras", "lcm", "karras"},
    {"Euler SGMUniform", "euler", "sgm_uniform"},
    {"Euler A SGMUniform", "euler_ancestral", "sgm_uniform"},
    {"DPM++ 2M SGMUniform", "dpmpp_2m", "sgm_uniform"},
    {"DPM++ 2M SDE SGMUniform", "dpmpp_2m_sde", "sgm_uniform"},
    {"dpmpp_2m_sde_sgm_uniform", "dpmpp_2m_sde", "sgm_uniform"},
    {"Euler CFG++", "euler_cfg_pp", ""},
    {"DDPM Karras", "ddpm", "karras"},
    // InvokeAI
    {"ddim", "ddim", ""},
    {"ddpm", "ddpm", ""},
    {"deis", "deis", ""},
    {"deis_k", "deis", "karras"},
    {"lms_k", "lms", "karras"},
    {"pndm", "plms", ""},
    {"heun_k", "heun", "karras"},
    {"euler_k", "euler", "karras"},
    {"euler_a", "euler_ancestral", ""},
    {"kdpm_2", "dpm_2", ""},
    {"kdpm_2_k", "dpm_2", "karras"},
    {"kdpm_2_a", "dpm_2_ancestral", ""},
    {"kdpm_2_a_k", "dpm_2_ancestral", "karras"},
    {"dpmpp_2s", "dpm_solver_singlestep", ""},
    {"dpmpp_2s_k", "dpm_solver_singlestep", "karras"},
    {"dpmpp_2m_k", "dpmpp_2m", "karras"},
    {"dpmpp_2m_sde_k", "dpmpp_2m_sde", "karras"},
    {"dpmpp_3m", "dpm_solver_multistep", ""},
    {"dpmpp_3m_k", "dpm_solver_multistep", "karras"},
    {"dpmpp_sde_k", "dpmpp_sde", "karras"},
    {"unipc", "uni_pc", ""},
    {"unipc_k", "uni_pc", "karras"},
    {"er_sde", "er_sde", ""},
    {"lcm", "lcm", ""},
    {"tcd", "tcd", ""},
    // Draw Things
    {"Euler A Trailing", "euler_ancestral", "trailing"},
    {"DPM++ SDE Trailing", "dpmpp_sde", "trailing"},
    {"DPM++ 2M Trailing", "dpmpp_2m", "trailing"},
    {"DPM++ 2M AYS", "dpmpp_2m", "ays"},
    {"Euler A AYS", "euler_ancestral", "ays"},
    {"DPM++ SDE AYS", "dpmpp_sde", "ays"},
    {"DDIM Trailing", "ddim", "trailing"},
    {"UniPC Trailing", "uni_pc", "trailing"},
    {"UniPC AYS", "uni_pc", "ays"},
    {"TCD Trailing", "tcd", "trailing"},
    {"dpmpp2mkarras", "dpmpp_2m", "karras"},
    // stable-diffusion.cpp
    {"dpm2", "dpm_2", ""},
    {"dpm++2s_a", "dpmpp_2s_ancestral", ""},
    {"dpm++2m", "dpmpp_2m", ""},
    {"dpm++2mv2", "dpmpp_2m_v2", ""},
    {"ddim_trailing", "ddim", "trailing"},
    {"dpm++2m_sde_bt", "dpmpp_2m_sde", ""},
    {"euler_ge", "gradient_estimation", ""},
    {"res_2s", "res_2s", ""},
    // ComfyUI's sampler and schedule in one word, as other programs write them
    {"dpmpp_2m_sde_gpu_karras", "dpmpp_2m_sde", "karras"},
    {"euler_ancestral_sgm_uniform", "euler_ancestral", "sgm_uniform"},
    // diffusers
    {"EulerAncestralDiscrete", "euler_ancestral", ""},
    {"EulerAncestralDiscreteScheduler", "euler_ancestral", ""},
    {"DPMSolverMultistep", "dpm_solver_multistep", ""},
    {"dpmsolversinglestep", "dpm_solver_singlestep", ""},
    {"KDPM2AncestralDiscrete", "dpm_2_ancestral", ""},
    {"FlowMatchEulerDiscrete", "euler", ""},
};

TEST(SamplerNames, sampler_and_schedule_in_one) {
  for (const auto& [name, sampler, schedule] : rows) {
    const NamedSampler read = read_sampler_name(name);
    EXPECT_EQ(read.sampler->name, std::string_view(sampler)) << name;
    EXPECT_EQ(read.schedule, schedule) << name;
    EXPECT_EQ(read.options.empty(), folded(name).find("dpmpp3m") != 0 || folded(name).find("sde") != std::string::npos) << name;
  }
  EXPECT_EQ(read_sampler_name("DPMPP_3M_K").options, (Options{{"solver_order", 3.0}}));
}

// Three of them are then a sampler's own name.
TEST(SamplerNames, every_class_without_its_last_word) {
  std::map<std::string_view, std::string_view> others{
      {"DPMSolverMultistep", "dpm_solver_multistep"}, {"SASolver", "sa_solver"}, {"IPNDM", "ipndm"}};
  for (const SchedulerClass c : scheduler_classes()) {
    const std::string name(name_of(c));
    ASSERT_TRUE(name.ends_with("Scheduler"));
    EXPECT_EQ(read_sampler_name(name).sampler->name, sampler_name_of_class(name)) << name;
    const std::string without = name.substr(0, name.size() - 9);
    const auto other = others.find(without);
    EXPECT_EQ(read_sampler_name(without).sampler->name, other == others.end() ? sampler_name_of_class(name) : other->second) << name;
  }
}

// A name composed of any sampler and schedule is parsed as these two, or it is a sampler's own name.
TEST(SamplerNames, no_name_is_put_together_in_two_ways) {
  for (const Sampler& s : samplers()) {
    std::vector<std::string_view> names{s.name};
    names.insert(names.end(), s.aliases.begin(), s.aliases.end());
    for (const std::string_view name : names)
      for (const ScheduleName& schedule : schedule_names()) {
        const std::string both = std::string(name) + " " + std::string(schedule.name);
        const NamedSampler read = read_sampler_name(both);
        if (folded(both) == "ipndmvp" || folded(both) == "sasolvervp") continue;  // these are samplers
        EXPECT_EQ(read.sampler, &s) << both;
        EXPECT_EQ(read.schedule, schedule.name) << both;
      }
  }
  EXPECT_EQ(read_sampler_name("ipndm vp").sampler->name, "ipndm_vp");
  EXPECT_EQ(read_sampler_name("SA-Solver VP").sampler->name, "sa_solver_vp");
}

TEST(SamplerNames, two_schedules_are_one_or_a_complaint) {
  EXPECT_EQ(read_sampler_name("Euler", "simple").schedule, "simple");
  for (const char* same : {"", "karras", "Karras", "automatic", "Automatic"})
    EXPECT_EQ(read_sampler_name("DPM++ 2M Karras", same).schedule, "karras") << same;
  EXPECT_EQ(read_sampler_name("DPM++ 2M Uniform", "normal").schedule, "normal");
  EXPECT_EQ(test::complaint_of([] { read_sampler_name("DPM++ 2M Karras", "exponential"); }),
            "UsageError: sampler 'DPM++ 2M Karras' includes the schedule karras, but the schedule is 'exponential', expected one of them");
  EXPECT_NE(test::complaint_of([] { read_sampler_name("DPM++ 2M Karras", "default"); }), "");
}

// A1111's names of published tables select those that the model's family declares.
TEST(RunSchedule, a1111s_published_tables_follow_the_model) {
  const auto own = SchedulerConfig::read(
      Config::parse(R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"})", "test"), "EulerDiscreteScheduler");
  const Sampler& euler = find_sampler("euler");
  static constexpr std::pair<std::string_view, std::string_view> of_large_images[] = {
      {"ays", "ays_sdxl"}, {"ays_11", "ays_sdxl"}, {"ays_32", "ays_32_sdxl"}, {"gits", "gits_sdxl"}, {"gits_a1111", "gits_sdxl"}};
  const auto name = [&](const char* label, Compat compat, bool large) {
    ScheduleRequest request{.compat = compat, .name = label};
    if (large) request.step_tables = of_large_images;
    return run_schedule(own, euler, request, 10).name;
  };
  const std::array<const char*, 3> tables[] = {{"Align Your Steps", "ays_11", "ays_sdxl_11"},
                                               {"Align Your Steps 11", "ays_11", "ays_sdxl_11"},
                                               {"Align Your Steps 32", "ays_32", "ays_32_sdxl"},
                                               {"Align Your Steps GITS", "gits_a1111", "gits_sdxl_a1111"},
                                               {"ays_sd15", "ays_11", "ays_11"},
                                               {"ays_sdxl", "ays_sdxl_11", "ays_sdxl_11"},
                                               {"Karras", "karras", "karras"}};
  for (const auto& [label, sd15, sdxl] : tables) {
    EXPECT_EQ(name(label, Compat::a1111, false), sd15) << label;
    EXPECT_EQ(name(label, Compat::a1111, true), sdxl) << label;
  }
  for (const Compat compat : {Compat::hearth, Compat::comfyui}) EXPECT_EQ(name("ays", compat, true), "ays");
}

// A1111 including Forge. Every sampler is in one of the lists.
TEST(SamplerNames, of_what_a_program_has_are_taken_under_its_conventions) {
  std::set<std::string_view> listed;
  const auto expect = [&](std::initializer_list<std::string_view> names, bool comfyui, bool a1111) {
    for (const std::string_view name : names) {
      const Sampler& s = find_sampler(name);
      EXPECT_EQ(s.name, name);
      for (const Compat c : {Compat::hearth, Compat::diffusers}) EXPECT_FALSE(has_own_schedule(c, s)) << name;
      for (const auto& [compat, program, has] :
           {std::tuple{Compat::comfyui, "ComfyUI", comfyui}, std::tuple{Compat::a1111, "A1111", a1111}}) {
        const std::string complaint = test::complaint_of([&, c = compat] { EXPECT_TRUE(has_own_schedule(c, s)); });
        EXPECT_EQ(complaint,
                  has ? "" : fmt::format("UsageError: sampler '{}': not available in {}, expected another sampler", name, program));
      }
      listed.insert(name);
    }
  };
  expect({"ddim", "ddpm", "deis", "dpm_2", "dpm_2_ancestral", "dpm_adaptive", "dpm_fast", "dpmpp_2m", "dpmpp_2m_sde", "dpmpp_2m_sde_heun",
          "dpmpp_2s_ancestral"},
         true, true);
  expect({"dpmpp_3m_sde", "dpmpp_sde", "euler", "euler_ancestral", "heun", "heunpp2", "ipndm", "ipndm_v", "lcm", "lms", "uni_pc",
          "uni_pc_bh2"},
         true, true);
  expect({"dpmpp_2m_cfg_pp", "dpmpp_2s_ancestral_cfg_pp", "er_sde", "euler_ancestral_cfg_pp", "euler_cfg_pp", "exp_heun_2_x0",
          "exp_heun_2_x0_sde", "gradient_estimation", "gradient_estimation_cfg_pp", "res_multistep", "res_multistep_ancestral",
          "res_multistep_ancestral_cfg_pp", "res_multistep_cfg_pp", "sa_solver", "sa_solver_pece", "seeds_2", "seeds_3"},
         true, false);
  expect({"ddim_cfg_pp", "plms", "restart"}, false, true);
  expect({"cogvideox_dpm", "deis_multistep", "dpm_solver_multistep", "dpm_solver_singlestep", "dpmpp_2m_v2", "ipndm_vp", "res_2s",
          "sa_solver_vp", "scm", "tcd", "unipc_multistep"},
         false, false);
  EXPECT_EQ(listed.size(), samplers().size());
}

TEST(SamplerNames, what_is_no_name) {
  for (const char* name : {"karras", "ddim_uniform", "Align Your Steps GITS"})
    EXPECT_NE(test::complaint_of([&] { read_sampler_name(name); }).find("UsageError: sampler '"), std::string::npos) << name;
  EXPECT_EQ(test::complaint_of([] { read_sampler_name("ddim_uniform"); }),
            "UsageError: sampler 'ddim_uniform' is a schedule, expected a sampler");
  for (const char* name : {"", "k", "Euler A Substep", "Karras Euler", "euler karras karras", "DPM++ 2M Karrass"})
    EXPECT_NE(test::complaint_of([&] { read_sampler_name(name); }).find("is unknown, expected one of "), std::string::npos) << name;
}

}  // namespace
}  // namespace hearth::sampling
