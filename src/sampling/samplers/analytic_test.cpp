// Every sampler on data from a unit Gaussian, in f64: golden trajectories, call counts, orders of convergence, variances.
#include "sampling/samplers/gaussian_problem_test.h"

#include <algorithm>
#include <map>
#include <set>

namespace hearth::sampling {
namespace {

using namespace test_problem;

struct Outcome {
  double x = 0;
  int calls = 0;
};

Outcome run(const std::string& name, const Schedule& schedule, double start, const Options& more = {}) {
  const auto device = test::make_test_backend("reference");
  const Sampler& sampler = find_sampler(name);
  Options options = without_noise(sampler);
  for (const auto& [key, value] : more) options[key] = value;
  Noise noise = no_noise();
  Outcome out;
  out.x = values_of(sample(sampler, gaussian(&out.calls), wide(*device, {start}), schedule, noise, options))[0];
  return out;
}

struct Golden {
  const char* name;
  double exploding, flow;
  int calls;
  Options options = {};
};

constexpr double none = -1;

// From σ_max along Karras' ten σ, and from 1 along ten of shift 3, to 0. Values were computed from the definitions in f64; those of the
// twelve samplers in k-diffusion 0.1.1 were computed with it.
const Golden goldens[] = {
    {"euler", 0.842572, 0.833024, 10},
    {"euler_ancestral", 0.842572, 0.833024, 10},
    {"euler_cfg_pp", 0.842572, none, 10},
    {"heun", 1.053594, 0.943950, 19},
    {"heunpp2", 0.866582, 0.912301, 27},
    {"dpm_2", 1.029507, 0.957855, 19},
    {"dpm_2_ancestral", 1.029507, 0.957855, 19},
    {"lms", 0.949099, 0.952143, 10, {{"last_step", 1}}},
    {"lms", 0.949503, none, 10},
    {"dpm_fast", 1.004579, 0.778471, 10},
    {"dpm_adaptive", 1.025881, none, 18},
    {"dpmpp_2s_ancestral", 0.972006, none, 19},
    {"dpmpp_sde", 0.972006, 0.931573, 19},
    {"dpmpp_2m", 1.051804, 1.004586, 10},
    {"dpmpp_2m_cfg_pp", 1.051804, 1.004586, 10},
    {"dpmpp_2m_sde", 1.051804, 0.956635, 10},
    {"dpmpp_2m_sde_heun", 1.089757, 0.971717, 10},
    {"dpmpp_3m_sde", 1.010001, 0.978106, 10},
    {"ipndm", 1.016167, 0.946698, 10},
    {"ipndm_v", 1.001164, 0.964885, 10},
    {"deis", 0.983554, 0.960183, 10},
    {"res_multistep", 1.089757, 1.016891, 10},
    {"res_multistep_cfg_pp", 1.089757, 1.016891, 10},
    {"gradient_estimation", 1.088684, 1.010478, 10},
    {"gradient_estimation_cfg_pp", 1.088684, 1.010478, 10},
    {"er_sde", 0.641622, none, 10},
    {"seeds_2", 0.972006, 0.931573, 19},
    {"seeds_3", 0.997579, 0.948606, 28},
    {"exp_heun_2_x0", 0.957672, 0.922206, 19},
    {"exp_heun_2_x0_sde", 0.957672, 0.922206, 19},
    {"sa_solver", 1.044511, 0.900639, 10},
    {"sa_solver_pece", 1.012659, 0.949231, 19},
    {"uni_pc", 0.996186, 1.022458, 10},
    {"uni_pc_bh2", 0.999897, 0.995081, 10},
};

TEST(Analytic, golden_trajectories) {
  for (const auto& [name, exploding, flowing, calls, options] : goldens) {
    const Outcome a = run(name, karras(10), sigma_max, options);
    EXPECT_NEAR(a.x, exploding, 1e-6) << name;
    EXPECT_EQ(a.calls, calls) << name;
    if (flowing == none) continue;
    const Outcome b = run(name, flow(10), 1, options);
    EXPECT_NEAR(b.x, flowing, 1e-6) << name << ", flow";
    EXPECT_EQ(b.calls, calls) << name << ", flow";
  }
}

// Samplers whose deterministic form does not follow the probability-flow ODE.
const std::set<std::string_view> off_the_ode{"lcm", "ddpm", "er_sde", "scm"};
// Samplers whose step noise has no option.
const std::set<std::string_view> always_noisy{"cogvideox_dpm", "sa_solver_vp"};

// Doubling the steps divides the error by 2 to the power of the order in the table.
TEST(Analytic, orders_of_convergence) {
  for (const Sampler& s : samplers()) {
    if (off_the_ode.contains(s.name) || always_noisy.contains(s.name) || s.ends_itself || s.name == "plms") continue;
    for (const Path& path : {exploding_path(), flow_path()}) {
      const auto error = [&](int64_t n) {
        const Schedule schedule = path.family == Family::flow ? graded_schedule(path, 0.95, 0.05, n) : graded_schedule(path, 10, 0.1, n);
        const double exact = gaussian_size(schedule.steps.back().to) / gaussian_size(schedule.steps.front().from);
        return std::abs(run(std::string(s.name), schedule, 1).x - exact);
      };
      if (path.family == Family::exploding && solves_the_ode(s)) {
        EXPECT_EQ(known_error(s, *test::make_test_backend("reference"), 9).error, error(9)) << s.name;
      }
      // dpm_fast's intervals double from 50 to 101 steps, and end with order 2; restart is Heun's method below 20 steps.
      const bool fast = s.name == "dpm_fast", restart = s.name == "restart";
      const double gain = fast ? error(50) / error(101) : restart ? error(9) / error(18) : error(100) / error(200);
      const bool flowing = path.family == Family::flow;
      if (flowing && s.name == "heunpp2") continue;  // two terms of its error cancel there at about 100 steps
      EXPECT_GT(std::log2(gain), s.order - 0.3) << s.name << (flowing ? ", flow" : "");
      // Correctors add one order; on the flow path, smooth at both ends, many are better than their order.
      if (!flowing) { EXPECT_LT(std::log2(gain), s.order + 1.5) << s.name; }
    }
  }
}

// The variance of x at the end as the sum of the contributions of start and draws: start²·(1 + σ₀²) + Σ draw². One run finds all of them:
// value 0 has the start and no noise, value k + 1 draw k alone.
double variance(const Sampler& s, const Schedule& schedule, const Options& options = {}) {
  const auto device = test::make_test_backend("reference");
  const size_t most = 4 * schedule.steps.size() + 2;
  size_t draw = 0;
  Noise noise = [&](Backend& d, const Shape&) {
    std::vector<double> one(most);
    one.at(++draw) = 1;
    return wide(d, one);
  };
  std::vector<double> start(most);
  start[0] = gaussian_size(schedule.steps.front().from);
  double sum = 0;
  for (const double x : values_of(sample(s, gaussian(), wide(*device, start), schedule, noise, options))) sum += x * x;
  EXPECT_GT(draw, 0) << s.name;
  return sum;
}

// Data of variance 1 ends with variance 1 plus the remaining noise, more closely with more steps: the step noise matches what the
// deterministic part removes.
TEST(Analytic, fresh_noise_keeps_the_variance) {
  // lcm generates new data at each step; restart is not a process that preserves the variance. On flow paths res_multistep and res_2s split
  // as in ComfyUI, which is the exploding form.
  for (const Sampler& s : samplers()) {
    if (s.draws != Draws::always || s.name == "lcm" || s.name == "scm" || s.name == "restart") continue;
    for (const Path& path : {exploding_path(), flow_path()}) {
      if (path.family == Family::flow && s.name.starts_with("res_multistep")) continue;
      const auto error = [&](int64_t n) {
        const Schedule schedule = path.family == Family::flow ? graded_schedule(path, 0.95, 0.05, n) : graded_schedule(path, 10, 0.1, n);
        const double exact = gaussian_size(schedule.steps.back().to);
        return std::abs(variance(s, schedule) - exact * exact);
      };
      const double coarse = error(60), fine = error(120);
      EXPECT_LT(fine, 0.1) << s.name << (path.family == Family::flow ? ", flow" : "");
      EXPECT_GT(coarse / fine, 1.8) << s.name << (path.family == Family::flow ? ", flow" : "");
    }
  }
}

// Noise of fixed values, the same for every sampler.
Noise some_noise() {
  return [k = 0](Backend& d, const Shape& shape) mutable {
    std::vector<double> values;
    for (int64_t i = 0; i < shape.numel(); ++i) values.push_back(1.3 * std::sin(double(++k) * 1.7));
    return wide(d, values);
  };
}

std::vector<double> on_mixture(const Sampler& s, const Schedule& schedule, const Options& options) {
  const auto device = test::make_test_backend("reference");
  Noise noise = some_noise();
  const double start = schedule.steps.front().from.sigma;
  return values_of(sample(s, mixture(1.1), wide(*device, {start * -0.8, start * 0.1, start * 1.4}), schedule, noise, options));
}

bool alike(const std::vector<double>& a, const std::vector<double>& b, double limit) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::abs(a[i] - b[i]) > limit) return false;
  return true;
}

// No two names run the same algorithm: of all names, on one schedule with one noise, only these groups give equal results.
TEST(Analytic, no_two_samplers_are_one) {
  const std::vector<std::set<std::string_view>> same{
      {"euler", "ddim", "tcd"},     // DDIM is Euler's method in σ/α; TCD without eta is DDIM
      {"euler_ancestral", "ddpm"},  // the ancestral split with eta 1 is DDPM's posterior
      {"euler_cfg_pp", "ddim_cfg_pp"},
      {"dpm_solver_multistep", "dpmpp_2m"},              // with its defaults
      {"lcm", "scm"},                                    // for networks of different kinds
      {"dpmpp_2m_sde_heun", "res_multistep_ancestral"},  // two derivations of one formula; on flow paths they differ
  };
  const std::vector<std::set<std::string_view>> same_without_noise{
      {"euler", "ddim", "tcd", "euler_ancestral"},
      {"euler_cfg_pp", "euler_ancestral_cfg_pp", "ddim_cfg_pp"},
      {"dpm_2", "dpm_2_ancestral"},
      {"dpmpp_2s_ancestral", "dpmpp_sde", "seeds_2"},
      {"dpmpp_2m", "dpmpp_2m_sde", "dpm_solver_multistep"},
      {"res_multistep", "res_multistep_ancestral", "dpmpp_2m_sde_heun"},
      {"res_multistep_cfg_pp", "res_multistep_ancestral_cfg_pp"},
      {"exp_heun_2_x0", "exp_heun_2_x0_sde"},
  };
  const auto check = [](const auto& groups, auto options_of) {
    std::map<std::string_view, std::vector<double>> ends;
    for (const Sampler& s : samplers()) ends[s.name] = on_mixture(s, karras(22), options_of(s));
    for (const auto& [a, x] : ends)
      for (const auto& [b, y] : ends) {
        if (a >= b) continue;
        const bool one =
            std::ranges::any_of(groups, [&, first = a, second = b](const auto& g) { return g.contains(first) && g.contains(second); });
        EXPECT_EQ(alike(x, y, one ? 1e-9 : 1e-7), one) << a << " and " << b;
      }
  };
  check(same, [](const Sampler&) { return Options(); });
  check(same_without_noise, without_noise);
}

// Without noise a stochastic sampler is bit-identical to its deterministic counterpart.
TEST(Analytic, eta_0_is_the_ode_form_bit_for_bit) {
  const std::pair<const char*, const char*> pairs[] = {{"euler_ancestral", "euler"},
                                                       {"euler_ancestral_cfg_pp", "euler_cfg_pp"},
                                                       {"dpm_2_ancestral", "dpm_2"},
                                                       {"dpmpp_2m_sde", "dpmpp_2m"},
                                                       {"res_multistep_ancestral", "res_multistep"},
                                                       {"res_multistep_ancestral_cfg_pp", "res_multistep_cfg_pp"},
                                                       {"exp_heun_2_x0_sde", "exp_heun_2_x0"}};
  for (const auto& [noisy, quiet] : pairs)
    EXPECT_EQ(on_mixture(find_sampler(noisy), karras(12), {{"eta", 0}}), on_mixture(find_sampler(quiet), karras(12), {})) << noisy;
}

// In one step to σ = 0 most samplers return x̂₀; those that do not support a single step fail.
TEST(Analytic, one_step_and_other_few) {
  const auto device = test::make_test_backend("reference");
  for (const Schedule& all : {karras(3), flow(3)}) {
    for (const int64_t n : {1, 2, 3}) {
      Schedule few = all;
      few.steps.erase(few.steps.begin(), few.steps.begin() + (3 - n));
      const double sigma = few.steps.front().from.sigma;
      const Level at = few.path.family == Family::flow && sigma >= 1 ? few.path.at(few.path.sigma_at(1e-4)) : few.steps.front().at;
      for (const Sampler& s : samplers()) {
        if (s.name == "plms" && few.path.family == Family::flow) continue;
        const std::string name = std::string(s.name) + " n = " + std::to_string(n);
        if (n == 1 && s.name.starts_with("dpm_") && (s.name == "dpm_fast" || s.name == "dpm_adaptive")) {
          EXPECT_THROW(on_mixture(s, few, without_noise(s)), UsageError) << name;
          continue;
        }
        const std::vector<double> x = on_mixture(s, few, without_noise(s));
        for (const double v : x) EXPECT_TRUE(std::isfinite(v)) << name;
        if (n != 1 || s.name == "plms" || s.name.starts_with("uni_pc")) continue;
        const Level level = s.prepare ? at : few.steps.front().at;
        const std::vector<double> x0 = values_of(mixture(1.1)(wide(*device, {sigma * -0.8, sigma * 0.1, sigma * 1.4}), level).x0);
        EXPECT_TRUE(alike(x, x0, 1e-12)) << name;
      }
    }
  }
}

// During a restart x is scaled with the share of the image. Without noise: the exact solution between the jumps, to Heun's error.
TEST(Restart, on_flow_paths_scales_what_it_takes_back_up) {
  const auto device = test::make_test_backend("reference");
  const Sampler& restart = find_sampler("restart");
  const Schedule schedule = flow(72), plan = restart.prepare(schedule, resolve_options(restart, {}));
  const auto deviation = [](const Level& level) { return std::hypot(level.alpha, level.sigma); };
  double wanted = 1;
  int jumps = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const auto& [at, from, to] = plan.steps[i];
    if (i > 0 && plan.steps[i - 1].to.sigma < from.sigma) {
      wanted *= from.alpha / plan.steps[i - 1].to.alpha;
      ++jumps;
    }
    wanted *= deviation(to) / deviation(from);
  }
  Noise nothing = [](Backend& backend, const Shape& shape) { return Tensor::zeros(backend, shape, DType::f64); };
  const double x = values_of(sample(restart, gaussian(), wide(*device, {1}), schedule, nothing))[0];
  EXPECT_EQ(jumps, 2);
  EXPECT_NEAR(x / wanted, 1, 0.02);  // several times as much without the scaling
}

}  // namespace
}  // namespace hearth::sampling
