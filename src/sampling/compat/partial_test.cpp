#include "sampling/compat/partial.h"

#include "core/files/config.h"
#include "ops/shape_ops.h"
#include "sampling/noise/noise_sources.h"
#include "sampling/samplers.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::sampling {
namespace {

using test::complaint_of;

TEST(PartialRun, takes_as_many_steps_as_the_program) {
  const auto taken = [](Compat compat, int64_t n, double strength, Steps how = Steps::by_program) {
    const RunPart p = part_of_run(compat, n, strength, how);
    return std::pair(p.steps, p.skipped);
  };
  using P = std::pair<int64_t, int64_t>;
  EXPECT_EQ(taken(Compat::hearth, 10, 0.55), P(10, 5));
  EXPECT_EQ(taken(Compat::diffusers, 100, 0.29), P(100, 72));  // 100 · 0.29 is below 29 in doubles
  EXPECT_EQ(taken(Compat::hearth, 10, 1), P(10, 0));
  EXPECT_EQ(taken(Compat::hearth, 10, 0), P(10, 10));
  EXPECT_EQ(taken(Compat::a1111, 20, 0.5), P(20, 9));
  EXPECT_EQ(taken(Compat::a1111, 20, 1), P(20, 0));
  EXPECT_EQ(taken(Compat::a1111, 20, 0), P(20, 19));
  EXPECT_EQ(taken(Compat::comfyui, 20, 0.6), P(33, 13));
  EXPECT_EQ(taken(Compat::comfyui, 20, 1), P(20, 0));
  EXPECT_EQ(taken(Compat::comfyui, 20, 0), P(20, 20));
  EXPECT_EQ(taken(Compat::hearth, 10, 0.3, Steps::all_steps), P(33, 23));
  EXPECT_EQ(taken(Compat::a1111, 10, 1, Steps::all_steps), P(10, 0));
  // As in the reference's pipelines of flow models: get_timesteps() of SD3 and FLUX.
  for (const auto& [n, strength, skipped] :
       {std::tuple(7, 0.3, 4), {10, 0.3, 7}, {10, 0.7, 3}, {28, 0.6, 11}, {100, 0.29, 71}, {5, 1.0, 0}})
    EXPECT_EQ(taken(Compat::diffusers, n, strength, Steps::by_program_rounded_up), P(n, skipped)) << n << " " << strength;
  EXPECT_EQ(taken(Compat::hearth, 10, 0.01, Steps::by_program_rounded_up), P(10, 9));
  EXPECT_EQ(taken(Compat::hearth, 10, 1e-30, Steps::by_program_rounded_up), P(10, 9));
  EXPECT_EQ(taken(Compat::hearth, 10, 0, Steps::by_program_rounded_up), P(10, 10));
  EXPECT_EQ(taken(Compat::a1111, 20, 0.5, Steps::by_program_rounded_up), P(20, 9));
  EXPECT_EQ(taken(Compat::comfyui, 20, 0.6, Steps::by_program_rounded_up), P(33, 13));
  for (const double strength : {-0.1, 1.1, std::nan("")})
    EXPECT_NE(complaint_of([&] { part_of_run(Compat::hearth, 10, strength); }).find("expected a number from 0 to 1"), std::string::npos);
  EXPECT_NE(complaint_of([] { part_of_run(Compat::hearth, 10, 0.01); }).find("is less than one step, expected at least 0.1"),
            std::string::npos);
  EXPECT_THROW(part_of_run(Compat::comfyui, 10, 1e-12), UsageError);
  EXPECT_THROW(part_of_run(Compat::hearth, 0, 0.5), UsageError);
}

TEST(PartialRun, of_a1111s_times_takes_the_steps_between_them) {
  Schedule whole;
  whole.path.family = Family::preserving;
  whole.scheduler = SchedulerClass::ddim;
  const auto level = [](int64_t t) { return Level::of_alpha_bar(1 - double(t) / 10, float(t)); };
  for (int64_t t = 9; t > 1; --t) whole.steps.push_back({level(t), level(t), level(t - 1)});
  Rest rest = rest_by_times(whole, 4);  // timesteps 4, 3, 2, 1; noise for 5
  ASSERT_EQ(rest.schedule.steps.size(), 3u);
  EXPECT_EQ(rest.schedule.steps[0].from.timestep, 4);
  EXPECT_EQ(rest.start.level.timestep, 5);
  EXPECT_EQ(rest.start.noise_factor, level(5).sigma);
  whole.scheduler = SchedulerClass::pndm;
  whole.steps.insert(whole.steps.begin() + 1, {level(8), level(9), level(8)});
  rest = rest_by_times(whole, 4);
  ASSERT_EQ(rest.schedule.steps.size(), 4u);
  EXPECT_EQ(rest.schedule.steps[1].at.timestep, 3);
  EXPECT_EQ(rest.schedule.steps[1].from.timestep, 4);
  EXPECT_EQ(rest.schedule.steps[1].to.timestep, 3);
  EXPECT_EQ(rest.start.level.timestep, 5);
  for (const int64_t times : {0, 1, 9})
    EXPECT_NE(complaint_of([&] { rest_by_times(whole, times); }).find("of A1111's times, expected 2 to 8"), std::string::npos);
}

// diffusers' list of calls is 801 601 601 401 201 1, with the second timestep twice. In the remaining list the second call is made twice.
TEST(PartialRun, of_plms_does_the_first_step_that_is_left_twice) {
  const SchedulerConfig config = SchedulerConfig::read(
      Config::parse(R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "skip_prk_steps": true,
                        "steps_offset": 1})",
                    "c"),
      "PNDMScheduler");
  const Schedule whole = make_schedule(config, {}, 5);
  using Times = std::vector<std::array<float, 3>>;
  const auto times = [](const Schedule& s) {
    Times all;
    for (const Step& step : s.steps) all.push_back({step.at.timestep, step.from.timestep, step.to.timestep});
    return all;
  };
  ASSERT_EQ(times(whole).size(), 6u);
  EXPECT_EQ(times(without_first(whole, 1)), (Times{{601, 601, 401}, {601, 801, 601}, {401, 401, 201}, {201, 201, 1}, {1, 1, -1}}));
  EXPECT_EQ(times(without_first(whole, 2)), (Times{{601, 601, 401}, {401, 601, 401}, {201, 201, 1}, {1, 1, -1}}));
  EXPECT_EQ(times(without_first(whole, 4)), (Times{{201, 201, 1}, {1, 201, 1}}));
  EXPECT_EQ(times(without_first(whole, 5)), (Times{{1, 1, -1}}));
}

TEST(PartialRun, pndm_with_runge_kutta_steps_is_refused) {
  const SchedulerConfig config = SchedulerConfig::read(
      Config::parse(R"({"beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear"})", "c"), "PNDMScheduler");
  const Schedule whole = make_schedule(config, {}, 10);
  ASSERT_GT(whole.runge_kutta_calls, 0);
  EXPECT_EQ(without_first(whole, 0).steps.size(), whole.steps.size());
  EXPECT_NE(complaint_of([&] { without_first(whole, 3); }).find("Runge–Kutta"), std::string::npos);
}

HOST_TEST(Blended, a_mask_takes_each_value_from_where_it_is) {
  const Shape shape{2, 1, 2, 3};
  const Tensor painted = Tensor::from(device, shape, test::test_values("painted", 12)),
               kept = Tensor::from(device, shape, test::test_values("kept", 12));
  const std::vector<float> m{1, 0, 0.25f, 0.5f}, p = painted.to_vector(), k = kept.to_vector();
  std::vector<float> wanted;
  for (size_t i = 0; i < 12; ++i) wanted.push_back((1 - m[i / 3]) * k[i] + m[i / 3] * p[i]);
  EXPECT_CLOSE(blended(painted, kept, Tensor::from(device, {2, 1, 2, 1}, m)), wanted, 1e-7);
  EXPECT_NE(complaint_of([&] { blended(painted, kept, painted); }), "");
}

// Draws for the posteriors come where diffusers makes them: before the noise or after it, for one image or for each.
HOST_TEST(EncodingNoise, comes_between_the_draws) {
  const Shape shape{2, 3, 5, 4};
  for (const Compat compat : {Compat::hearth, Compat::diffusers}) {
    const bool one = compat == Compat::diffusers;
    const Generators generators = one ? Generators::one : Generators::per_image;
    const NoiseDraws plain = torch_draws(3, generators);
    const Shape encoding{one ? 1 : 2, 3, 5, 4};
    std::vector<std::vector<float>> wanted;  // before, first, after, next
    for (const Shape& s : {encoding, shape, encoding, shape}) wanted.push_back(plain(device, s, int64_t(wanted.size())).to_vector());
    const NoiseRequest request{.seed = 3, .encodings = {.before = 1, .after = 1}};
    Noise noise = make_noise(compat, request, {}, find_sampler("euler"));
    EXPECT_EQ(noise(device, shape).to_vector(), wanted[1]);
    EXPECT_EQ(noise(device, shape).to_vector(), wanted[3]);
    EXPECT_EQ(encoding_noise(compat, request, device, shape, 0).to_vector(), wanted[0]);
    EXPECT_EQ(encoding_noise(compat, request, device, shape, 1).to_vector(), wanted[2]);
    Noise later = make_noise(compat, request, {}, find_sampler("euler"));
    later.seek(1);
    EXPECT_EQ(later(device, shape).to_vector(), wanted[3]);
  }
  EXPECT_FALSE(encoding_noise(Compat::comfyui, {}, device, shape, 0));
  EXPECT_TRUE(encoding_noise(Compat::a1111, {.encodings = {.before = 1}}, device, shape, 0));
}

// A single generator draws for control images of the whole batch, and then for an input image once.
HOST_TEST(EncodingNoise, of_control_images_is_drawn_for_the_whole_batch) {
  const Shape shape{2, 3, 5, 4}, one{1, 3, 5, 4};
  const NoiseDraws plain = torch_draws(3, Generators::one);
  std::vector<std::vector<float>> wanted;  // control image, input image, first
  for (const Shape& s : {shape, one, shape}) wanted.push_back(plain(device, s, int64_t(wanted.size())).to_vector());
  const NoiseRequest request{.seed = 3, .encodings = {.before = 2, .controls = 1}};
  Noise noise = make_noise(Compat::diffusers, request, {}, find_sampler("euler"));
  EXPECT_EQ(noise(device, shape).to_vector(), wanted[2]);
  for (int64_t i = 0; i < 2; ++i)
    EXPECT_EQ(encoding_noise(Compat::diffusers, request, device, shape, i).to_vector(), wanted[size_t(i)]) << i;
}

HOST_TEST(Variations, are_a1111s) {
  const test::Golden golden(__FILE__, "variation", device);
  for (const char* strength : {"0.1", "0.5", "1.0"}) {
    const NoiseRequest request{.seed = 5, .variation = {.seed = 9, .strength = std::stod(strength)}};
    Noise noise = make_noise(Compat::hearth, request, {}, find_sampler("euler"));
    const std::vector<float> drawn = ops::to_channels_first(noise(device, {2, 6, 5, 4})).to_vector();
    const std::vector<float> first(drawn.begin(), drawn.begin() + 120);
    EXPECT_LE(test::relative_error(first, golden.values(fmt::format("5.9.{}", strength))), 2e-6);
    const NoiseRequest same{.seed = 5, .variation = {.seed = 5, .strength = std::stod(strength)}};
    Noise straight = make_noise(Compat::hearth, same, {}, find_sampler("euler"));
    EXPECT_LE(test::relative_error(ops::to_channels_first(straight(device, {1, 6, 5, 4})).to_vector(),
                                   golden.values(fmt::format("5.5.{}", strength))),
              2e-6);
  }
  for (const double strength : {-0.1, 1.5, std::nan("")})
    EXPECT_THROW(check(Compat::hearth, {.variation = {.strength = strength}}), UsageError);
  EXPECT_THROW(check(Compat::comfyui, {.variation = {.strength = 0.5}}), UnsupportedError);
}

}  // namespace
}  // namespace hearth::sampling
