// The analytic problem of unit Gaussian data, k-diffusion's functions, properties and names. trajectories_test.cpp compares with diffusers.
#include "sampling/samplers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ops/pointwise.h"
#include "ops/shape_ops.h"
#include "sampling/compat/scheduler_samplers.h"
#include "sampling/names.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::sampling {
namespace {

using Values = std::vector<float>;

Noise no_noise() {
  return [](Backend&, const Shape&) -> Tensor {
    ADD_FAILURE() << "a deterministic run drew noise";
    throw Canceled();
  };
}

Schedule exploding(const Values& sigmas) {
  Schedule s;
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
    const Level at = Level::exploding(double(sigmas[i]), sigmas[i]);
    s.steps.push_back({at, at, Level::exploding(double(sigmas[i + 1]), sigmas[i + 1])});
  }
  s.init_scale = sigmas.front();
  s.first_order_last = true;
  return s;
}

Values karras(int64_t n) {
  const auto config = SchedulerConfig::read(
      Config::parse(R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"})", "test"), "EulerDiscreteScheduler");
  return make_schedule(config, find_schedule("karras"), n).sigmas();
}

// `config` as the sampler uses it; if it needs another kind of network, the defaults of its own class.
SchedulerConfig fitting(const Sampler& s, const SchedulerConfig& config) {
  using enum SchedulerClass;
  const bool own = s.scheduler == scm || s.scheduler == ipndm;
  return own ? SchedulerConfig::read(Config::parse("{}", "test"), name_of(s.scheduler)) : config_for(s, config);
}

// Data from a unit Gaussian: x̂₀ = α·x/(α² + σ²).
Denoiser gaussian(int* calls = nullptr) {
  return [calls](const Tensor& x, const Level& level) {
    if (calls) ++*calls;
    return ops::linear_combination({x}, {float(level.alpha / (level.alpha * level.alpha + level.sigma * level.sigma))});
  };
}

// From σ₀ along Karras' ten σ to 0. Values were computed in f64 from the definitions and, for these samplers, with k-diffusion 0.1.1.
HOST_TEST(Samplers, gaussian_trajectories) {
  const Schedule schedule = exploding(karras(10));
  const std::tuple<const char*, double, Options> wanted[] = {
      {"euler", 0.842572, {}}, {"euler_ancestral", 0.842572, {{"eta", 0.0}}}, {"ddim", 0.842572, {}}, {"dpmpp_2m", 1.051804, {}}};
  for (const auto& [name, value, options] : wanted) {
    int calls = 0;
    Noise noise = no_noise();
    const Tensor x = sample(find_sampler(name), gaussian(&calls), starting_point(schedule, Tensor::from(device, {1, 1, 1, 1}, Values{1})),
                            schedule, noise, options);
    EXPECT_NEAR(x.to_vector()[0], value, 5e-6) << name;  // observed 1.1e-6
    EXPECT_EQ(calls, 10) << name;
  }
}

// Halving the step size divides the error by 2 (Euler, DDIM) or 4 (DPM++ 2M); by more than 4 for PLMS.
HOST_TEST(Samplers, order_of_convergence) {
  const auto error = [&](const std::string& name, int64_t n) {
    const auto config = SchedulerConfig::read(
        Config::parse(
            R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "timestep_spacing": "trailing", "clip_sample": false, "final_sigmas_type": "sigma_min", "lower_order_final": false})",
            "test"),
        "EulerDiscreteScheduler");
    const Sampler& sampler = find_sampler(name);
    const Schedule schedule = make_schedule(fitting(sampler, config), {}, n);
    Noise noise = no_noise();
    const Tensor x = sample(sampler, gaussian(), starting_point(schedule, Tensor::from(device, {1, 1, 1, 1}, Values{1})), schedule, noise);
    const Level from = schedule.steps.front().from, to = schedule.steps.back().to;
    const double exact =
        schedule.init_scale * std::sqrt((to.alpha * to.alpha + to.sigma * to.sigma) / (from.alpha * from.alpha + from.sigma * from.sigma));
    return std::abs(double(x.to_vector()[0]) - exact);
  };
  const auto gain = [&](const std::string& name) { return error(name, 100) / error(name, 200); };
  EXPECT_NEAR(gain("euler"), 2, 0.2);     // 1.99
  EXPECT_NEAR(gain("ddim"), 2, 0.2);      // 1.91
  EXPECT_NEAR(gain("dpmpp_2m"), 4, 0.7);  // 3.39: its first step is of order 1
}

// golden/make.py k: the functions of k-diffusion 0.1.1 on Karras' σ.
HOST_TEST(Samplers, equal_k_diffusion) {
  const test::Golden golden(__FILE__, "k_diffusion", device);
  const Tensor recorded = golden.tensor("noise");
  const auto draw = [&](int64_t k) {
    return Tensor::from(device, {2, 3, 5, 4}, recorded.slice(0, k, k + 1).view({2, 4, 3, 5}).permute({0, 2, 3, 1}).to_vector());
  };
  const Network network = [](const Tensor& x, float t) {  // that of make.py
    const Values in = x.to_vector();
    const float s = t / 1000.f, a = 0.6f + 0.3f * s, b = 0.05f * s;
    Values out(in.size());
    for (size_t i = 0; i < in.size(); ++i)
      out[i] = in[i] * a + in[i - i % 4 + (i % 4 + 1) % 4] * 0.2f / (in[i] * in[i] + 1.f) + (float(i % 4) - 1.5f) * 0.1f + b;
    return Tensor::from(x.backend(), x.shape(), out);
  };
  double worst = 0;
  int cases = 0;
  for (const int64_t n : {1, 2, 5, 10, 20}) {
    const Schedule schedule = exploding(golden.values("sigmas|" + std::to_string(n)));
    for (const auto& [name, eta] : {std::pair{"euler", ""}, std::pair{"euler_ancestral", "1.0"}, std::pair{"euler_ancestral", "0.4"},
                                    std::pair{"euler_ancestral", "1.5"}, std::pair{"euler_ancestral", "0.0"}, std::pair{"dpmpp_2m", ""}}) {
      int64_t next = 1;
      Noise noise = [&](Backend&, const Shape&) { return draw(next++); };
      Options options;
      if (*eta) options["eta"] = std::stod(eta);
      const Tensor x = sample(find_sampler(name), make_denoiser(network, Prediction::epsilon, 1), starting_point(schedule, draw(0)),
                              schedule, noise, options);
      const Values wanted = golden.values(std::string(name) + "|" + eta + "|" + std::to_string(n));
      worst = std::max(worst, test::relative_error(x.permute({0, 3, 1, 2}).to_vector(), wanted));
      ++cases;
    }
  }
  EXPECT_EQ(cases, 30);
  EXPECT_LE(worst, 3e-6);  // observed 3.2e-7
}

struct Ran {
  Tensor x;
  int draws = 0;
};

Unconditional unconditional_of(const Sampler& s) { return s.needs_unconditional ? Unconditional::needed : Unconditional::unused; }

Ran run(const std::string& name, const Tensor& start, Options options = {}, DType answers = DType::f32, int64_t steps = 7) {
  const auto config = SchedulerConfig::read(
      Config::parse(R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "clip_sample": false})", "test"),
      "EulerDiscreteScheduler");
  const Sampler& sampler = find_sampler(name);
  const Schedule schedule = make_schedule(fitting(sampler, config), {}, steps);
  Ran result;
  Noise noise = [&, inner = torch_cpu_noise(3)](Backend& device, const Shape& shape) mutable {
    ++result.draws;
    return inner(device, shape);
  };
  const Network network = [answers](const Tensor& x, float t) {
    return ops::cast(ops::linear_combination({x, ops::activate(x, Activation::silu)}, {0.4f, 0.4f + t / 5000}), answers);
  };
  const Denoiser denoise = make_denoiser(network, schedule.prediction, 1, unconditional_of(sampler));
  result.x = sample(sampler, denoise, starting_point(schedule, start), schedule, noise, options);
  return result;
}

// Enough steps for restart to have a restart.
HOST_TEST(Samplers, draw_noise_only_where_they_say_so) {
  const Tensor start = Tensor::from(device, {2, 3, 5, 4}, test::test_values("start", 120));
  for (const Sampler& s : samplers()) {
    const std::string name(s.name);
    EXPECT_EQ(run(name, start, {}, DType::f32, 20).draws > 0, s.draws == Draws::always) << s.name;
    for (const char* option : {"eta", "s_noise"})
      if (std::ranges::any_of(s.options, [&](const Option& o) { return o.name == option; })) {
        EXPECT_EQ(run(name, start, {{option, 0.0}}, DType::f32, 20).draws, 0) << name << " " << option;
      }
    if (s.draws == Draws::on_request) {
      const Options known = resolve_options(s, {});
      const std::pair<std::string, double> asked = known.contains("algorithm_type") ? std::pair("algorithm_type", 1.0)
                                                   : known.contains("eta")          ? std::pair("eta", 0.5)
                                                                                    : std::pair("s_churn", 0.5);
      EXPECT_GT(run(name, start, {asked}).draws, 0) << name;
    }
  }
  EXPECT_EQ(run("euler_ancestral", start).draws, 6);  // none at the last step, which ends at σ = 0
  EXPECT_EQ(run("dpmpp_sde", start).draws, 12);
  EXPECT_EQ(run("seeds_3", start).draws, 18);
  EXPECT_EQ(run("ddim", start, {{"eta", 0.5}}).draws, 6);
}

HOST_TEST(Samplers, eta_0_is_the_deterministic_form_bit_for_bit) {
  const Tensor start = Tensor::from(device, {2, 3, 5, 4}, test::test_values("start", 120));
  EXPECT_EQ(run("euler_ancestral", start, {{"eta", 0.0}}).x.to_vector(), run("euler", start).x.to_vector());
  EXPECT_NE(run("euler_ancestral", start).x.to_vector(), run("euler", start).x.to_vector());
}

// The state stays f32: a network that outputs 16 bits changes the result by about its own rounding.
HOST_TEST(Samplers, every_sampler_runs_with_16_bit_answers) {
  const Tensor start = Tensor::from(device, {2, 3, 5, 4}, test::test_values("start", 120));
  for (const Sampler& s : samplers()) {
    if (s.ends_itself) continue;  // its step control amplifies rounding
    const Tensor wide = run(std::string(s.name), start).x;
    const Tensor half = run(std::string(s.name), start, {}, DType::f16).x, brain = run(std::string(s.name), start, {}, DType::bf16).x;
    EXPECT_EQ(half.dtype(), DType::f32);
    EXPECT_CLOSE(half, wide, 2e-3);   // observed 2.5e-4
    EXPECT_CLOSE(brain, wide, 2e-2);  // observed 2.2e-3
  }
}

HOST_TEST(Samplers, s_noise_scales_the_fresh_noise) {
  const Tensor start = Tensor::from(device, {1, 3, 5, 4}, test::test_values("start", 60));
  const Values zero = run("euler_ancestral", start, {{"s_noise", 0.0}}).x.to_vector(), one = run("euler_ancestral", start).x.to_vector();
  EXPECT_NE(zero, one);
  EXPECT_NE(run("ddim", start, {{"eta", 1.0}, {"s_noise", 0.5}}).x.to_vector(), run("ddim", start, {{"eta", 1.0}}).x.to_vector());
}

HOST_TEST(Samplers, an_image_of_a_batch_equals_the_image_alone_bit_for_bit) {
  const Values values = test::test_values("start", 120);
  const Tensor both = Tensor::from(device, {2, 3, 5, 4}, values);
  const Tensor first = Tensor::from(device, {1, 3, 5, 4}, std::span(values).first(60));
  for (const Sampler& s : samplers()) {
    if (s.ends_itself) continue;  // it controls its steps by the error of all images; the pipeline runs it image by image
    const Values alone = run(std::string(s.name), first).x.to_vector();
    EXPECT_EQ(run(std::string(s.name), both).x.slice(0, 0, 1).to_vector(), alone) << s.name;
  }
}

HOST_TEST(Samplers, steps_are_reported_and_may_end_the_run) {
  const Schedule schedule = exploding(karras(5));
  const Tensor start = Tensor::from(device, {1, 1, 2, 2}, test::test_values("start", 4));
  std::vector<float> sigmas;
  Noise noise = no_noise();
  const OnStep on_step = [&](const StepInfo& info) {
    EXPECT_EQ(info.step, int64_t(sigmas.size()));
    EXPECT_EQ(info.steps, 5);
    sigmas.push_back(float(info.level.sigma));
    EXPECT_EQ(info.x0.shape(), start.shape());
    EXPECT_EQ(info.x.shape(), start.shape());
    if (info.step == 2) throw Canceled();
  };
  EXPECT_THROW(sample(find_sampler("euler"), gaussian(), start, schedule, noise, {}, on_step), Canceled);
  const Values all = schedule.sigmas();
  EXPECT_EQ(sigmas, Values(all.begin(), all.begin() + 3));
}

// The replacement of x after a call is the input of the next call and the result of the run, between the calls of a step too. It receives
// the level of the next call, which is the end of the step if diffusers' class counts its midpoint as that.
HOST_TEST(Samplers, each_call_is_followed_by_what_takes_the_place_of_x) {
  const std::set<std::string_view> told_the_end{"dpm_2", "dpm_2_ancestral", "dpmpp_sde"};
  const Schedule schedule = exploding(karras(6));
  const Tensor start = Tensor::from(device, {1, 1, 2, 2}, test::test_values("start", 4));
  for (const Sampler& s : samplers()) {
    if (s.ends_itself || s.name == "scm") continue;  // SCM's levels are not σ
    SCOPED_TRACE(s.name);
    Tensor given;
    std::vector<double> asked, told;
    const Denoiser denoise = [&](const Tensor& x, const Level& level) {
      if (given) { EXPECT_EQ(x.to_vector(), given.to_vector()); }
      asked.push_back(level.sigma);
      return Estimate(ops::linear_combination({x}, {0.5f}), ops::linear_combination({x}, {0.25f}));
    };
    bool ended = false;
    const AfterCall after_call = [&](const Tensor&, const Level* next) {
      EXPECT_FALSE(ended);
      ended = !next;
      if (next) told.push_back(next->sigma);
      given = Tensor::from(device, start.shape(), test::test_values("given " + std::to_string(told.size()), 4));
      return given;
    };
    Noise noise = torch_cpu_noise(3);
    const Tensor x = resume(s, denoise, {.x = start}, schedule, noise, {}, {}, after_call);
    EXPECT_TRUE(ended);
    EXPECT_EQ(x.to_vector(), given.to_vector());
    ASSERT_EQ(told.size() + 1, asked.size());
    for (size_t i = 0; i < told.size(); ++i) {
      const bool end = told_the_end.contains(s.name) && i % 2 == 0;
      EXPECT_EQ(told[i], end ? schedule.steps[i / 2].to.sigma : asked[i + 1]) << i;
    }
  }
}

HOST_TEST(Samplers, options_that_a_sampler_lacks_are_refused) {
  const Tensor start = Tensor::zeros(device, {1, 2, 2, 4});
  for (const char* name : {"heun", "dpmpp_2m", "plms"}) EXPECT_THROW(run(name, start, {{"eta", 0.5}}), UsageError) << name;
  EXPECT_THROW(run("ddim", start, {{"eta", -0.5}}), UsageError);
}

TEST(SamplerNames, spellings_of_other_programs) {
  const std::pair<const char*, const char*> names[] = {{"ddim", "ddim"},
                                                       {"DDIM", "ddim"},
                                                       {"DDIMScheduler", "ddim"},
                                                       {"euler", "euler"},
                                                       {"Euler", "euler"},
                                                       {"k_euler", "euler"},
                                                       {"EulerDiscreteScheduler", "euler"},
                                                       {"euler_a", "euler_ancestral"},
                                                       {"Euler a", "euler_ancestral"},
                                                       {"k_euler_a", "euler_ancestral"},
                                                       {"euler-ancestral", "euler_ancestral"},
                                                       {"EulerAncestralDiscreteScheduler", "euler_ancestral"},
                                                       {"DPM++ 2M", "dpmpp_2m"},
                                                       {"dpm++2m", "dpmpp_2m"},
                                                       {"DPMPP_2M", "dpmpp_2m"},
                                                       {"k_dpmpp_2m", "dpmpp_2m"},
                                                       {"DPMSolverMultistepScheduler", "dpmpp_2m"},
                                                       {"plms", "plms"},
                                                       {"PLMS", "plms"},
                                                       {"pndm", "plms"},
                                                       {"PNDMScheduler", "plms"},
                                                       {"Heun", "heun"},
                                                       {"k_dpm_2_a", "dpm_2_ancestral"},
                                                       {"DPM2 a", "dpm_2_ancestral"},
                                                       {"DPM fast", "dpm_fast"},
                                                       {"k_dpm_ad", "dpm_adaptive"},
                                                       {"DPM++ 2S a", "dpmpp_2s_ancestral"},
                                                       {"dpm++2s_a", "dpmpp_2s_ancestral"},
                                                       {"DPM++ SDE", "dpmpp_sde"},
                                                       {"dpmpp_sde_gpu", "dpmpp_sde"},
                                                       {"DPM++ 2M SDE", "dpmpp_2m_sde"},
                                                       {"dpm++2m_sde_bt", "dpmpp_2m_sde"},
                                                       {"DPM++ 2M SDE Heun", "dpmpp_2m_sde_heun"},
                                                       {"DPM++ 3M SDE", "dpmpp_3m_sde"},
                                                       {"dpm++2mv2", "dpmpp_2m_v2"},
                                                       {"euler_ge", "gradient_estimation"},
                                                       {"euler_a_cfg_pp", "euler_ancestral_cfg_pp"},
                                                       {"DDIM CFG++", "ddim_cfg_pp"},
                                                       {"UniPC", "uni_pc"},
                                                       {"Restart", "restart"}};
  for (const auto& [name, canonical] : names) EXPECT_EQ(find_sampler(name).name, canonical) << name;
}

TEST(SamplerNames, no_name_stands_for_two) {
  std::set<std::string> seen;
  for (const Sampler& s : samplers()) {
    std::set<std::string> own{folded(s.name)};
    for (const auto alias : s.aliases) own.insert(folded(alias));
    for (const auto& name : own) EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

// A run that is stopped after any step and resumed from its state is bit-identical to the whole run.
HOST_TEST(Samplers, a_run_can_be_resumed) {
  const auto config = SchedulerConfig::read(
      Config::parse(R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"})", "test"), "EulerDiscreteScheduler");
  const Network network = [](const Tensor& x, float t) {
    return ops::linear_combination({x, ops::activate(x, Activation::silu)}, {0.4f, 0.4f + t / 5000});
  };
  for (const Sampler& s : samplers()) {
    const Schedule schedule = make_schedule(fitting(s, config), {}, s.name == "restart" ? 20 : 6);
    const Denoiser denoise = make_denoiser(network, schedule.prediction, 1, unconditional_of(s));
    const Tensor start = starting_point(schedule, Tensor::from(device, {2, 3, 5, 4}, test::test_values("start", 120)));
    std::vector<State> states;
    Noise noise = torch_cpu_noise(3);
    const Tensor whole = sample(s, denoise, start, schedule, noise, {}, [&](const StepInfo& info) { states.push_back(info.state); });
    for (const State& state : states) {
      Noise again = torch_cpu_noise(3);
      EXPECT_EQ(resume(s, denoise, state, schedule, again).to_vector(), whole.to_vector()) << s.name << " after step " << state.step;
    }
  }
}

// The defaults of the programs that a sampler comes from.
TEST(SamplerOptions, defaults) {
  const double no_limit = std::numeric_limits<double>::infinity();
  const std::map<std::string_view, Options> wanted{
      {"euler", {{"s_churn", 0}, {"s_tmin", 0}, {"s_tmax", no_limit}, {"s_noise", 1}}},
      {"euler_ancestral", {{"eta", 1}, {"s_noise", 1}}},
      {"ddim", {{"eta", 0}, {"s_noise", 1}}},
      {"lms", {{"order", 4}, {"last_step", 0}}},
      {"dpm_fast", {{"eta", 0}, {"s_noise", 1}}},
      {"dpm_adaptive",
       {{"order", 3},
        {"rtol", 0.05},
        {"atol", 0.0078},
        {"h_init", 0.05},
        {"pcoeff", 0},
        {"icoeff", 1},
        {"dcoeff", 0},
        {"accept_safety", 0.81},
        {"eta", 0},
        {"s_noise", 1}}},
      {"dpmpp_sde", {{"eta", 1}, {"s_noise", 1}, {"r", 0.5}}},
      {"dpmpp_3m_sde", {{"eta", 1}, {"s_noise", 1}}},
      {"ipndm_v", {{"max_order", 4}}},
      {"deis", {{"max_order", 3}}},
      {"res_2s", {{"eta", 0}, {"s_noise", 1}}},
      {"gradient_estimation", {{"ge_gamma", 2}}},
      {"er_sde", {{"s_noise", 1}, {"max_stage", 3}}},
      {"seeds_2", {{"eta", 1}, {"s_noise", 1}, {"r", 0.5}, {"solver_type", 0}}},
      {"seeds_3", {{"eta", 1}, {"s_noise", 1}, {"r_1", 1 / 3.}, {"r_2", 2 / 3.}}},
      {"sa_solver", {{"eta", 1}, {"tau_start", 0.2}, {"tau_end", 0.8}, {"predictor_order", 3}, {"corrector_order", 4}, {"s_noise", 1}}},
      {"uni_pc", {{"order", 3}}},
      {"dpmpp_2m", {}}};
  for (const auto& [name, options] : wanted) EXPECT_EQ(resolve_options(find_sampler(name), {}), options) << name;
}

HOST_TEST(Samplers, network_calls_are_known_before) {
  const auto config = SchedulerConfig::read(Config::parse("{}", "test"), "EulerDiscreteScheduler");
  const std::map<std::string_view, int64_t> of_six{{"n", 6},     {"n+1", 7}, {"2n-1", 11},           {"3n-3", 15},
                                                   {"3n-2", 16}, {"2n", 12}, {"2 per sub-step", 11}, {"3 per attempt", 0}};
  for (const Sampler& s : samplers()) {
    const Schedule schedule = make_schedule(fitting(s, config), {}, 6);
    EXPECT_EQ(network_calls(s, schedule, {}, device).value_or(0), of_six.at(s.calls)) << s.name;
  }
  const Schedule schedule = make_schedule(config, {}, 36);  // 18 steps and twice 9
  EXPECT_EQ(network_calls(find_sampler("restart"), schedule, {}, device), 71);
}

HOST_TEST(Samplers, that_end_themselves_tell_how_far_they_are) {
  const Tensor x = Tensor::from(device, {1, 1, 1, 2}, std::vector<float>{14, -9});
  Noise noise = no_noise();
  std::vector<int64_t> told;
  sample(find_sampler("dpm_adaptive"), gaussian(), x, exploding(karras(8)), noise, {}, [&](const StepInfo& info) {
    told.push_back(info.step);
    EXPECT_EQ(info.steps, 8);
  });
  ASSERT_GE(told.size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.front(), 0);
  EXPECT_EQ(told.back(), 7);
}

HOST_TEST(Samplers, ask_nothing_where_no_step_is_left) {
  const Tensor x = Tensor::from(device, {1, 1, 1, 2}, std::vector<float>{14, -9});
  Noise noise = no_noise();
  int calls = 0;
  const Schedule schedule = exploding(karras(4));
  EXPECT_EQ(sample(find_sampler("euler"), gaussian(&calls), x, {}, noise).to_vector(), x.to_vector());
  EXPECT_EQ(resume(find_sampler("euler"), gaussian(&calls), {.x = x, .step = 4}, schedule, noise).to_vector(), x.to_vector());
  EXPECT_EQ(calls, 0);
}

TEST(SamplerNames, each_scheduler_class_has_its_sampler) {
  for (const SchedulerClass c : scheduler_classes()) {
    const auto config = SchedulerConfig::read(Config::parse("{}", "test"), name_of(c));
    EXPECT_TRUE(stands_for(sampler_of(config), c)) << name_of(c);
    EXPECT_TRUE(stands_for(find_sampler(name_of(c)), c)) << name_of(c);
    EXPECT_EQ(config_for(sampler_of(config), config).scheduler, c) << name_of(c);
  }
}

TEST(SamplerNames, lcm_stands_for_its_class_and_the_stochastic_form_of_flow_euler) {
  for (const SchedulerClass c : scheduler_classes())
    EXPECT_EQ(stands_for(find_sampler("lcm"), c),
              c == SchedulerClass::lcm || c == SchedulerClass::flow_euler || c == SchedulerClass::flow_lcm)
        << name_of(c);
}

TEST(SamplerNames, unknown_and_unbuilt_names_are_told_apart) {
  const auto message = [](std::string_view name) -> std::string {
    try {
      find_sampler(name);
    } catch (const UsageError& e) { return std::string("usage: ") + e.what(); } catch (const UnsupportedError& e) {
      return std::string("unsupported: ") + e.what();
    }
    return "";
  };
  EXPECT_EQ(message("eular").substr(0, 53), "usage: sampler 'eular' is unknown, expected one of co");
  EXPECT_EQ(message("").substr(0, 29), "usage: sampler '' is unknown,");
}

}  // namespace
}  // namespace hearth::sampling
