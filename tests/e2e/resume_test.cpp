// Options of samplers, and stopped and resumed runs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "hearth/hearth.h"

namespace hearth::test {
namespace {

Request small(const std::string& sampler) {
  return {.prompt = "a red house", .width = 64, .height = 72, .steps = 6, .sampler = sampler, .seed = 11, .batch_size = 2, .decode = false};
}

TEST(Resume, the_image_is_that_of_the_whole_run) {
  Model model = Model::open_demo();
  for (const char* sampler : {"plms", "heun", "euler_ancestral", "dpmpp_2m", "dpmpp_3m_sde", "sa_solver", "uni_pc", "lms"}) {
    Request request = small(sampler);
    request.guidance_method = sampler == std::string("dpmpp_2m") ? "apg" : "";
    const Generation whole = model.generate(request);
    EXPECT_FALSE(whole.state);
    for (const int64_t step : {1, 4}) {
      request.stop_after = step;
      const Generation stopped = model.generate(request);
      ASSERT_TRUE(stopped.state);
      EXPECT_NE(stopped.latents.values, whole.latents.values);
      Request rest = request;
      rest.stop_after = 0, rest.resume = stopped.state, rest.seed = std::nullopt;  // taken from the state
      EXPECT_EQ(Model::open_demo().generate(rest).latents.values, whole.latents.values) << sampler << " after step " << step;
    }
  }
}

TEST(Resume, another_run_is_refused) {
  Model model = Model::open_demo();
  Request request = small("dpmpp_2m");
  request.stop_after = 2;
  const RunState state = *model.generate(request).state;
  const auto refused = [&](const std::function<void(Request&)>& change) -> std::string {
    Request other = small("dpmpp_2m");
    other.resume = state;
    change(other);
    try {
      model.generate(other);
    } catch (const UsageError& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(refused([](Request& r) { r.sampler = std::string("euler"); }),
            "resume: the state has sampler \"dpmpp_2m\", this run has \"euler\"");
  EXPECT_EQ(refused([](Request& r) { r.steps = 7; }), "resume: the state has steps 6, this run has 7");
  EXPECT_EQ(refused([](Request& r) { r.seed = 12; }), "resume: the state has seed 11, this run has 12");
  EXPECT_EQ(refused([](Request& r) { r.width = 72; }), "resume: the state has width 64, this run has 72");
  EXPECT_EQ(refused([](Request& r) { r.compat = Compat::diffusers; }), "resume: the state has compat \"\", this run has \"diffusers\"");
  EXPECT_EQ(refused([](Request& r) { r.resume->json = std::string("{"); }).substr(0, 38), "resume: the state is not valid JSON: [");
  EXPECT_EQ(refused([](Request& r) { r.resume->json = std::string("{}"); }).substr(0, 32), "resume: the state is incomplete:");
  EXPECT_EQ(refused([](Request& r) { r.resume->arrays.erase("state.history.0"); }), "resume: the state has no 'state.history.0'");
  EXPECT_NE(refused([](Request& r) { r.resume->arrays["state.x"].shape[0] = 1; }).find("'state.x' does not have the shape"),
            std::string::npos);
}

// A program's conventions and their options identify a run, too.
TEST(Resume, another_programs_run_is_refused) {
  Model model = Model::open_demo();
  const auto refused = [&](Compat compat, const std::function<void(Request&)>& change) -> std::string {
    Request request = small("euler");
    request.compat = compat, request.stop_after = 1;
    const RunState state = *model.generate(request).state;
    request.stop_after = 0, request.resume = state;
    EXPECT_NO_THROW(model.generate(request));
    change(request);
    try {
      model.generate(request);
    } catch (const UsageError& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(refused(Compat::a1111, [](Request& r) { r.eta_noise_seed_delta = 31337; }),
            "resume: the state has eta_noise_seed_delta 0, this run has 31337");
  EXPECT_EQ(refused(Compat::comfyui, [](Request& r) { r.batch_index = 1; }), "resume: the state has batch_index 0, this run has 1");
}

TEST(SamplerOptions, act_and_are_refused) {
  Model model = Model::open_demo();
  const auto latents = [&](const std::string& sampler, std::map<std::string, std::string> options) {
    Request request = small(sampler);
    request.schedule = "karras";
    request.sampler_options = std::move(options);
    return model.generate(request);
  };
  EXPECT_NE(latents("euler", {{"s_churn", "2"}}).latents.values, latents("euler", {}).latents.values);
  EXPECT_EQ(latents("dpm_2_ancestral", {{"eta", "0"}}).latents.values, latents("dpm_2", {}).latents.values);
  EXPECT_NE(latents("lms", {{"last_step", "denoised"}}).latents.values, latents("lms", {}).latents.values);
  const nlohmann::json report = nlohmann::json::parse(latents("lms", {{"last_step", "denoised"}}).report);
  EXPECT_EQ(report["request"]["sampler_options"], (nlohmann::json{{"order", "4"}, {"last_step", "denoised"}}));
  const auto refusal = [&](const std::string& sampler, const std::string& name, const std::string& value) -> std::string {
    try {
      latents(sampler, {{name, value}});
    } catch (const UsageError& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(refusal("lms", "eta", "1"), "sampler 'lms': option 'eta' is unknown, expected one of order, last_step");
  EXPECT_EQ(refusal("dpmpp_2m", "eta", "1"), "sampler 'dpmpp_2m': option 'eta' is unknown, expected none");
  EXPECT_EQ(refusal("lms", "order", "1.5"), "sampler 'lms': order is 1.5, expected a whole number, 1 … 8");
  EXPECT_EQ(refusal("euler_ancestral", "eta", "-1"), "sampler 'euler_ancestral': eta is -1, expected at least 0");
  EXPECT_EQ(refusal("lms", "last_step", "fast"), "sampler 'lms': last_step is 'fast', expected one of integrated, denoised");
}

// dpm_adaptive's steps depend on the error of each image alone.
TEST(SamplerOptions, an_image_of_a_batch_equals_the_single_image) {
  Model model = Model::open_demo();
  Request both = small("dpm_adaptive"), second = both;
  both.sampler_options = second.sampler_options = {{"eta", "0.4"}, {"rtol", "0.3"}};
  second.batch_size = 1, second.seed = 12;
  const std::vector<float> two = model.generate(both).latents.values, one = model.generate(second).latents.values;
  EXPECT_EQ(std::vector<float>(two.begin() + std::ptrdiff_t(one.size()), two.end()), one);
}

}  // namespace
}  // namespace hearth::test
