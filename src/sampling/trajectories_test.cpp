// Every golden case: the schedule equals diffusers' set_timesteps, and the run ends where diffusers' step loop ends.
// The recipe (golden/make.py) describes the content of a case.
#include <sstream>

#include "sampling/samplers.h"
#include "support/backend_test.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::sampling {
namespace {

using Values = std::vector<float>;

// The network of golden/make.py: + - * / in f32, in the same order. x [B, H, W, 4].
Tensor network(const Tensor& x, float t) {
  const float s = t / 1000.f;
  const float a = 0.6f + 0.3f * s, b = 0.05f * s;
  const Values in = x.to_vector();
  Values out(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t c = i % 4, pixel = i - c;
    const float bias = (float(c) - 1.5f) * 0.1f;
    out[i] = in[i] * a + in[pixel + (c + 1) % 4] * 0.2f / (in[i] * in[i] + 1.f) + bias + b;
  }
  return Tensor::from(x.backend(), x.shape(), out);
}

// [B, H, W, C] → NCHW order.
Values channels_first(const Tensor& x) { return x.permute({0, 3, 1, 2}).to_vector(); }

struct Case {
  std::string class_name, schedule, eta, json;
  explicit Case(const std::string& name) {
    std::istringstream in(name);
    std::getline(in, class_name, '|');
    std::getline(in, schedule, '|');
    std::getline(in, eta, '|');
    std::getline(in, json);
  }
};

// Entry k of `noise` at the k-th draw.
Noise recorded(const Tensor& noise, int64_t next) {
  return [noise, next](Backend& device, const Shape& shape) mutable {
    const Tensor one = noise.slice(0, next, next + 1).view({noise.size(1), noise.size(2), noise.size(3), noise.size(4)});
    ++next;
    Tensor x = Tensor::from(device, shape, one.permute({0, 2, 3, 1}).to_vector());
    return x;
  };
}

Values thinned(const Values& values) {
  if (values.size() <= 60) return values;
  Values out;
  for (size_t i = 0; i < values.size(); i += 29) out.push_back(values[i]);
  out.push_back(values.back());
  return out;
}

class Reader {
 public:
  explicit Reader(Values values) : values_(std::move(values)) {}
  float one() { return values_.at(next_++); }
  Values list() {
    const auto n = size_t(one());
    Values out(values_.begin() + std::ptrdiff_t(next_), values_.begin() + std::ptrdiff_t(next_ + n));
    next_ += n;
    return out;
  }
  bool done() const { return next_ == values_.size(); }

 private:
  Values values_;
  size_t next_ = 0;
};

struct Worst {
  double init = 0, timestep = 0, sigma = 0, x = 0;
  std::string where;
};

void run_case(const test::Golden& golden, const std::string& name, Backend& device, double limit, Worst& worst) {
  SCOPED_TRACE(name);
  const Case c(name);
  auto config = SchedulerConfig::read(Config::parse(c.json, "golden"), c.class_name);
  ScheduleChoice choice;
  if (c.schedule.starts_with("mu=")) config.mu = std::stod(c.schedule.substr(3));
  else choice = find_schedule(c.schedule);
  const Sampler& sampler = sampler_of(config);
  Reader reader(golden.values(name));
  // torch takes the square roots of the zero-SNR rescale from MKL, which is sometimes one unit off in the last place.
  // EDMDPMSolverMultistepScheduler computes the seventh power in f32.
  const double sigma_limit = config.rescale_betas_zero_snr || config.scheduler == SchedulerClass::edm_dpm ? 1e-5 : 1e-6;
  while (!reader.done()) {
    const auto n = int64_t(reader.one());
    SCOPED_TRACE(n);
    const float init = reader.one();
    if (config.rescale_betas_zero_snr && c.class_name == "DDIMScheduler" && config.prediction == Prediction::epsilon && n == 999 &&
        config.steps_offset == 1) {  // reaches ᾱ = 0: rejected, because the reference's run would be NaN
      EXPECT_THROW(make_schedule(config, choice, n), UnsupportedError);
      for (int skipped = 0; skipped < 3; ++skipped) reader.list();
      continue;
    }
    const Schedule schedule = make_schedule(config, choice, n);
    EXPECT_NEAR(schedule.init_scale, init, sigma_limit * init);
    worst.init = std::max(worst.init, double(std::abs(schedule.init_scale - init) / init));

    const Values timesteps = reader.list();
    Values sigmas = reader.list();
    const Values x_wanted = reader.list();
    const Values t = thinned(schedule.timesteps());
    ASSERT_EQ(t.size(), timesteps.size());
    for (size_t i = 0; i < t.size(); ++i) {
      const double error = std::abs(double(t[i]) - double(timesteps[i]));
      EXPECT_LE(error, 5e-3) << "timestep " << i << ": " << t[i] << ", reference " << timesteps[i];
      worst.timestep = std::max(worst.timestep, error);
    }
    if (!sigmas.empty()) {
      Values s = thinned(schedule.sigmas());
      if (config.log_linear && !config.continuous_timesteps) {  // the reference lists one σ more than it uses
        sigmas.pop_back();
        if (s.size() > sigmas.size()) s.pop_back();
      }
      ASSERT_EQ(s.size(), sigmas.size());
      for (size_t i = 0; i < s.size(); ++i) {
        // For a reversed flow the recipe lists 1 − (1 − σ).
        const double unit = config.prediction == Prediction::reverse_flow ? 1 : double(sigmas[i]);
        const double error = s[i] == sigmas[i] ? 0 : std::abs(double(s[i]) - double(sigmas[i])) / unit;
        EXPECT_LE(error, sigma_limit) << "sigma " << i << ": " << s[i] << ", reference " << sigmas[i];
        worst.sigma = std::max(worst.sigma, error);
      }
    }
    if (x_wanted.empty()) continue;

    const Tensor noises = golden.tensor("noise");
    Noise noise = recorded(noises, 0);
    Options options;
    if (!c.eta.empty()) options["eta"] = std::stod(c.eta);
    else if (config.scheduler == SchedulerClass::tcd) options["eta"] = 0.3;  // the default of step; pipelines pass 0
    Tensor x = starting_point(schedule, noise(device, {2, 3, 5, 4}));
    int64_t calls = 0;
    x = sample(sampler, make_denoiser(network, {schedule.prediction, schedule.sigma_data}, 1), x, schedule, noise, options,
               [&](const StepInfo& info) { EXPECT_EQ(info.step, calls++); });
    EXPECT_EQ(calls, int64_t(schedule.steps.size()));
    Values got;
    const Values all = channels_first(x);
    for (size_t i = 0; i < all.size(); i += 3) got.push_back(all[i]);
    const double error = test::relative_error(got, x_wanted);
    // From σ = 4096 the reference's x + (x − x̂₀)/σ·Δσ cancels in f32: half a unit of 4096 is 1.2e-4. Observed 2.1e-4.
    const bool cancels = schedule.init_scale > 1000;
    // Likewise DEIS on a flow: x/α at α = 0.001. Observed 1.3e-4.
    const bool divides = config.scheduler == SchedulerClass::deis && config.prediction == Prediction::flow;
    EXPECT_LE(error, cancels ? 1e-3 : divides ? 5e-4 : limit);
    if (error > worst.x && !cancels && !divides) worst.x = error, worst.where = name + " n = " + std::to_string(n);
  }
}

void run_all(const std::string& file, Backend& device, double limit) {
  const test::Golden golden(__FILE__, file, device);
  Worst worst;
  int cases = 0;
  for (const std::string& name : golden.names())
    if (name != "noise") run_case(golden, name, device, limit, worst), ++cases;
  EXPECT_GT(cases, 15);
  // The largest errors of the run, for comparison with the limits.
  ::testing::Test::RecordProperty("worst_timestep", std::to_string(worst.timestep));
  ::testing::Test::RecordProperty("worst_sigma", std::to_string(worst.sigma));
  ::testing::Test::RecordProperty("worst_x", std::to_string(worst.x) + " " + worst.where);
}

HOST_TEST(Trajectories, ddim_equals_diffusers) { run_all("trajectories_ddim", device, 1e-5); }  // observed 1.2e-6
HOST_TEST(Trajectories, plms_equals_diffusers) { run_all("trajectories_plms", device, 2e-5); }  // observed 6.1e-6: v from x̂₀ at σ = 0.03
HOST_TEST(Trajectories, euler_equals_diffusers) { run_all("trajectories_euler", device, 1e-5); }                      // observed 1.7e-6
HOST_TEST(Trajectories, euler_ancestral_equals_diffusers) { run_all("trajectories_euler_ancestral", device, 1e-5); }  // observed 1.2e-6
HOST_TEST(Trajectories, dpmpp_2m_equals_diffusers) { run_all("trajectories_dpmpp_2m", device, 1e-5); }                // observed 1.0e-6

// golden/make_classes.py: the other classes.
HOST_TEST(Trajectories, classes_in_sigma_equal_diffusers) {
  run_all("classes_sigma", device, 5e-4);
}  // observed 1.2e-4: KDPM2 ancestral from σ = 157
HOST_TEST(Trajectories, dpm_solver_classes_equal_diffusers) { run_all("classes_dpm", device, 5e-5); }    // observed 1.1e-5
HOST_TEST(Trajectories, classes_in_lambda_equal_diffusers) { run_all("classes_lambda", device, 2e-4); }  // observed 3.7e-5
HOST_TEST(Trajectories, classes_by_timesteps_equal_diffusers) { run_all("classes_alpha", device, 1e-5); }
HOST_TEST(Trajectories, flow_and_edm_classes_equal_diffusers) { run_all("classes_flow", device, 1e-4); }  // observed 1.6e-5

}  // namespace
}  // namespace hearth::sampling
