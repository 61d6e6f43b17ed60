// Published lists, and schedules of k-diffusion and diffusers.
#include "sampling/schedules/sigma_schedules.h"

#include <cmath>
#include <set>

#include "core/error.h"
#include "sampling/names.h"
#include "sampling/schedules/noise_table.h"
#include "sampling/schedules/special_functions.h"
#include "support/backend_test.h"
#include "support/golden.h"

namespace hearth::sampling {
namespace {

ModelSigmas sd1() {
  const std::string json = R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"})";
  return ModelSigmas::exploding(NoiseTable(SchedulerConfig::read(Config::parse(json, "test"), "EulerDiscreteScheduler")).sigmas);
}

Values of(std::string_view name, const ModelSigmas& model, int64_t n, const ScheduleOptions& options = {}) {
  const SigmaSchedule* s = find_sigma_schedule(name);
  if (!s) {
    ADD_FAILURE() << name;
    return {};
  }
  return make_sigmas(*s, model, n, options);
}

void expect_near(const Values& got, const Values& wanted, double limit = 6e-5) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], limit) << "entry " << i;
}

struct Published {
  const char* name;
  Values sigmas;
  ScheduleOptions options = {};
};

TEST(SigmaSchedules, ten_steps_on_the_table_of_stable_diffusion) {
  const Published lists[] = {
      {"normal", {14.6146, 7.8399, 4.6092, 2.9183, 1.9502, 1.3449, 0.9324, 0.6250, 0.3687, 0.0292, 0}},
      {"karras", {14.6146, 9.1029, 5.4784, 3.1686, 1.7494, 0.9141, 0.4469, 0.2014, 0.0819, 0.0292, 0}},
      {"exponential", {14.6146, 7.3249, 3.6712, 1.8400, 0.9222, 0.4622, 0.2317, 0.1161, 0.0582, 0.0292, 0}},
      {"polyexponential", {14.6146, 7.3249, 3.6712, 1.8400, 0.9222, 0.4622, 0.2317, 0.1161, 0.0582, 0.0292, 0}},
      {"polyexponential", {14.6146, 3.9641, 1.2536, 0.4622, 0.1987, 0.0996, 0.0582, 0.0396, 0.0315, 0.0292, 0}, {{"rho", 2}}},
      {"sgm_uniform", {14.6146, 8.3072, 5.0924, 3.3251, 2.2797, 1.6156, 1.1629, 0.8319, 0.5712, 0.3437, 0}},
      {"simple", {14.6146, 8.3028, 5.0878, 3.3211, 2.2765, 1.6129, 1.1606, 0.8299, 0.5693, 0.3417, 0}},
      {"turbo", {14.6146, 8.3028, 5.0878, 3.3211, 2.2765, 1.6129, 1.1606, 0.8299, 0.5693, 0.3417, 0}},
      {"ddim_uniform", {8.3907, 5.1344, 3.3478, 2.2929, 1.6237, 1.1682, 0.8357, 0.5741, 0.3462, 0.0413, 0}},
      {"beta", {14.6146, 11.5428, 7.3718, 4.3728, 2.6152, 1.6183, 1.0273, 0.6549, 0.3955, 0.1991, 0}},
      {"beta_a1111", {14.6146, 13.9278, 12.4910, 10.5976, 8.4424, 6.2014, 4.0462, 2.1528, 0.7160, 0.0292, 0}},
      {"linear_quadratic", {14.6146, 14.5416, 14.4685, 14.3954, 14.3223, 14.2493, 13.6208, 11.8817, 9.0318, 5.0713, 0}},
      {"kl_optimal", {14.6146, 4.2324, 2.3937, 1.5971, 1.1330, 0.8152, 0.5729, 0.3725, 0.1953, 0.0292, 0}},
      {"kl_optimal_a1111", {14.6146, 4.5650, 2.6329, 1.7864, 1.2948, 0.9616, 0.7116, 0.5094, 0.3356, 0.1783, 0.0292}},
      {"smoothstep", {14.6146, 12.3720, 8.1305, 4.7336, 2.7149, 1.6183, 0.9937, 0.6103, 0.3529, 0.1642, 0}},
      {"bong_tangent", {14.6146, 14.2944, 13.8552, 13.2191, 12.2279, 10.5283, 7.3219, 3.7839, 1.7424, 0.6602, 0}},
      {"laplace", {14.6146, 2.1213, 1.5000, 1.2247, 1.0607, 0.9428, 0.8165, 0.6667, 0.4714, 0.0292}},
      {"vp", {152.1670, 53.3098, 21.0956, 9.4032, 4.6806, 2.5494, 1.4620, 0.8229, 0.3817, 0.0105, 0}},
      {"ays", {14.6146, 6.4746, 3.8637, 2.6946, 1.8842, 1.3944, 0.9643, 0.6524, 0.3977, 0.1515, 0}},
      {"ays_sdxl", {14.6146, 6.3184, 3.7682, 2.1811, 1.3405, 0.8621, 0.5551, 0.3799, 0.2332, 0.1114, 0}},
      {"ays_svd", {700, 54.5, 15.886, 7.977, 4.248, 1.789, 0.981, 0.403, 0.173, 0.034, 0}},
      {"gits", {14.615, 4.617, 2.507, 1.236, 0.702, 0.402, 0.240, 0.156, 0.104, 0.094, 0}},
      {"gits_sdxl", {14.615, 4.734, 2.567, 1.529, 0.987, 0.652, 0.418, 0.268, 0.179, 0.127, 0}},
  };
  const ModelSigmas model = sd1();
  for (const Published& p : lists) {
    SCOPED_TRACE(p.name);
    expect_near(of(p.name, model, 10, p.options), p.sigmas);
  }
}

TEST(SigmaSchedules, four_steps_of_the_distilled_models) {
  expect_near(of("lcm", sd1(), 4), {14.6146, 4.2606, 1.6129, 0.7194, 0});
  expect_near(of("turbo", sd1(), 4), {14.6146, 4.0817, 1.6129, 0.6932, 0});
}

TEST(SigmaSchedules, ten_steps_of_a_flow_model_with_shift_3) {
  const Published lists[] = {
      {"simple", {1.0000, 0.9643, 0.9231, 0.8750, 0.8182, 0.7500, 0.6667, 0.5625, 0.4286, 0.2500, 0}},
      {"normal", {1.0000, 0.9601, 0.9133, 0.8577, 0.7904, 0.7073, 0.6022, 0.4649, 0.2780, 0.0089, 0}},
      {"sgm_uniform", {1.0000, 0.9644, 0.9233, 0.8755, 0.8189, 0.7511, 0.6683, 0.5649, 0.4322, 0.2556, 0}},
      {"beta", {1.0000, 0.9863, 0.9553, 0.9076, 0.8409, 0.7507, 0.6309, 0.4796, 0.2981, 0.1137, 0}},
      {"karras", {1.0000, 0.6357, 0.3916, 0.2327, 0.1326, 0.0720, 0.0368, 0.0176, 0.0077, 0.0030, 0}},
      {"exponential", {1.0000, 0.5243, 0.2749, 0.1441, 0.0756, 0.0396, 0.0208, 0.0109, 0.0057, 0.0030, 0}},
      {"ddim_uniform", {0.9650, 0.9240, 0.8760, 0.8194, 0.7515, 0.6685, 0.5648, 0.4316, 0.2542, 0.0060, 0}},
      {"kl_optimal", {1.0000, 0.8397, 0.7012, 0.5787, 0.4679, 0.3659, 0.2701, 0.1787, 0.0902, 0.0030, 0}},
      {"linear_quadratic", {1.0000, 0.9950, 0.9900, 0.9850, 0.9800, 0.9750, 0.9320, 0.8130, 0.6180, 0.3470, 0}},
      {"flux", {1.0000, 0.9660, 0.9266, 0.8805, 0.8257, 0.7595, 0.6780, 0.5751, 0.4412, 0.2598, 0}},
      {"ltx", {1.0000, 0.9764, 0.9477, 0.9123, 0.8675, 0.8088, 0.7286, 0.6127, 0.4300, 0.1000, 0}},
  };
  const ModelSigmas model = ModelSigmas::flow(3);
  EXPECT_NEAR(model.least(), 0.00299401, 1e-8);
  for (const Published& p : lists) {
    SCOPED_TRACE(p.name);
    expect_near(of(p.name, model, 10, p.options), p.sigmas);
  }
  const Values fifty = of("normal", model, 50);
  ASSERT_EQ(fifty.size(), 51u);
  expect_near({fifty[1], fifty[2], fifty[47], fifty[48], fifty[49]}, {0.9931, 0.9861, 0.1205, 0.0669, 0.0089});
}

TEST(FlowSchedules, shifts_of_flux_and_ltx) {
  expect_near(flow_sigmas(flow_times(4), std::exp(1.15)), {1.0000, 0.9045, 0.7595, 0.5128, 0});
  expect_near(of("normal", ModelSigmas::flow(std::exp(1.15), 10000), 10),
              {1.0000, 0.9619, 0.9171, 0.8634, 0.7980, 0.7166, 0.6125, 0.4747, 0.2836, 0.0010, 0});
  const Values plain = flow_sigmas(flow_times(10), shift_of(TimeShift::exponential, 2.05));
  expect_near(plain, {1.0000, 0.9859, 0.9688, 0.9477, 0.9210, 0.8859, 0.8382, 0.7690, 0.6601, 0.4633, 0});
  EXPECT_EQ(mu_of(MuLine{}, 256), 0.5);
  EXPECT_NEAR(mu_of(MuLine{}, 4096), 1.15, 1e-15);
  EXPECT_NEAR(mu_of(ltx_mu_line, 4096), 2.05, 1e-15);
  EXPECT_EQ(shift_of(TimeShift::linear, 3), 3);
}

TEST(FlowSchedules, terminal_and_angles) {
  EXPECT_EQ(stretched_to({1, 0}, 0.1), (Values{1, 0}));
  EXPECT_THROW(stretched_to({1, 0.5, 0}, 0), UsageError);
  EXPECT_THROW(stretched_to({1, 0.5, 0}, 1), UsageError);
  EXPECT_EQ(trigflow_angles(2), (Values{1.57080, 1.3, 0}));
  EXPECT_EQ(trigflow_angles(1), (Values{1.57080, 0}));
  expect_near(trigflow_angles(4), {1.5708, 1.1781, 0.7854, 0.3927, 0}, 1e-10);
  EXPECT_THROW(trigflow_angles(0), UsageError);
  EXPECT_THROW(flow_times(0), UsageError);
}

// golden/make_schedules.py: quantiles by scipy, and the functions of k-diffusion and diffusers, all in f64. Observed 5.6e-8, from the f32
// of the file.
HOST_TEST(SigmaScheduleGoldens, equal_the_references) {
  const test::Golden golden(__FILE__, "schedules", device);
  const ModelSigmas model = sd1();
  double worst = 0;
  int cases = 0;
  for (const std::string& key : golden.names()) {
    SCOPED_TRACE(key);
    const size_t bar = key.find('|'), second = key.find('|', bar + 1);
    const std::string name = key.substr(0, bar);
    const int64_t n = std::stoll(key.substr(bar + 1));
    const double value = second == std::string::npos ? 0 : std::stod(key.substr(second + 1));
    Values got;
    if (name == "beta_quantile") {
      for (int64_t i = 0; i <= n; ++i) got.push_back(beta_quantile(double(i) / double(n), value, 1.3 * value));
    } else if (name == "normal_quantile") {
      for (int64_t i = 1; i < n; ++i) got.push_back(normal_quantile(double(i) / double(n)));
    } else if (name == "empirical_mu") {
      got = {empirical_mu(value, n)};
    } else if (name == "logit_normal") {
      got = of(name, ModelSigmas::flow(1), n, {{"mu", value}, {"std", 1.5}});
    } else if (name == "linear_quadratic") {
      got = of(name, ModelSigmas::flow(1), n, {{"threshold", value}});
    } else if (name == "vp") {
      got = of(name, model, n, {{"beta_d", value}});
    } else if (name == "karras" || name == "polyexponential") {
      got = of(name, model, n, {{"sigma_min", 0.1}, {"sigma_max", 10}, {"rho", value}});
    } else {
      got = of(name, model, n, {{"sigma_min", 0.1}, {"sigma_max", 10}});
    }
    const std::vector<float> wanted = golden.values(key);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double error = std::abs(got[i] - double(wanted[i])) / std::max(1e-3, std::abs(double(wanted[i])));
      EXPECT_LE(error, 5e-7) << "entry " << i << ": " << got[i] << ", reference " << wanted[i];
      worst = std::max(worst, error);
    }
    ++cases;
  }
  EXPECT_GE(cases, 30);
  ::testing::Test::RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

TEST(SigmaSchedules, special_functions_at_known_points) {
  EXPECT_NEAR(beta_quantile(0.5, 0.6, 0.6), 0.5, 1e-15);
  EXPECT_NEAR(beta_quantile(0.3, 1, 1), 0.3, 1e-15);
  EXPECT_NEAR(beta_quantile(0.25, 2, 1), 0.5, 1e-15);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-13);
  EXPECT_EQ(normal_quantile(1), std::numeric_limits<double>::infinity());
}

// Ends, order and length of every schedule, from one step on.
TEST(SigmaSchedules, every_schedule_falls) {
  const ModelSigmas models[] = {sd1(), ModelSigmas::flow(3)};
  for (const SigmaSchedule& s : sigma_schedules())
    for (const ModelSigmas& m : models)
      for (const int64_t n : {1, 2, 3, 5, 11, 32, 50}) {
        SCOPED_TRACE(fmt::format("{} {}", s.name, n));
        const bool flow = m.family == SigmaFamily::flow;
        if (flow ? s.models == SigmaSchedule::Models::exploding : s.models == SigmaSchedule::Models::flow) {
          EXPECT_THROW(make_sigmas(s, m, n), UsageError);
          continue;
        }
        const Values sigmas = make_sigmas(s, m, n);
        if (s.name == "laplace") {
          ASSERT_EQ(int64_t(sigmas.size()), n);
          continue;  // clamped: several may have the largest value
        }
        check_sigmas(sigmas, m.family, s.name == "kl_optimal_a1111");
        EXPECT_EQ(int64_t(sigmas.size()), s.name == "ddim_uniform" ? 998 / (1000 / n) + 2 : n + 1);
      }
}

TEST(SigmaSchedules, between_the_entries) {
  const ModelSigmas m = sd1();
  EXPECT_EQ(m.time_of(m.most()), 999);
  EXPECT_EQ(m.time_of(m.least()), 0);
  EXPECT_NEAR(m.sigma_at(500.5), std::sqrt(m.table[500] * m.table[501]), 1e-12);
  for (const double t : {0.25, 17.0, 500.75, 998.5}) EXPECT_NEAR(m.time_of(m.sigma_at(t)), t, 1e-9);
  EXPECT_EQ(m.sigma_at(-3), m.least());
  EXPECT_EQ(m.sigma_at(2000), m.most());
}

// Seven does not divide 1000; 16 has ties, 62.5 and 61.5.
TEST(SigmaSchedules, entries_of_the_table_where_steps_do_not_divide_it) {
  const Values t = sd1().table;
  EXPECT_EQ(of("simple", sd1(), 7), (Values{t[999], t[857], t[714], t[571], t[428], t[285], t[142], 0}));
  const Values turbo = of("turbo", sd1(), 16);
  EXPECT_EQ(turbo[14], t[124]);
  EXPECT_EQ(turbo[15], t[62]);
  EXPECT_EQ(of("lcm", sd1(), 4)[3], t[259]);
  EXPECT_EQ(of("lcm", sd1(), 7)[2], t[719]);
}

TEST(SigmaSchedules, repeated_entries_are_one_step) {
  const Values sigmas = of("smoothstep", sd1(), 400);
  EXPECT_LT(sigmas.size(), 400u);
  check_sigmas(sigmas, SigmaFamily::exploding);
  EXPECT_LT(of("beta", sd1(), 900).size(), 900u);
}

// For 32 steps A1111 uses a table of 32 values unchanged and appends 0; for other counts both forms are linear in ln σ.
TEST(SigmaSchedules, published_tables_of_other_lengths) {
  const Values all = of("Align Your Steps 32", sd1(), 32);
  EXPECT_EQ(all.size(), 33u);
  EXPECT_EQ(all[1], 11.23951352);
  EXPECT_EQ(all[31], 0.015);
  const Values twenty = of("ays", sd1(), 20);
  EXPECT_NEAR(twenty[1], std::sqrt(14.6146412293 * 6.4745760956), 1e-9);
  EXPECT_EQ(twenty[2], 6.4745760956);
  const Values five = of("ays_11", sd1(), 6);
  expect_near(five, {14.615, 3.861, 1.886, 0.963, 0.399, 0.029, 0});  // A1111's rounded table
  expect_near(of("ays_sdxl_11", sd1(), 6), {14.615, 3.771, 1.342, 0.555, 0.234, 0.029, 0});
  expect_near(of("gits_a1111", sd1(), 6), {14.615, 2.507, 0.702, 0.240, 0.104, 0.029, 0});
  expect_near(of("gits_sdxl_a1111", sd1(), 6), {14.615, 2.567, 0.987, 0.418, 0.179, 0.029, 0});
}

// The release's tables: Σ (i + 1)·σᵢ over the 19 tables of each coefficient, with the last noise level instead of 0.
TEST(SigmaSchedules, gits_has_a_table_for_each_number_of_steps) {
  expect_near(of("gits_comfyui", sd1(), 10),
              {14.61464119, 5.85520077, 2.84484982, 1.67050016, 1.08895338, 0.74807048, 0.50118381, 0.32104823, 0.19894916, 0.09824532, 0});
  expect_near(of("GITSScheduler", sd1(), 2, {{"coeff", 0.8}}), {14.61464119, 7.49001646, 0});
  const double sums[] = {10072.14376, 8718.35454, 7018.34516, 5198.84439, 3676.02296, 2736.52401, 2077.86490, 1633.55989,
                         1427.82133,  1172.09042, 1075.50431, 936.62769,  841.89670,  810.31118,  778.20844};
  for (int c = 0; c < 15; ++c) {
    double sum = 0;
    for (int64_t n = 2; n <= 20; ++n) {
      Values sigmas = of("gits_comfyui", sd1(), n, {{"coeff", 0.8 + 0.05 * c}});
      ASSERT_EQ(int64_t(sigmas.size()), n + 1);
      EXPECT_EQ(sigmas.back(), 0);
      sigmas.back() = 0.02916753;
      for (size_t i = 0; i < sigmas.size(); ++i) sum += double(i + 1) * sigmas[i];
    }
    EXPECT_NEAR(sum, sums[c], 1e-5) << c;
  }
  EXPECT_EQ(of("gits_comfyui", sd1(), 1), (Values{14.61464119, 0}));
  const Values forty = of("gits_comfyui", sd1(), 40), twenty = of("gits_comfyui", sd1(), 20);
  for (size_t i = 0; i < 20; ++i) EXPECT_NEAR(forty[2 * i], twenty[i], 1e-9);
  EXPECT_NEAR(forty[1], std::sqrt(twenty[0] * twenty[1]), 1e-9);
}

std::string refusal(std::string_view name, int64_t n, const ScheduleOptions& options) {
  try {
    of(name, sd1(), n, options);
  } catch (const UsageError& e) { return e.what(); }
  return "nothing thrown";
}

TEST(SigmaSchedules, refusals_name_what_is_wrong) {
  EXPECT_EQ(refusal("karras", 0, {}), "steps: got 0, expected at least 1");
  EXPECT_EQ(refusal("simple", 1001, {}), "steps: got 1001, expected at most 1000: simple uses entries of the model's noise table");
  EXPECT_EQ(refusal("lcm", 51, {}), "schedule lcm: got 51 steps, expected at most original_steps = 50");
  EXPECT_EQ(refusal("karras", 5, {{"roh", 5}}), "schedule karras: option 'roh' is unknown, expected one of rho, sigma_min, sigma_max");
  EXPECT_EQ(refusal("simple", 5, {{"rho", 5}}), "schedule simple: option 'rho' is unknown, expected none");
  EXPECT_EQ(refusal("karras", 5, {{"rho", 0}}), "schedule karras: rho is 0, expected 0.1 to 100");
  EXPECT_EQ(refusal("karras", 5, {{"sigma_min", 20}}),
            "schedule karras: sigma_min is 20, expected less than sigma_max = 14.614646911621094");
  EXPECT_EQ(refusal("gits_comfyui", 5, {{"coeff", 1.22}}), "schedule gits: coeff is 1.22, expected 0.8 to 1.5 in steps of 0.05");
  EXPECT_EQ(refusal("flux", 5, {}), "schedule flux: supports only flow models");
  EXPECT_THROW(of("ays", ModelSigmas::flow(3), 5), UsageError);
  EXPECT_THROW(of("karras", ModelSigmas::flow(3), 5, {{"sigma_max", 1.5}}), UsageError);
}

TEST(SigmaSchedules, names_are_those_of_other_programs_and_stand_for_one_schedule) {
  const std::pair<const char*, const char*> names[] = {
      {"SGM Uniform", "sgm_uniform"}, {"discrete", "normal"},          {"Uniform", "normal"},
      {"KL Optimal", "kl_optimal"},   {"Align Your Steps", "ays"},     {"Align Your Steps GITS", "gits"},
      {"DDIM", "ddim_uniform"},       {"use_karras_sigmas", "karras"}, {"Turbo", "turbo"}};
  for (const auto& [alias, name] : names) {
    const SigmaSchedule* s = find_sigma_schedule(alias);
    ASSERT_NE(s, nullptr) << alias;
    EXPECT_EQ(s->name, name);
  }
  EXPECT_EQ(find_sigma_schedule("karas"), nullptr);
  std::set<std::string> all;
  for (const SigmaSchedule& s : sigma_schedules()) {
    EXPECT_TRUE(all.insert(folded(s.name)).second) << s.name;
    for (const std::string_view alias : s.aliases) EXPECT_TRUE(all.insert(folded(alias)).second) << alias;
  }
}

// No two names are the same schedule, except those that are equal by definition.
TEST(SigmaSchedules, no_two_are_the_same) {
  std::set<Values> seen;
  const ModelSigmas m = sd1();
  for (const SigmaSchedule& s : sigma_schedules()) {
    if (s.models == SigmaSchedule::Models::flow || s.name == "polyexponential") continue;  // ρ = 1 is exponential
    EXPECT_TRUE(seen.insert(make_sigmas(s, m, 12)).second) << s.name;
  }
}

std::string list_refusal(const Values& sigmas, SigmaFamily family = SigmaFamily::exploding) {
  try {
    check_sigmas(sigmas, family);
  } catch (const UsageError& e) { return e.what(); }
  return "nothing thrown";
}

TEST(SigmaSchedules, lists_of_users) {
  EXPECT_EQ(list_refusal({14.6, 7, 1, 0}), "nothing thrown");
  EXPECT_EQ(list_refusal({0}), "sigmas: got 1 values, expected at least 2: the start and the end of the run");
  EXPECT_EQ(list_refusal({14.6, 7, 7, 0}), "sigmas: value 3 is 7 after 7, expected each below the one before");
  EXPECT_EQ(list_refusal({7, 14.6, 0}), "sigmas: value 2 is 14.6 after 7, expected each below the one before");
  EXPECT_EQ(list_refusal({7, 1}), "sigmas: the last is 1, expected 0");
  EXPECT_EQ(list_refusal({7, -1}), "sigmas: value 2 is -1, expected a number of at least 0");
  EXPECT_EQ(list_refusal({std::nan(""), 0}), "sigmas: value 1 is nan, expected a number of at least 0");
  EXPECT_EQ(list_refusal({1.5, 0}, SigmaFamily::flow), "sigmas: the first is 1.5, expected at most 1 for a flow model");
  EXPECT_NO_THROW(check_sigmas(Values{7, 1}, SigmaFamily::exploding, true));
}

}  // namespace
}  // namespace hearth::sampling
