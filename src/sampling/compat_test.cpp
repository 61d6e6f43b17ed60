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

Schedule schedule_of(Compat compat, const char* sampler, const char* name, int64_t steps) {
  std::string found;
  return own_schedule(compat, sd(), find_sampler(sampler), name, steps, found);
}

std::string name_found(Compat compat, const Sampler& sampler, const char* name) {
  std::string found;
  own_schedule(compat, sd(), sampler, name, 10, found);
  return found;
}

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
  EXPECT_TRUE(schedule_of(Compat::comfyui, "euler", "kl_optimal", 10).first_order_last);
  EXPECT_FALSE(schedule_of(Compat::a1111, "euler", "kl_optimal", 10).first_order_last);  // ends at σ_min, not at 0
}

TEST(CompatSchedule, drops_the_level_before_the_last_where_the_program_does) {
  Sampler sampler = find_sampler("euler");
  const auto sigmas = [&](Compat compat, int64_t steps) {
    std::string name;
    return own_schedule(compat, sd(), sampler, "karras", steps, name).sigmas();
  };
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

TEST(Compat, knows_which_samplers_go_by_sigma) {
  const Sampler &euler = find_sampler("euler"), &ddim = find_sampler("ddim"), &plms = find_sampler("plms");
  for (const Compat c : {Compat::hearth, Compat::diffusers}) EXPECT_FALSE(has_own_schedule(c, euler));
  EXPECT_TRUE(has_own_schedule(Compat::comfyui, euler) && has_own_schedule(Compat::a1111, euler));
  EXPECT_TRUE(has_own_schedule(Compat::comfyui, ddim));
  EXPECT_FALSE(has_own_schedule(Compat::a1111, ddim) || has_own_schedule(Compat::a1111, plms));
  EXPECT_EQ(test::complaint_of([&] { has_own_schedule(Compat::comfyui, plms); }),
            "UsageError: sampler 'plms': ComfyUI has none; needed another");
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
