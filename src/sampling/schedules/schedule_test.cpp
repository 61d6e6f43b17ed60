// Published tables, and cases in which diffusers fails. trajectories_test.cpp proves equality with diffusers over all configurations.
#include "sampling/schedules/schedule.h"

#include <cmath>

#include "core/error.h"
#include "support/backend_test.h"
#include "support/golden.h"

namespace hearth::sampling {
namespace {

using Values = std::vector<float>;

SchedulerConfig read(const std::string& class_name, const std::string& keys = "") {
  const std::string sd = R"("beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "skip_prk_steps": true)";
  return SchedulerConfig::read(Config::parse("{" + sd + (keys.empty() ? "" : ", ") + keys + "}", "test"), class_name);
}

Schedule make(const std::string& class_name, const std::string& keys, int64_t steps, const ScheduleChoice& kind = {}) {
  return make_schedule(read(class_name, keys), kind, steps);
}

void expect_near(const Values& got, const Values& wanted, double limit) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], limit) << "entry " << i;
}

TEST(NoiseTable, scaled_linear_is_not_plain_linear) {
  const NoiseTable scaled(read("EulerDiscreteScheduler"));
  const NoiseTable plain(
      SchedulerConfig::read(Config::parse(R"({"beta_start": 0.00085, "beta_end": 0.012})", "test"), "EulerDiscreteScheduler"));
  const int64_t times[] = {0, 100, 250, 500, 750, 900, 999};
  const double right[] = {0.0292, 0.3439, 0.6958, 1.6183, 4.0992, 8.3466, 14.6146};
  const double wrong[] = {0.0292, 0.3911, 0.8707, 2.2847, 6.5884, 14.1939, 25.1461};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(scaled.sigmas[size_t(times[i])], right[i], 6e-5);
    EXPECT_NEAR(plain.sigmas[size_t(times[i])], wrong[i], 6e-5);
  }
  EXPECT_NEAR(scaled.alphas_cumprod[500], 0.276333, 1e-6);
  EXPECT_NEAR(scaled.sigmas.back(), 14.6146412293, 2e-5);
}

HOST_TEST(NoiseTables, equal_diffusers_bit_for_bit) {
  const test::Golden golden(__FILE__, "tables", device);
  EXPECT_EQ(golden.names().size(), 7u);
  for (const std::string& json : golden.names())
    EXPECT_EQ(NoiseTable(SchedulerConfig::read(Config::parse(json, "golden"), "DDIMScheduler")).alphas_cumprod, golden.values(json))
        << json;
}

TEST(NoiseTable, of_one_entry) {
  const auto config = SchedulerConfig::read(Config::parse(R"({"num_train_timesteps": 1})", "test"), "EulerDiscreteScheduler");
  const Schedule s = make_schedule(config, find_schedule("karras"), 3);
  expect_near(s.timesteps(), {0, 0, 0}, 0);
  expect_near(s.sigmas(), {0.01f, 0.01f, 0.01f, 0}, 1e-5);
}

TEST(NoiseTable, zero_terminal_snr_ends_at_nothing_for_ddim_and_at_4096_for_the_sigma_classes) {
  const std::string zero = R"("rescale_betas_zero_snr": true)";
  EXPECT_EQ(NoiseTable(read("DDIMScheduler", zero)).alphas_cumprod.back(), 0);
  for (const char* c : {"EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler", "DPMSolverMultistepScheduler"})
    EXPECT_NEAR(NoiseTable(read(c, zero)).sigmas.back(), 4096, 1e-3) << c;
}

TEST(NoiseTable, timesteps_and_sigmas_are_inverse) {
  const NoiseTable table(read("EulerDiscreteScheduler"));
  for (const double t : {0.0, 17.0, 500.0, 998.0, 999.0}) EXPECT_NEAR(table.timestep_of(table.sigma_at(t)), t, 2e-3);
  EXPECT_NEAR(table.sigma_at(500.5), (table.sigmas[500] + table.sigmas[501]) / 2, 1e-7);
  EXPECT_EQ(table.timestep_of(1000), 999);
  EXPECT_EQ(table.timestep_of(0), 0);
  EXPECT_EQ(table.sigma_at(-3), double(table.sigmas.front()));
  EXPECT_EQ(table.sigma_at(2000), double(table.sigmas.back()));
}

TEST(Schedule, karras_of_ten) {
  const Schedule s = make("EulerDiscreteScheduler", "", 10, find_schedule("karras"));
  expect_near(s.sigmas(), {14.6146f, 9.1029f, 5.4784f, 3.1686f, 1.7494f, 0.9141f, 0.4469f, 0.2014f, 0.0819f, 0.0292f, 0}, 6e-5);
  EXPECT_NEAR(s.init_scale, 14.6146f, 6e-5);
}

TEST(Schedule, twenty_steps_of_each_spacing) {
  const auto start = [](const std::string& keys, const std::string& c) {
    const Values t = make(c, keys, 20).timesteps();
    return Values(t.begin(), t.begin() + 3);
  };
  expect_near(start(R"("timestep_spacing": "leading", "steps_offset": 1)", "DDIMScheduler"), {951, 901, 851}, 0);
  expect_near(start(R"("timestep_spacing": "trailing")", "EulerDiscreteScheduler"), {999, 949, 899}, 0);
  expect_near(start(R"("timestep_spacing": "linspace")", "EulerDiscreteScheduler"), {999, 946.42f, 893.84f}, 5e-3);
  const Values dpm = make("DPMSolverMultistepScheduler", R"("timestep_spacing": "leading", "steps_offset": 1)", 4).timesteps();
  expect_near(dpm, {801, 601, 401, 201}, 0);
}

TEST(Schedule, plms_repeats_its_first_step_and_ends_at_the_first_level) {
  const Schedule s = make("PNDMScheduler", R"("steps_offset": 1)", 4);
  expect_near(s.timesteps(), {751, 501, 501, 251, 1}, 0);
  EXPECT_EQ(s.steps[1].from.timestep, 751);
  EXPECT_EQ(s.steps[1].to.timestep, 501);
  EXPECT_NEAR(s.steps.back().to.sigma / s.steps.back().to.alpha, 0.0291672, 1e-6);
  EXPECT_EQ(make("PNDMScheduler", R"("set_alpha_to_one": true)", 4).steps.back().to.sigma, 0);
  EXPECT_EQ(make("PNDMScheduler", "", 1).steps.size(), 1u);
}

// 1000/20 = 50: with linspace the target of a step is not the next timestep of the list.
TEST(Schedule, ddim_counts_down_by_its_own_ratio) {
  const Schedule s = make("DDIMScheduler", R"("timestep_spacing": "linspace")", 20);
  EXPECT_EQ(s.steps[0].to.timestep, 949);
  EXPECT_EQ(s.steps[1].at.timestep, 946);
}

TEST(Schedule, start_scale) {
  EXPECT_NEAR(make("EulerDiscreteScheduler", R"("timestep_spacing": "trailing")", 20).init_scale, 14.614641f, 1e-5);
  const Schedule leading = make("EulerDiscreteScheduler", R"("timestep_spacing": "leading", "steps_offset": 1)", 20);
  const float sigma = leading.sigmas().front();
  EXPECT_NEAR(leading.init_scale, std::sqrt(sigma * sigma + 1), 1e-5);
  for (const char* c : {"PNDMScheduler", "DDIMScheduler", "DPMSolverMultistepScheduler"}) EXPECT_EQ(make(c, "", 20).init_scale, 1) << c;
}

TEST(Schedule, leading_timesteps_past_the_table_stop_at_its_end) {
  const std::string keys = R"("timestep_spacing": "leading", "steps_offset": 1)";
  for (const char* c : {"DDIMScheduler", "PNDMScheduler"}) {
    const Schedule s = make(c, keys, 1000);
    EXPECT_EQ(s.steps.front().at.timestep, 999) << c;
    for (const Step& step : s.steps) EXPECT_LE(step.from.timestep, 999);
  }
  const Schedule e = make("EulerDiscreteScheduler", keys, 1000);
  EXPECT_EQ(e.timesteps().front(), 1000);
  EXPECT_EQ(e.sigmas().front(), e.sigmas()[1]);
}

// numpy.arange(1000, 0, -1000/61) has 62 entries.
TEST(Schedule, trailing_has_as_many_steps_as_asked_for) {
  for (const char* c : {"DDIMScheduler", "EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler", "DPMSolverMultistepScheduler"})
    for (int64_t n = 1; n <= 1000; n += n < 70 ? 1 : 37) {
      const Schedule s = make(c, R"("timestep_spacing": "trailing")", n);
      ASSERT_EQ(int64_t(s.steps.size()), n) << c;
      for (const float t : s.timesteps()) ASSERT_GE(t, 0) << c << " " << n;
    }
  EXPECT_EQ(make("PNDMScheduler", R"("timestep_spacing": "trailing")", 61).steps.size(), 62u);
}

std::string message_of(const std::string& class_name, const std::string& keys, int64_t steps) {
  try {
    make(class_name, keys, steps);
  } catch (const UsageError& e) { return e.what(); }
  return "nothing thrown";
}

TEST(Schedule, number_of_steps) {
  const char* classes[] = {"PNDMScheduler", "DDIMScheduler", "EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler",
                           "DPMSolverMultistepScheduler"};
  for (const char* c : classes) {
    EXPECT_EQ(message_of(c, "", 0), "steps: got 0, expected at least 1");
    EXPECT_EQ(message_of(c, "", -3), "steps: got -3, expected at least 1");
    for (const char* spacing : {"leading", "trailing", "linspace"})
      for (const int64_t n : {1, 2, 3, 998, 999})
        EXPECT_NO_THROW(make(c, std::string(R"("timestep_spacing": ")") + spacing + "\"", n)) << c << n;
  }
  EXPECT_EQ(message_of("DDIMScheduler", "", 1001),
            "steps: got 1001, expected at most 1000: here DDIMScheduler uses each of the 1000 training timesteps at most once");
  EXPECT_NE(message_of("PNDMScheduler", R"("timestep_spacing": "linspace")", 1001), "nothing thrown");
  EXPECT_NE(message_of("EulerDiscreteScheduler", R"("timestep_spacing": "trailing")", 1001), "nothing thrown");
  EXPECT_NE(message_of("DPMSolverMultistepScheduler", R"("timestep_spacing": "leading")", 1000), "nothing thrown");
  EXPECT_EQ(make("EulerDiscreteScheduler", R"("timestep_spacing": "linspace")", 1500).steps.size(), 1500u);
  EXPECT_EQ(make("DDIMScheduler", "", 1500, find_schedule("karras")).steps.size(), 1500u);
}

TEST(Schedule, karras_is_refused_for_plms) { EXPECT_THROW(make("PNDMScheduler", "", 20, find_schedule("karras")), UnsupportedError); }

TEST(Schedule, no_signal_and_epsilon_is_refused) {
  const std::string keys = R"("rescale_betas_zero_snr": true, "timestep_spacing": "trailing")";
  EXPECT_THROW(make("DDIMScheduler", keys, 20), UnsupportedError);
  EXPECT_NO_THROW(make("DDIMScheduler", keys + R"(, "prediction_type": "v_prediction")", 20));
}

TEST(Schedule, names) {
  EXPECT_EQ(find_schedule("default").name, "default");
  EXPECT_EQ(find_schedule("Karras").name, "karras");
  EXPECT_EQ(find_schedule("SGM Uniform").name, "sgm_uniform");
  EXPECT_EQ(find_schedule("Trailing").spacing, Spacing::trailing);
  // The class's own form, unless an option or another program's form is requested.
  EXPECT_EQ(find_schedule("karras").curve, Curve::karras);
  EXPECT_EQ(find_schedule("karras").sigma, nullptr);
  EXPECT_NE(find_schedule("karras", {{"rho", 5}}).sigma, nullptr);
  EXPECT_NE(find_schedule("karras", {}, Form::peers).sigma, nullptr);
  EXPECT_THROW(find_schedule("trailing", {{"rho", 5}}), UsageError);
  try {
    find_schedule("karas");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_EQ(std::string(e.what()).substr(0, 63), "schedule 'karas' is unknown, expected one of default, automatic");
  }
}

// Sigmas that are not a class's own: σ by their definition, at fractional timesteps, at the levels that the class's sampler needs.
TEST(Schedule, definitions_of_other_programs_under_each_class) {
  for (const char* c :
       {"EulerDiscreteScheduler", "DPMSolverMultistepScheduler", "DDIMScheduler", "LCMScheduler", "UniPCMultistepScheduler"}) {
    const Schedule s = make(c, "", 10, find_schedule("sgm_uniform"));
    expect_near(s.sigmas(), {14.6146f, 8.3072f, 5.0924f, 3.3251f, 2.2797f, 1.6156f, 1.1629f, 0.8319f, 0.5712f, 0.3437f, 0}, 6e-5);
    EXPECT_NEAR(s.timesteps()[1], 899.1f, 0.01) << c;
    const bool exploding = s.steps[0].at.alpha == 1;
    EXPECT_EQ(exploding, std::string(c) == "EulerDiscreteScheduler");
    EXPECT_NEAR(s.init_scale, exploding ? 14.6146f : 1, 6e-5) << c;
  }
  const auto flow = SchedulerConfig::read(Config::parse(R"({"shift": 3})", "test"), "FlowMatchEulerDiscreteScheduler");
  const Schedule s = make_schedule(flow, find_schedule("simple"), 10);
  expect_near(s.sigmas(), {1, 0.9643f, 0.9231f, 0.8750f, 0.8182f, 0.7500f, 0.6667f, 0.5625f, 0.4286f, 0.2500f, 0}, 6e-5);
  EXPECT_NEAR(s.timesteps()[5], 750, 0.05);
  for (const char* c : {"IPNDMScheduler", "SCMScheduler", "DDPMWuerstchenScheduler"})
    EXPECT_THROW(make_schedule(SchedulerConfig::read(Config::parse("{}", "test"), c), find_schedule("simple"), 4), UnsupportedError) << c;
  EXPECT_THROW(make("PNDMScheduler", "", 10, find_schedule("simple")), UnsupportedError);
}

TEST(Schedule, spacings_by_name) {
  EXPECT_EQ(make("EulerDiscreteScheduler", "", 20, find_schedule("trailing")).timesteps(),
            make("EulerDiscreteScheduler", R"("timestep_spacing": "trailing")", 20).timesteps());
  EXPECT_EQ(make("PNDMScheduler", "", 20, find_schedule("linspace")).timesteps(),
            make("PNDMScheduler", R"("timestep_spacing": "linspace")", 20).timesteps());
}

TEST(Schedule, sigmas_of_users) {
  const ScheduleChoice own = given_sigmas({10, 5, 2, 0}, SigmaFamily::exploding);
  expect_near(make("EulerDiscreteScheduler", "", 3, own).sigmas(), {10, 5, 2, 0}, 0);
  expect_near(make("DPMSolverMultistepScheduler", "", 3, own).sigmas(), {10, 5, 2, 0}, 1e-6);
  EXPECT_EQ(make("EulerDiscreteScheduler", "", 3, own).init_scale, 10);
  EXPECT_THROW(make("EulerDiscreteScheduler", "", 4, own), UsageError);
  EXPECT_THROW(given_sigmas({5, 10, 0}, SigmaFamily::exploding), UsageError);
  EXPECT_THROW(given_sigmas({5, 1}, SigmaFamily::exploding), UsageError);
}

TEST(Schedule, the_level_before_the_last_may_be_left_out) {
  ScheduleChoice choice = find_schedule("karras");
  const Values all = make("EulerDiscreteScheduler", "", 6, choice).sigmas();
  choice.drops_penultimate = true;
  const Values five = make("EulerDiscreteScheduler", "", 5, choice).sigmas();
  EXPECT_EQ(five, (Values{all[0], all[1], all[2], all[3], all[4], all[6]}));
  choice = {.drops_penultimate = true};
  EXPECT_THROW(make("PNDMScheduler", "", 5, choice), UnsupportedError);
}

TEST(Schedule, of_flow_networks_under_dpmpp_tells_them_a_thousand_times_sigma) {
  const char* flow = R"("prediction_type": "flow_prediction", "use_flow_sigmas": true, "flow_shift": 3.0)";
  const Schedule s = make("DPMSolverMultistepScheduler", flow, 4, find_schedule("simple"));
  expect_near(s.sigmas(), {1, 0.9, 0.75, 0.5, 0}, 1e-6);
  expect_near(s.timesteps(), {1000, 900, 750, 500}, 1e-3);
}

TEST(Schedule, dynamic_shift_needs_the_images_mu) {
  auto c = SchedulerConfig::read(Config::parse(R"({"use_dynamic_shifting": true})", "test"), "FlowMatchEulerDiscreteScheduler");
  EXPECT_THROW(make_schedule(c, {}, 4), UsageError);
  c.mu = 1.15;
  EXPECT_NEAR(make_schedule(c, find_schedule("simple"), 4).sigmas()[1], 0.9045f, 6e-5);
}

// As FlowMatchEulerDiscreteScheduler.set_timesteps(sigmas=linspace(1, 1/n, n), mu=mu) of diffusers 0.39.0: the shift, then the terminal
// stretch, then the curve.
TEST(Schedule, of_flow_networks_on_even_times) {
  const auto made = [](const std::string& more, std::optional<double> mu, int64_t n) {
    SchedulerConfig c = SchedulerConfig::read(Config::parse("{\"shift\": 3.0" + more + "}", "test"), "FlowMatchEulerDiscreteScheduler");
    c.even_times = true, c.mu = mu;
    const Schedule s = make_schedule(c, {}, n);
    EXPECT_NEAR(s.timesteps().back(), 1000 * s.sigmas()[size_t(n) - 1], 1e-3);
    return s.sigmas();
  };
  const std::string dynamic = R"(, "use_dynamic_shifting": true, "base_shift": 0.5, "max_shift": 1.15)";
  expect_near(made(dynamic, 1.15, 4), {1, 0.9045308, 0.7595109, 0.5128441, 0}, 1e-6);
  expect_near(made(dynamic, 0.4593333, 5), {1, 0.8636129, 0.7036622, 0.5134637, 0.2835416, 0}, 1e-6);
  expect_near(made(dynamic, 1.15, 1), {1, 0}, 0);
  expect_near(made("", {}, 4), {1, 0.9, 0.75, 0.5, 0}, 1e-6);
  expect_near(made(dynamic + R"(, "shift_terminal": 0.1)", 0.9, 4), {1, 0.8045211, 0.5265697, 0.1, 0}, 1e-6);
  expect_near(made(dynamic + R"(, "use_karras_sigmas": true)", 0.9, 4), {1, 0.7742727, 0.5937079, 0.4505095, 0}, 1e-6);
  expect_near(made(dynamic + R"(, "use_beta_sigmas": true, "shift_terminal": 0.05)", 0.9, 3), {1, 0.525, 0.05, 0}, 1e-6);
  expect_near(made(dynamic + R"(, "time_shift_type": "linear")", 0.9, 4), {1, 0.7297297, 0.4736842, 0.2307692, 0}, 1e-6);
}

// Another sampler runs on the same levels.
TEST(Schedule, even_times_and_mu_hold_for_every_sampler_of_a_flow_network) {
  auto c = SchedulerConfig::read(Config::parse(R"({"use_dynamic_shifting": true})", "test"), "FlowMatchEulerDiscreteScheduler");
  c.even_times = true, c.mu = 1.15;
  for (const SchedulerClass other :
       {SchedulerClass::heun, SchedulerClass::dpmpp_multistep, SchedulerClass::unipc, SchedulerClass::flow_lcm})
    expect_near(make_schedule(c.with_class(other), {}, 4).sigmas(), {1, 0.9045308, 0.7595109, 0.5128441, 0}, 1e-6);
}

TEST(Schedule, pndm_starts_with_runge_kutta_steps_unless_told_not_to) {
  const auto config = SchedulerConfig::read(Config::parse("{}", "test"), "PNDMScheduler");
  const Schedule s = make_schedule(config, {}, 10);
  EXPECT_EQ(s.runge_kutta_calls, 12);
  expect_near(s.timesteps(), {900, 850, 850, 800, 800, 750, 750, 700, 700, 650, 650, 600, 600, 500, 400, 300, 200, 100, 0}, 0);
  EXPECT_THROW(make_schedule(config, {}, 3), UsageError);
}

}  // namespace
}  // namespace hearth::sampling
