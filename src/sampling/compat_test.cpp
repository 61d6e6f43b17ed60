#include "sampling/compat.h"

#include <cmath>

#include "core/config.h"
#include "sampling/noise_sources.h"
#include "sampling/samplers.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::sampling {
namespace {

const SchedulerConfig& sd() {
  static const SchedulerConfig config = SchedulerConfig::read(
      Config::parse(R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"})", "config"), "EulerDiscreteScheduler");
  return config;
}

Schedule schedule_of(Compat compat, const Sampler& sampler, const char* name, int64_t steps) {
  return own_schedule(compat, sd(), sampler, own_choice(compat, sampler, name), steps);
}
Schedule schedule_of(Compat compat, const char* sampler, const char* name, int64_t steps) {
  return schedule_of(compat, find_sampler(sampler), name, steps);
}

std::string name_found(Compat compat, const Sampler& sampler, const char* name) { return own_choice(compat, sampler, name).name; }

BACKEND_TEST(CompatNoise, comes_from_the_programs_sources) {
  const Shape shape{2, 3, 5, 4};
  const Schedule schedule = schedule_of(Compat::comfyui, "euler", "karras", 4);
  const auto values = [&](const NoiseDraws& d, int64_t k) { return d(device, shape, k).to_vector(); };
  const auto drawn = [&](Compat compat, NoiseRequest r) {
    Noise noise = make_noise(compat, r, schedule);
    std::vector<std::vector<float>> all;
    for (int i = 0; i < 3; ++i) all.push_back(noise(device, shape).to_vector());
    return all;
  };
  using All = std::vector<std::vector<float>>;
  const auto each = torch_draws(5, Generators::per_image), one = torch_draws(5, Generators::one), next = torch_draws(6, Generators::one);
  EXPECT_EQ(drawn(Compat::hearth, {.seed = 5}), (All{values(each, 0), values(each, 1), values(each, 2)}));
  EXPECT_EQ(drawn(Compat::diffusers, {.seed = 5}), (All{values(one, 0), values(one, 1), values(one, 2)}));
  EXPECT_EQ(drawn(Compat::comfyui, {.seed = 5}), (All{values(one, 0), values(next, 0), values(next, 1)}));
  EXPECT_EQ(drawn(Compat::comfyui, {.seed = 5, .first_image = 2}),
            (All{values(torch_indexed_draws(5, 2), 0), values(next, 0), values(next, 1)}));
  const auto nv = nv_draws(5), later = nv_draws(36);
  EXPECT_EQ(drawn(Compat::a1111, {.seed = 5}), (All{values(nv, 0), values(nv, 1), values(nv, 2)}));
  EXPECT_EQ(drawn(Compat::a1111, {.seed = 5, .eta_seed_delta = 31}), (All{values(nv, 0), values(later, 0), values(later, 1)}));
  // A given first noise takes the place of the first draw; diffusers' generator has drawn nothing yet then.
  const Tensor given = Tensor::from(device, {2, 4, 3, 5}, test::test_values("given", shape.numel()));
  const auto first = values(given_draw(given), 0);
  EXPECT_EQ(drawn(Compat::diffusers, {.seed = 5, .given = given}), (All{first, values(one, 0), values(one, 1)}));
  EXPECT_EQ(drawn(Compat::comfyui, {.seed = 5, .given = given}), (All{first, values(next, 0), values(next, 1)}));
  EXPECT_EQ(drawn(Compat::a1111, {.seed = 5, .given = given}), (All{first, values(nv, 1), values(nv, 2)}));
  EXPECT_EQ(drawn(Compat::a1111, {.seed = 5, .eta_seed_delta = 31, .given = given}), (All{first, values(later, 0), values(later, 1)}));
}

BACKEND_TEST(CompatNoise, of_sde_samplers_is_torchsdes_between_the_schedules_ends) {
  const Shape shape{2, 3, 5, 4};
  const Schedule schedule = schedule_of(Compat::comfyui, "euler", "karras", 4);
  const double low = schedule.steps.back().from.sigma, high = schedule.steps.front().from.sigma;
  const auto between = [&](Compat compat) {
    return make_noise(compat, {.seed = 5}, schedule).between(device, shape, 9.5, 2.25).to_vector();
  };
  EXPECT_EQ(between(Compat::comfyui), torchsde_increments(5, Generators::one, low, high)(device, shape, 9.5, 2.25).to_vector());
  EXPECT_EQ(between(Compat::a1111), torchsde_increments(5, Generators::per_image, low, high)(device, shape, 9.5, 2.25).to_vector());
  EXPECT_EQ(between(Compat::hearth), octave_increments(5)(device, shape, 9.5, 2.25).to_vector());
}

TEST(CompatSchedule, tells_the_network_whole_times_as_comfyui_or_fractions_as_a1111) {
  const Schedule comfy = schedule_of(Compat::comfyui, "euler", "karras", 10), a1111 = schedule_of(Compat::a1111, "euler", "karras", 10);
  ASSERT_EQ(comfy.steps.size(), 10u);
  int fractions = 0;
  for (size_t i = 0; i < 10; ++i) {
    const Level a = comfy.steps[i].at, b = a1111.steps[i].at;
    EXPECT_EQ(a.sigma, b.sigma);
    EXPECT_EQ(a.alpha, 1);
    EXPECT_EQ(a.timestep, std::round(a.timestep));
    EXPECT_NEAR(a.timestep, b.timestep, 0.5);
    fractions += b.timestep != std::round(b.timestep);
  }
  EXPECT_GE(fractions, 7);
  EXPECT_EQ(comfy.path.at(1.0).timestep, std::round(a1111.path.at(1.0).timestep));  // between steps, too
  EXPECT_NE(a1111.path.at(1.0).timestep, comfy.path.at(1.0).timestep);
}

TEST(CompatSchedule, starts_as_the_program_starts) {
  const double most = 14.614641;
  EXPECT_NEAR(schedule_of(Compat::comfyui, "euler", "karras", 10).init_scale, std::sqrt(1 + most * most), 1e-5);
  EXPECT_NEAR(schedule_of(Compat::a1111, "euler", "karras", 10).init_scale, most, 1e-5);
  const Schedule below = schedule_of(Compat::comfyui, "euler", "ddim_uniform", 10);  // does not begin at the model's largest σ
  EXPECT_NEAR(below.init_scale, 8.3907, 1e-4);
}

TEST(CompatSchedule, by_default_is_the_programs) {
  Sampler sampler = find_sampler("euler");
  sampler.schedule = "default";
  EXPECT_EQ(name_found(Compat::comfyui, sampler, ""), "normal");
  EXPECT_EQ(name_found(Compat::a1111, sampler, ""), "normal");
  sampler.schedule = "karras";
  EXPECT_EQ(name_found(Compat::comfyui, sampler, ""), "normal");
  EXPECT_EQ(name_found(Compat::a1111, sampler, "default"), "karras");
  EXPECT_EQ(name_found(Compat::a1111, sampler, "exponential"), "exponential");
}

TEST(CompatSchedule, takes_a1111s_own_forms_under_a1111) {
  const Sampler& euler = find_sampler("euler");
  EXPECT_EQ(name_found(Compat::comfyui, euler, "beta"), "beta");
  EXPECT_EQ(name_found(Compat::a1111, euler, "beta"), "beta_a1111");
  EXPECT_EQ(name_found(Compat::a1111, euler, "KL Optimal"), "kl_optimal_a1111");
  EXPECT_EQ(name_found(Compat::a1111, euler, "Align Your Steps"), "ays_11");
  EXPECT_EQ(name_found(Compat::a1111, euler, "Align Your Steps GITS"), "gits_a1111");
  EXPECT_EQ(name_found(Compat::comfyui, euler, "gits"), "gits_comfyui");
  EXPECT_EQ(name_found(Compat::comfyui, euler, "ays"), "ays");
  EXPECT_TRUE(schedule_of(Compat::comfyui, "euler", "kl_optimal", 10).first_order_last);
  EXPECT_FALSE(schedule_of(Compat::a1111, "euler", "kl_optimal", 10).first_order_last);  // ends at σ_min, not at 0
}

TEST(CompatSchedule, drops_the_level_before_the_last_where_the_program_does) {
  Sampler sampler = find_sampler("euler");
  const auto sigmas = [&](Compat compat, int64_t steps) { return schedule_of(compat, sampler, "karras", steps).sigmas(); };
  const std::vector<float> more = sigmas(Compat::comfyui, 6);
  sampler.drops_penultimate = {.comfyui = true, .a1111 = false};
  std::vector<float> dropped = more;
  dropped.erase(dropped.end() - 2);
  EXPECT_EQ(sigmas(Compat::comfyui, 5), dropped);
  EXPECT_NE(sigmas(Compat::a1111, 5), dropped);
  sampler.drops_penultimate = {.comfyui = false, .a1111 = true};
  EXPECT_EQ(sigmas(Compat::a1111, 5), dropped);
  EXPECT_NE(sigmas(Compat::comfyui, 5), dropped);
}

TEST(CompatSchedule, takes_options_and_levels_of_the_users_own) {
  const Sampler& dpm_2 = find_sampler("dpm_2");
  for (const Compat compat : {Compat::comfyui, Compat::a1111}) {
    const ScheduleChoice bent = own_choice(compat, dpm_2, "karras", {{"rho", 5}, {"sigma_max", 10}});
    EXPECT_EQ(bent.text(), "karras:rho=5,sigma_max=10");
    const Schedule schedule = own_schedule(compat, sd(), dpm_2, bent, 4);
    ASSERT_EQ(schedule.steps.size(), 4u);
    EXPECT_NEAR(schedule.init_scale, 10, 1e-5);  // below the model's largest σ ComfyUI starts there, too
    EXPECT_NEAR(schedule.steps[1].from.sigma, std::pow(std::lerp(std::pow(10, 0.2), std::pow(0.0291672, 0.2), 0.25), 5), 1e-5);

    const Schedule given = own_schedule(compat, sd(), dpm_2, given_sigmas({12, 5, 1, 0}, SigmaFamily::exploding), 3);
    EXPECT_EQ(given.sigmas(), (std::vector<float>{12, 5, 1, 0}));  // nothing is left out
    EXPECT_EQ(test::complaint_of([&] {
                own_schedule(compat, sd(), dpm_2, own_choice(compat, dpm_2, "karras", {{"bend", 5}}), 4);
              }),
              "UsageError: schedule karras: option 'bend' is unknown; known: rho, sigma_min, sigma_max");
    EXPECT_EQ(test::complaint_of([&] {
                own_schedule(compat, sd(), dpm_2, given_sigmas({12, 0}, SigmaFamily::exploding), 3);
              }),
              "UsageError: sigmas: 2 values are 1 steps, asked for 3");
  }
}

// Whole timesteps from 1 on, down to the first of them; the first step of PLMS twice.
TEST(CompatSchedule, of_a1111s_ddim_and_plms_counts_timesteps) {
  const std::vector<float> expected{751, 501, 251};
  EXPECT_EQ(schedule_of(Compat::a1111, "ddim", "", 4).timesteps(), expected);
  EXPECT_EQ(schedule_of(Compat::a1111, "ddim_cfg_pp", "automatic", 4).timesteps(), expected);
  EXPECT_EQ(schedule_of(Compat::a1111, "ddim", "", 4).steps.back().to.timestep, 1);
  EXPECT_EQ(schedule_of(Compat::a1111, "plms", "", 4).timesteps(), (std::vector<float>{751, 501, 501, 251}));
  EXPECT_EQ(schedule_of(Compat::a1111, "plms", "", 4).steps[1].from.timestep, 751);
  const std::vector<float> seven = schedule_of(Compat::a1111, "ddim", "", 7).timesteps();
  EXPECT_EQ(seven, (std::vector<float>{995, 853, 711, 569, 427, 285, 143}));  // eight times 142
  EXPECT_EQ(schedule_of(Compat::a1111, "ddim", "", 1000).timesteps().front(), 999);
  const Level level = schedule_of(Compat::a1111, "ddim", "", 4).steps[1].from;
  EXPECT_NEAR(level.alpha * level.alpha + level.sigma * level.sigma, 1, 1e-12);
  EXPECT_NEAR(level.sigma / level.alpha, NoiseTable(sd()).sigmas[501], 1e-6);
  EXPECT_EQ(schedule_of(Compat::a1111, "ddim", "", 4).init_scale, 1);
}

TEST(CompatSchedule, of_a1111s_unipc_is_even_in_time) {
  const Schedule schedule = schedule_of(Compat::a1111, "uni_pc", "", 4);
  ASSERT_EQ(schedule.steps.size(), 4u);
  const NoiseTable table(sd());
  const std::vector<float> expected{999, 749.25, 499.5, 249.75};
  EXPECT_EQ(schedule.timesteps(), expected);
  EXPECT_EQ(schedule.steps.back().to.timestep, 0);
  EXPECT_NEAR(std::pow(schedule.steps[0].from.alpha, 2), table.alphas_cumprod[999], 1e-9);
  EXPECT_NEAR(std::pow(schedule.steps[2].from.alpha, 2), std::sqrt(double(table.alphas_cumprod[499]) * table.alphas_cumprod[500]), 1e-9);
  EXPECT_NEAR(std::pow(schedule.steps[3].to.alpha, 2), table.alphas_cumprod[0], 1e-9);
  EXPECT_EQ(schedule.init_scale, 1);
}

TEST(Compat, knows_which_samplers_a_program_has) {
  const auto refusal = [](Compat compat, const char* name) {
    return test::complaint_of([&] { EXPECT_TRUE(has_own_schedule(compat, find_sampler(name))); });
  };
  for (const Sampler& s : samplers()) {
    for (const Compat c : {Compat::hearth, Compat::diffusers}) EXPECT_FALSE(has_own_schedule(c, s));
    for (const auto& [compat, program, has] :
         {std::tuple{Compat::comfyui, "ComfyUI", s.programs.comfyui}, std::tuple{Compat::a1111, "A1111", s.programs.a1111}}) {
      const std::string none = fmt::format("UsageError: sampler '{}': {} has none; needed another", s.name, program);
      if (s.name == "lcm" && compat == Compat::a1111) continue;
      EXPECT_EQ(refusal(compat, s.name.data()), has ? "" : none);
    }
  }
  EXPECT_EQ(refusal(Compat::a1111, "lcm"), "UnsupportedError: sampler 'lcm': A1111's has a denoiser of its own, which is not built");
  for (const char* of_diffusers : {"cogvideox_dpm", "deis_multistep", "dpm_solver_multistep", "dpm_solver_singlestep", "ipndm_vp",
                                   "sa_solver_vp", "scm", "tcd", "unipc_multistep"})
    for (const Compat c : {Compat::comfyui, Compat::a1111}) EXPECT_NE(refusal(c, of_diffusers), "") << of_diffusers;
  for (const char* name : {"ddim_cfg_pp", "plms", "restart"}) EXPECT_TRUE(refusal(Compat::a1111, name).empty()) << name;
  for (const char* name : {"er_sde", "seeds_2", "euler_cfg_pp"}) EXPECT_TRUE(refusal(Compat::comfyui, name).empty()) << name;
  for (const char* name : {"ddim", "plms", "uni_pc"}) {
    const Sampler& sampler = find_sampler(name);
    const std::string owner = fmt::format("UsageError: sampler '{}': A1111's takes times of its own; needed no ", name);
    EXPECT_EQ(test::complaint_of([&] { own_choice(Compat::a1111, sampler, "karras"); }), owner + "schedule and no option of one");
    EXPECT_EQ(test::complaint_of([&] {
                own_schedule(Compat::a1111, sd(), sampler, given_sigmas({12, 1, 0}, SigmaFamily::exploding), 2);
              }),
              owner + "sigmas");
  }
  EXPECT_EQ(test::complaint_of([] { schedule_of(Compat::a1111, "ddim", "", 1); }),
            "UsageError: steps: got 1, A1111's ddim makes 1 times of it, needed at least 2");
  EXPECT_EQ(test::complaint_of([] { schedule_of(Compat::a1111, "uni_pc", "", 2); }),
            "UsageError: steps: got 2, A1111's uni_pc makes 2 times of it, needed at least 3");
  EXPECT_EQ(test::complaint_of([] { schedule_of(Compat::a1111, "plms", "", 1001); }),
            "UsageError: steps: got 1001, A1111's plms needs 1 to 1000");
}

TEST(Compat, has_the_programs_defaults_of_options) {
  EXPECT_EQ(own_options(Compat::comfyui, find_sampler("lms")), (Options{{"last_step", 1}}));
  for (const Compat c : {Compat::hearth, Compat::diffusers, Compat::a1111}) EXPECT_TRUE(own_options(c, find_sampler("lms")).empty());
}

TEST(Compat, refuses_what_is_another_programs) {
  const auto complaint = [](Compat c, NoiseRequest r) { return test::complaint_of([&] { check(c, r); }); };
  EXPECT_EQ(complaint(Compat::comfyui, {.eta_seed_delta = 1}),
            "UsageError: noise: an eta noise seed delta is A1111's; needed compat a1111");
  EXPECT_EQ(complaint(Compat::a1111, {.first_image = 1}), "UsageError: noise: a batch index is ComfyUI's; needed compat comfyui");
  EXPECT_EQ(complaint(Compat::comfyui, {.first_image = -1}), "UsageError: noise: batch index -1, needed at least 0");
  EXPECT_EQ(test::complaint_of([] { find_compat("forge"); }), "UsageError: compat 'forge' is unknown, needed diffusers, comfyui or a1111");
  EXPECT_NE(
      test::complaint_of([] { schedule_of(Compat::comfyui, "euler", "kerras", 4); }).find("schedule 'kerras' is unknown; known: normal"),
      std::string::npos);
  for (const std::string_view name : {"", "diffusers", "comfyui", "a1111"}) EXPECT_EQ(name_of(find_compat(name)), name);
}

}  // namespace
}  // namespace hearth::sampling
