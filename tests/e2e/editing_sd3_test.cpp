// Runs that start from an image with Stable Diffusion 3, compared with diffusers (golden/make_editing_sd3.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "e2e/editing_cases_test.h"
#include "support/complaint.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

struct EditsSd3 : testing::Test, EditingCases {
  EditsSd3() : EditingCases("editing_sd3") {}
};

TEST_F(EditsSd3, latents_are_those_of_diffusers) {
  expect_golden_latents(5e-5);  // observed 8.0e-7 to 6.8e-6
}

// ⌈strength·steps⌉ calls of the transformer, as the reference; a step of two calls ends with one.
TEST_F(EditsSd3, steps_are_rounded_up) {
  const auto calls = [&](int64_t steps, double strength) {
    Request r = request_of(cases.at("image_055"));
    r.steps = steps, r.edit.strength = strength;
    return int64_t(Json::parse(model("sd3").generate(r).report).at("seconds").at("steps").size());
  };
  EXPECT_EQ(calls(7, 0.3), 3);
  EXPECT_EQ(calls(10, 0.55), 6);
  EXPECT_EQ(calls(10, 0.5), 5);
  EXPECT_EQ(calls(10, 0.01), 1);
  EXPECT_EQ(calls(10, 1), 10);
}

TEST_F(EditsSd3, sides_are_multiples_of_sixteen) {
  Request r = request_of(cases.at("image_055"));
  r.width = 72, r.height = 64;
  const std::string message = complaint_of([&] { model("sd3").generate(r); });
  EXPECT_NE(message.find("multiple of 16"), std::string::npos) << message;
}

}  // namespace
}  // namespace hearth::test
