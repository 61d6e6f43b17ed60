#include "sampling/compat/compat.h"

#include <cmath>

#include "core/files/config.h"
#include "sampling/compat/a1111_times.h"
#include "sampling/noise/noise_sources.h"
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

HOST_TEST(CompatNoise, comes_from_the_programs_sources) {
  const Shape shape{2, 3, 5, 4};
  const Schedule schedule = schedule_of(Compat::comfyui, "euler", "karras", 4);
  const auto values = [&](const NoiseDraws& d, int64_t k) { return d(device, shape, k).to_vector(); };
  const auto drawn = [&](Compat compat, NoiseRequest r) {
    Noise noise = make_noise(compat, r, schedule, find_sampler("euler"));
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
  // Given initial noise replaces the first draw; diffusers' generator has drawn nothing before it.
  const Tensor given = Tensor::from(device, {2, 4, 3, 5}, test::test_values("given", shape.numel()));
  const auto first = values(given_draw(given), 0);
  EXPECT_EQ(drawn(Compat::diffusers, {.seed = 5, .given = given}), (All{first, values(one, 0), values(one, 1)}));
  EXPECT_EQ(drawn(Compat::comfyui, {.seed = 5, .given = given}), (All{first, values(next, 0), values(next, 1)}));
  EXPECT_EQ(drawn(Compat::a1111, {.seed = 5, .given = given}), (All{first, values(nv, 1), values(nv, 2)}));
  EXPECT_EQ(drawn(Compat::a1111, {.seed = 5, .eta_seed_delta = 31, .given = given}), (All{first, values(later, 0), values(later, 1)}));
}

HOST_TEST(CompatNoise, of_sde_samplers_is_torchsdes_between_the_schedules_ends) {
  const Shape shape{2, 3, 5, 4};
  const Schedule schedule = schedule_of(Compat::comfyui, "euler", "karras", 4);
  const double low = schedule.steps.back().from.sigma, high = schedule.steps.front().from.sigma;
  const auto between = [&](Compat compat, const char* sampler, NoiseRequest r = {.seed = 5}) {
    return make_noise(compat, r, schedule, find_sampler(sampler)).between(device, shape, 9.5, 2.25).to_vector();
  };
  const auto torchsde = [&](Generators generators, Rng rng) {
    return torchsde_increments(5, generators, low, high, 1, rng)(device, shape, 9.5, 2.25).to_vector();
  };
  for (const char* brownian : {"dpmpp_sde", "dpmpp_2m_sde", "dpmpp_2m_sde_heun", "dpmpp_3m_sde"}) {
    EXPECT_EQ(between(Compat::comfyui, brownian), torchsde(Generators::one, Rng::cpu)) << brownian;
    EXPECT_EQ(between(Compat::a1111, brownian), torchsde(Generators::per_image, Rng::nv)) << brownian;
    EXPECT_EQ(between(Compat::a1111, brownian, {.seed = 5, .rng = Rng::cpu}), torchsde(Generators::per_image, Rng::cpu)) << brownian;
  }
  // In these programs the other samplers draw, as ancestral samplers do.
  const Tensor drawn_by_comfyui = torch_draws(5, Generators::one)(device, shape, 0), drawn_by_a1111 = nv_draws(5)(device, shape, 0);
  EXPECT_EQ(between(Compat::comfyui, "er_sde"), drawn_by_comfyui.to_vector());
  for (const char* drawing : {"dpm_fast", "dpm_adaptive"})
    EXPECT_EQ(between(Compat::a1111, drawing), drawn_by_a1111.to_vector()) << drawing;
  for (const char* any : {"dpmpp_sde", "er_sde", "dpm_fast"})
    EXPECT_EQ(between(Compat::hearth, any), octave_increments(5)(device, shape, 9.5, 2.25).to_vector());
}

HOST_TEST(CompatNoise, comes_from_the_source_that_is_asked_for) {
  const Shape shape{2, 3, 5, 4};
  const auto draws = [&](Compat compat, NoiseRequest r) {
    Noise noise = make_noise(compat, r, {}, find_sampler("euler"));
    std::vector<std::vector<float>> all;
    for (int i = 0; i < 2; ++i) all.push_back(noise(device, shape).to_vector());
    return all;
  };
  const auto of = [&](const NoiseDraws& d, const NoiseDraws& later, int64_t second) {
    return std::vector<std::vector<float>>{d(device, shape, 0).to_vector(), later(device, shape, second).to_vector()};
  };
  const NoiseDraws torch = torch_draws(5, Generators::per_image), later = torch_draws(36, Generators::per_image), nv = nv_draws(5);
  EXPECT_EQ(draws(Compat::a1111, {.seed = 5, .rng = Rng::cpu}), of(torch, torch, 1));
  EXPECT_EQ(draws(Compat::a1111, {.seed = 5, .rng = Rng::cpu, .eta_seed_delta = 31}), of(torch, later, 0));
  EXPECT_EQ(draws(Compat::a1111, {.seed = 5, .rng = Rng::nv}), of(nv, nv, 1));
  EXPECT_EQ(draws(Compat::hearth, {.seed = 5, .rng = Rng::nv}), of(nv, nv, 1));
  EXPECT_EQ(draws(Compat::hearth, {.seed = 5, .rng = Rng::cpu}), of(torch, torch, 1));
  EXPECT_EQ(draws(Compat::comfyui, {.seed = 5, .rng = Rng::cpu}), draws(Compat::comfyui, {.seed = 5}));
  const NoiseRequest varied{.seed = 5, .rng = Rng::nv, .variation = {.seed = 9, .strength = 0.3}};
  const NoiseDraws between = varied_draws(nv_draws(5, 0), nv_draws(9), 0.3);
  EXPECT_EQ(draws(Compat::hearth, varied), of(between, nv_draws(5, 0), 1));
  // Next to Philox, an image's posterior is drawn from PyTorch's generator, and the initial noise does not change.
  const NoiseRequest encoding{.seed = 5, .rng = Rng::nv, .encodings = {.before = 1}};
  EXPECT_EQ(draws(Compat::hearth, encoding), of(nv, nv, 1));
  EXPECT_EQ(encoding_noise(Compat::hearth, encoding, device, shape, 0).to_vector(), torch(device, shape, 0).to_vector());
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
  const NoiseTable table(sd());
  EXPECT_EQ(comfy.path.at(table.sigma_at(100.55)).timestep, 101);
  EXPECT_EQ(comfy.path.at(table.sigma_at(100.45)).timestep, 100);
}

TEST(CompatSchedule, starts_as_the_program_starts) {
  const double most = 14.614641;
  EXPECT_NEAR(schedule_of(Compat::comfyui, "euler", "karras", 10).init_scale, std::sqrt(1 + most * most), 1e-5);
  EXPECT_NEAR(schedule_of(Compat::a1111, "euler", "karras", 10).init_scale, most, 1e-5);
  const Schedule below = schedule_of(Compat::comfyui, "euler", "ddim_uniform", 10);  // does not start at the model's largest σ
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

// ComfyUI's levels of flow networks; those of `normal` are its own (the shift applies twice at the low end).
TEST(CompatSchedule, of_flow_networks_is_comfyuis) {
  const auto config = [](const char* json) {
    return SchedulerConfig::read(Config::parse(json, "config"), "FlowMatchEulerDiscreteScheduler");
  };
  const auto schedule = [&](const char* json, const char* name, const char* sampler = "euler") {
    const Sampler& s = find_sampler(sampler);
    return own_schedule(Compat::comfyui, config(json), s, own_choice(Compat::comfyui, s, name), 10);
  };
  const char *shift = R"({"shift": 3.0})", *dynamic = R"({"shift": 3.0, "use_dynamic_shifting": true})";
  const auto is = [](const Schedule& s, const std::vector<float>& wanted) {
    ASSERT_EQ(s.sigmas().size(), wanted.size() + 1);
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(s.sigmas()[i], wanted[i], 5e-5) << i;
    EXPECT_EQ(s.sigmas().back(), 0);
  };
  is(schedule(shift, ""), {1.0f, 0.9601f, 0.9133f, 0.8577f, 0.7904f, 0.7073f, 0.6022f, 0.4649f, 0.2780f, 0.0089f});
  is(schedule(shift, "simple"), {1.0f, 0.9643f, 0.9231f, 0.8750f, 0.8182f, 0.7500f, 0.6667f, 0.5625f, 0.4286f, 0.2500f});
  is(schedule(shift, "beta"), {1.0f, 0.9863f, 0.9553f, 0.9076f, 0.8409f, 0.7507f, 0.6309f, 0.4796f, 0.2981f, 0.1137f});
  is(schedule(dynamic, "normal"), {1.0f, 0.9619f, 0.9171f, 0.8634f, 0.7980f, 0.7166f, 0.6125f, 0.4747f, 0.2836f, 0.0010f});
  const Schedule s = schedule(shift, "simple");
  EXPECT_EQ(s.init_scale, 1);
  EXPECT_EQ(s.prediction, Prediction::flow);
  for (const Step& step : s.steps) {
    EXPECT_EQ(step.from.alpha, 1 - step.from.sigma);
    EXPECT_EQ(step.from.timestep, float(1000 * step.from.sigma));
  }
  EXPECT_EQ(s.steps.back().to.alpha, 1);
  EXPECT_EQ(test::complaint_of([&] { schedule(shift, "", "ddpm"); }),
            "UnsupportedError: sampler 'ddpm': is not defined for flow networks, expected another sampler");
  for (const char* sampler : {"euler", "ddim", "lcm"}) {
    const Sampler& one = find_sampler(sampler);
    EXPECT_EQ(test::complaint_of([&] { own_schedule(Compat::a1111, config(shift), one, own_choice(Compat::a1111, one, ""), 4); }),
              "UnsupportedError: schedule: a1111's conventions for this flow network are not supported, expected compat diffusers, "
              "comfyui, or none");
  }
  // A schedule on which samplers are compared.
  const Schedule common = common_schedule(config(shift), find_schedule("simple", {}, Form::peers), 4);
  ASSERT_EQ(common.steps.size(), 4u);
  EXPECT_EQ(common.path.family, Family::flow);
  EXPECT_NEAR(common.steps.back().to.sigma, 0.4286, 5e-5);
}

// A program's own table of a flow network, as its family states it.
TEST(CompatSchedule, of_flow_networks_may_be_on_the_programs_own_table) {
  const auto config = SchedulerConfig::read(Config::parse(R"({"shift": 3})", "config"), "FlowMatchEulerDiscreteScheduler");
  const FlowTable table{.shift = std::exp(1.15), .entries = 10000};
  for (const Compat compat : {Compat::comfyui, Compat::a1111}) {
    const auto made = [&](const char* sampler) {
      const Sampler& one = find_sampler(sampler);
      return own_schedule(compat, config, one, own_choice(compat, one, "normal"), 10, table);
    };
    const std::vector<float> sigmas = made("euler").sigmas();
    const float published[] = {1.0000f, 0.9619f, 0.9171f, 0.8634f, 0.7980f, 0.7166f, 0.6125f, 0.4747f, 0.2836f, 0.0010f, 0};
    for (size_t i = 0; i < sigmas.size(); ++i) EXPECT_NEAR(sigmas[i], published[i], 6e-5);
    EXPECT_EQ(made("euler").init_scale, 1);
    EXPECT_NEAR(made("lcm").steps[1].at.timestep, 961.9, 0.06);
  }
  const Sampler& ddim = find_sampler("ddim");
  EXPECT_EQ(test::complaint_of([&] { own_schedule(Compat::a1111, config, ddim, own_choice(Compat::a1111, ddim, ""), 4, table); }),
            "UnsupportedError: sampler 'ddim': A1111's has timesteps of its own, which a flow network has not, expected another sampler");
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
    EXPECT_EQ(given.sigmas(), (std::vector<float>{12, 5, 1, 0}));  // nothing is dropped
    EXPECT_EQ(test::complaint_of([&] {
                own_schedule(compat, sd(), dpm_2, own_choice(compat, dpm_2, "karras", {{"bend", 5}}), 4);
              }),
              "UsageError: schedule karras: option 'bend' is unknown, expected one of rho, sigma_min, sigma_max");
    EXPECT_EQ(test::complaint_of([&] {
                own_schedule(compat, sd(), dpm_2, given_sigmas({12, 0}, SigmaFamily::exploding), 3);
              }),
              "UsageError: sigmas: 2 values make 1 steps, expected 3 steps");
  }
}

// Integer timesteps from 1 on, down to the first of them; PLMS makes the first step twice.
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

// Noise levels and timesteps computed by hand: σ of the 50 timesteps 19, 39 … 999, `normal` evenly spaced between them.
TEST(CompatSchedule, of_a1111s_lcm_lies_on_the_timesteps_of_distillation) {
  const NoiseTable table(sd());
  const Schedule schedule = schedule_of(Compat::a1111, "lcm", "", 8);
  EXPECT_EQ(schedule.timesteps(), (std::vector<float>{999, 859, 719, 579, 439, 299, 159, 19}));
  const std::vector<float> sigmas = schedule.sigmas();
  ASSERT_EQ(sigmas.size(), 9u);
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(sigmas[i], table.sigmas[999 - 140 * i], 1e-5 * sigmas[i]);
  EXPECT_EQ(sigmas[8], 0);
  EXPECT_EQ(schedule.steps[2].from.timestep, 719);
  EXPECT_NEAR(schedule.init_scale, table.sigmas[999], 1e-5);

  const std::vector<float> karras = schedule_of(Compat::a1111, "lcm", "karras", 4).sigmas();
  EXPECT_NEAR(karras[3], table.sigmas[19], 1e-6);                 // the smallest σ that it has
  const Schedule six = schedule_of(Compat::a1111, "lcm", "", 6);  // at 999, 803, 607, 411, 215 and 19, rounded to the nearest of the fifty
  EXPECT_EQ(six.timesteps(), (std::vector<float>{999, 799, 599, 419, 219, 19}));
  EXPECT_NEAR(six.sigmas()[3], std::pow(table.sigmas[399], 0.4) * std::pow(table.sigmas[419], 0.6), 1e-5);
  const Schedule given = own_schedule(Compat::a1111, sd(), find_sampler("lcm"), given_sigmas({14, 1, 0}, SigmaFamily::exploding), 2);
  EXPECT_EQ(given.sigmas(), (std::vector<float>{14, 1, 0}));
  EXPECT_EQ(schedule_of(Compat::comfyui, "lcm", "normal", 2).timesteps(), (std::vector<float>{999, 0}));

  SchedulerConfig v = sd();
  v.prediction = Prediction::v;
  const auto complaint = [](const SchedulerConfig& config) {
    return test::complaint_of(
        [&] { own_schedule(Compat::a1111, config, find_sampler("lcm"), own_choice(Compat::a1111, find_sampler("lcm"), ""), 4); });
  };
  EXPECT_EQ(
      complaint(v),
      "UnsupportedError: sampler 'lcm': A1111's supports only ε-prediction, which this network does not have, expected another sampler");
  const auto shorter = SchedulerConfig::read(Config::parse(R"({"num_train_timesteps": 500})", "config"), "EulerDiscreteScheduler");
  EXPECT_EQ(complaint(shorter), "UnsupportedError: sampler 'lcm': A1111's supports 1000 training timesteps, the checkpoint has 500");
}

TEST(CompatSchedule, of_a1111s_dpm_fast_goes_from_the_models_largest_level_to_its_least) {
  const NoiseTable table(sd());
  for (const char* name : {"dpm_fast", "dpm_adaptive"})
    for (const char* levels : {"", "ddim_uniform"}) {
      const Schedule schedule = schedule_of(Compat::a1111, name, levels, 6);
      ASSERT_TRUE(schedule.ends);
      EXPECT_EQ(schedule.ends->from, table.sigmas[999]);
      EXPECT_EQ(schedule.ends->to, table.sigmas[0]);
      EXPECT_EQ(schedule.ends->steps, 6);  // ddim_uniform makes seven
      EXPECT_FALSE(schedule_of(Compat::comfyui, name, levels, 6).ends);
    }
  EXPECT_FALSE(schedule_of(Compat::a1111, "euler", "", 6).ends);
  const Schedule schedule = schedule_of(Compat::a1111, "dpm_fast", "ddim_uniform", 10);
  EXPECT_NEAR(schedule.init_scale, 8.3907, 1e-4);  // the noise is still that of the schedule's first level
  const Schedule plan = find_sampler("dpm_fast").prepare(schedule, {});
  EXPECT_NEAR(plan.steps.front().from.sigma, table.sigmas[999], 1e-5);
  EXPECT_NEAR(plan.steps.back().to.sigma, table.sigmas[0], 1e-7);
}

TEST(CompatSchedule, may_leave_out_the_level_before_the_last_of_any_sampler) {
  const auto schedule = [](const char* sampler, const char* name, int64_t steps, bool drops) {
    ScheduleChoice choice = own_choice(Compat::a1111, find_sampler(sampler), name);
    choice.drops_penultimate = drops;
    return own_schedule(Compat::a1111, sd(), find_sampler(sampler), choice, steps);
  };
  for (const char* sampler : {"euler", "lcm"}) {
    std::vector<float> dropped = schedule(sampler, "karras", 6, false).sigmas();
    dropped.erase(dropped.end() - 2);
    EXPECT_EQ(schedule(sampler, "karras", 5, true).sigmas(), dropped) << sampler;
  }
  EXPECT_EQ(schedule("dpm_2", "karras", 5, true).sigmas(), schedule("dpm_2", "karras", 5, false).sigmas());  // it always does so
  EXPECT_EQ(schedule("ddim", "", 5, true).timesteps(), schedule("ddim", "", 6, false).timesteps());          // nothing is dropped there
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

// 10 steps, of which 5 timesteps remain: 401 … 1; noise for 501, which the sampler treats as noise for 401.
TEST(CompatSchedule, of_a1111s_unipc_on_the_way_begins_one_timestep_below_its_noise) {
  const Schedule whole = schedule_of(Compat::a1111, "uni_pc", "", 10);
  const Rest rest = a1111_even_rest(whole, 10, 5);
  const NoiseTable table(sd());
  EXPECT_EQ(rest.start.level.timestep, 501);
  EXPECT_NEAR(rest.start.noise_factor, std::sqrt(1 - table.alphas_cumprod[501]), 1e-7);
  const std::vector<float> times = rest.schedule.timesteps(), expected{401, 320.8f, 240.6f, 160.4f, 80.2f};
  ASSERT_EQ(times.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(times[i], expected[i], 1e-4);
  EXPECT_NEAR(std::pow(rest.schedule.steps[0].from.alpha, 2), table.alphas_cumprod[401], 1e-7);
  EXPECT_EQ(rest.schedule.steps.back().to.timestep, 0);
  EXPECT_EQ(test::complaint_of([&] { a1111_even_rest(whole, 10, 2); }), "UsageError: strength: leaves 2 of A1111's times, expected 3 to 9");
  EXPECT_EQ(test::complaint_of([&] { a1111_even_rest(whole, 10, 10); }),
            "UsageError: strength: leaves 10 of A1111's times, expected 3 to 9");
}

// A1111 makes the path for the whole schedule, ComfyUI for the remaining steps.
HOST_TEST(CompatNoise, of_sde_samplers_on_the_way) {
  const Shape shape{1, 3, 5, 4};
  const Sampler& sampler = find_sampler("dpmpp_2m_sde");
  for (const Compat compat : {Compat::comfyui, Compat::a1111}) {
    const Schedule whole = schedule_of(compat, sampler, "karras", 6), rest = without_first(whole, 2);
    const Schedule& span = compat == Compat::a1111 ? whole : rest;
    Noise noise = make_noise(compat, {.seed = 5, .rng = Rng::cpu}, rest, sampler);
    const double high = span.steps.front().from.sigma, low = span.steps.back().from.sigma;
    EXPECT_EQ(noise.between(device, shape, 3, 2).to_vector(),
              torchsde_increments(5, Generators::per_image, low, high)(device, shape, 3, 2).to_vector());
  }
}

TEST(Compat, a1111s_samplers_with_times_of_their_own_take_no_others) {
  for (const char* name : {"ddim", "plms", "uni_pc"}) {
    const Sampler& sampler = find_sampler(name);
    const std::string owner = fmt::format("UsageError: sampler '{}': A1111's has timesteps of its own, expected no ", name);
    EXPECT_EQ(test::complaint_of([&] { own_choice(Compat::a1111, sampler, "karras"); }), owner + "schedule and no schedule option");
    EXPECT_EQ(test::complaint_of([&] {
                own_schedule(Compat::a1111, sd(), sampler, given_sigmas({12, 1, 0}, SigmaFamily::exploding), 2);
              }),
              owner + "sigmas");
  }
  EXPECT_EQ(test::complaint_of([] { schedule_of(Compat::a1111, "ddim", "", 1); }),
            "UsageError: steps: got 1, which gives A1111's ddim 1 times, expected at least 2");
  EXPECT_EQ(test::complaint_of([] { schedule_of(Compat::a1111, "uni_pc", "", 2); }),
            "UsageError: steps: got 2, which gives A1111's uni_pc 2 times, expected at least 3");
  EXPECT_EQ(test::complaint_of([] { schedule_of(Compat::a1111, "plms", "", 1001); }),
            "UsageError: steps: got 1001, expected 1 to 1000 for A1111's plms");
}

TEST(Compat, has_the_programs_defaults_of_options) {
  EXPECT_EQ(own_options(Compat::comfyui, find_sampler("lms")), (Options{{"last_step", 1}}));
  for (const Compat c : {Compat::hearth, Compat::diffusers, Compat::a1111}) EXPECT_TRUE(own_options(c, find_sampler("lms")).empty());
  EXPECT_EQ(own_options(Compat::a1111, find_sampler("lcm")), (Options{{"timestep_scaling", 10}}));
  for (const char* drawing : {"dpm_fast", "dpm_adaptive"}) {
    EXPECT_EQ(own_options(Compat::a1111, find_sampler(drawing)), (Options{{"eta", 1}})) << drawing;
    EXPECT_TRUE(own_options(Compat::comfyui, find_sampler(drawing)).empty()) << drawing;
  }
}

TEST(Compat, refuses_what_is_another_programs) {
  const auto complaint = [](Compat c, NoiseRequest r) { return test::complaint_of([&] { check(c, r); }); };
  for (const Compat c : {Compat::diffusers, Compat::comfyui})
    EXPECT_EQ(complaint(c, {.rng = Rng::nv}),
              fmt::format("UsageError: noise: {} has no noise source nv, expected compat a1111, or none", name_of(c)));
  EXPECT_EQ(complaint(Compat::comfyui, {.eta_seed_delta = 1}),
            "UsageError: noise: an eta noise seed delta is supported only by A1111, expected compat a1111");
  EXPECT_EQ(complaint(Compat::a1111, {.first_image = 1}),
            "UsageError: noise: a batch index is supported only by ComfyUI, expected compat comfyui");
  EXPECT_EQ(complaint(Compat::comfyui, {.first_image = -1}), "UsageError: noise: batch index is -1, expected at least 0");
  EXPECT_NE(test::complaint_of([] {
              schedule_of(Compat::comfyui, "euler", "kerras", 4);
            }).find("schedule 'kerras' is unknown, expected one of normal"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::sampling
