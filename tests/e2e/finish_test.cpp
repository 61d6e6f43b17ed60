// Request::finish: a run that the user ends early.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "e2e/cases.h"
#include "hearth/rerun.h"
#include "support/files.h"

namespace hearth {
namespace {

using Json = nlohmann::json;
using test::checkpoint_folder;

Request request() { return {.prompt = "a red house", .width = 32, .height = 48, .steps = 6, .sampler = "euler", .seed = 3}; }

// Runs it and ends it after a step; 0: before the first one.
Generation ended(Model& model, Request r, int64_t step) {
  std::atomic<bool> finish = step == 0;
  r.finish = &finish;
  r.progress = [&](const Progress& p) {
    if (p.phase == "sample" && p.done == step && step > 0) finish = true;
  };
  return model.generate(r);
}

Array state_after(Model& model, int64_t step) {
  Request r = request();
  r.stop_after = step;
  return model.generate(r).state->arrays.at("state.x");
}

TEST(Finish, decodes_the_estimate_of_the_step) {
  Model model = Model::open(checkpoint_folder("pndm"));
  const Generation made = ended(model, request(), 3);
  EXPECT_EQ(made.ended_after, 3);
  // Euler's step from x to y is x + (σ' − σ)·(x − x̂₀)/σ.
  const Array x = state_after(model, 2), y = state_after(model, 3);
  const std::vector<double> sigmas = Json::parse(made.report).at("levels").at("sigmas");
  ASSERT_EQ(made.latents.values.size(), x.values.size());
  for (size_t i = 0; i < x.values.size(); ++i) {
    const double slope = (double(y.values[i]) - double(x.values[i])) / (sigmas[3] - sigmas[2]);
    EXPECT_NEAR(made.latents.values[i], x.values[i] - sigmas[2] * slope, 2e-4) << i;
  }
  const Array pixels = model.decode(made.latents);
  ASSERT_EQ(made.images.size(), 1u);
  for (size_t i = 0; i < made.images[0].rgb.size(); ++i) {
    const size_t pixel = i / 3, plane = i % 3 * 32 * 48;
    EXPECT_NEAR(made.images[0].rgb[i], std::clamp(pixels.values[plane + pixel] * 0.5 + 0.5, 0.0, 1.0) * 255, 0.51) << i;
  }
}

TEST(Finish, runs_one_step_at_least_and_is_of_no_account_in_the_last) {
  Model model = Model::open(checkpoint_folder("pndm"));
  const Generation first = ended(model, request(), 0), last = ended(model, request(), 6), whole = model.generate(request());
  EXPECT_EQ(first.ended_after, 1);
  EXPECT_EQ(last.ended_after, 0);
  EXPECT_EQ(last.images[0].rgb, whole.images[0].rgb);
  EXPECT_EQ(last.images[0].json, whole.images[0].json);
  EXPECT_NE(first.images[0].rgb, whole.images[0].rgb);
}

TEST(Finish, omits_the_second_pass) {
  Model model = Model::open(checkpoint_folder("pndm"));
  Request two = request();
  two.hires = Hires{.scale = 2, .steps = 2};
  const Generation made = ended(model, two, 2), one = ended(model, request(), 2);
  ASSERT_EQ(made.images.size(), 1u);
  EXPECT_EQ(made.images[0].width, 32);
  EXPECT_EQ(made.images[0].rgb, one.images[0].rgb);
}

TEST(Finish, ends_every_image_of_a_sampler_that_ends_itself) {
  Model model = Model::open(checkpoint_folder("pndm"));
  Request r = request();
  r.sampler = "dpm_adaptive", r.batch_size = 2;
  const Generation made = ended(model, r, 0);
  EXPECT_GT(made.ended_after, 0);
  EXPECT_EQ(made.images.size(), 2u);
}

TEST(Finish, is_in_the_metadata) {
  Model model = Model::open(checkpoint_folder("pndm"));
  const Generation made = ended(model, request(), 2);
  ASSERT_EQ(made.warnings.size(), 1u);
  EXPECT_EQ(made.warnings[0], "the run was ended after step 2 of 6");
  const test::TemporaryFolder folder;
  made.images[0].save(folder / "ended.png");
  const Rerun rerun = rerun_of(folder / "ended.png");
  ASSERT_EQ(rerun.not_reproduced.size(), 1u);
  EXPECT_EQ(rerun.not_reproduced[0], "the end after step 2: the user ended the run there");
}

}  // namespace
}  // namespace hearth
