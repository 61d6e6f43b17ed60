// The whole pipeline compared with diffusers: the same prompt, seed, sampler and steps.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "backends/backends.h"
#include "e2e/cases.h"
#include "support/backend_test.h"
#include "support/detached_backend.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

Model& model(const Case& c) {
  static std::map<std::string, Model> models;
  const std::string name = c.base + " " + c.checkpoint;
  const auto found = models.find(name);
  return found != models.end() ? found->second : models.emplace(name, open_model(c)).first->second;
}

int largest_difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(int(a[i]) - int(b[i])));
  return largest;
}

std::vector<uint8_t> thinned(const Image& image, int64_t step) {
  if (step == 1) return image.rgb;
  std::vector<uint8_t> some;
  for (int64_t y = 0; y < image.height; y += step)
    for (int64_t x = 0; x < image.width; x += step)
      some.insert(some.end(), image.rgb.begin() + (y * image.width + x) * 3, image.rgb.begin() + (y * image.width + x + 1) * 3);
  return some;
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, latents_and_image_are_the_references) {
  const Case& c = GetParam();
  const Generation made = model(c).generate(c.request);
  const Array expected = golden_latents(c);
  ASSERT_EQ(made.latents.shape, expected.shape);
  const double error = relative_error(made.latents.values, expected.values);
  const auto images = golden_images(c);
  ASSERT_EQ(made.images.size(), images.size());
  int difference = 0;
  for (size_t b = 0; b < images.size(); ++b)
    difference = std::max(difference, largest_difference(thinned(made.images[b], c.image_step), images[b]));
  RecordProperty("latent_error", std::to_string(error));
  if (std::getenv("HEARTH_PRINT_ERRORS"))
    printf("%s.%s: latents %.1e (f32 against f64: %.1e), pixels %d\n", c.checkpoint.c_str(), c.name.c_str(), error, c.rounding, difference);
  // Observed: one to eight times the reference implementation's own f32 rounding error, 2.0e-7 (ancestral.one_step) to 3.0e-5
  // (ddim_v.plms); at most 1 of 255 in the images.
  EXPECT_LE(error, std::min(1e-4, 10 * c.rounding + 1e-6));
  EXPECT_LE(difference, 2);
}

constexpr const char* golden_checkpoints[] = {"pndm",      "ddim_v",     "euler",      "dpmpp", "ancestral",    "xl",
                                              "xl_lcm",    "xl_refiner", "sd3",        "sd35",  "pixart_alpha", "pixart_sigma",
                                              "aura_flow", "hunyuan_11", "hunyuan_12", "sana",  "sana_15",      "sana_sprint"};

// The same on every backend and kernel path, including the `reference` backend.
class GoldenOnEachBackend : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOnEachBackend, latents_are_the_references) {
  const bool reference = GetParam() == "reference" || GetParam() == "detached";
  add_detached_backend();
  if (!reference && !cpu_path_available(GetParam())) GTEST_SKIP() << "this CPU does not support " << GetParam();
  if (!reference) ::setenv("HEARTH_CPU", GetParam().c_str(), 1);
  for (const char* checkpoint : golden_checkpoints) {
    const Case c = find_case(checkpoint, checkpoint == std::string("xl_refiner") ? "hand_off" : "default");
    Model opened = open_model(c, {.device = reference ? GetParam() : "cpu", .precision = Precision::f32});
    const Generation made = opened.generate(c.request);
    EXPECT_LE(relative_error(made.latents.values, golden_latents(c).values), 10 * c.rounding + 1e-6) << checkpoint;
  }
  ::unsetenv("HEARTH_CPU");
}

INSTANTIATE_TEST_SUITE_P(Backends, GoldenOnEachBackend, testing::Values("reference", "detached", "avx2", "avx512"),
                         [](const auto& b) { return b.param; });

class GoldenOnVulkan : public testing::TestWithParam<const char*> {};

TEST_P(GoldenOnVulkan, latents_are_the_references) {
  if (!make_test_backend("vulkan")) GTEST_SKIP() << "this machine has no driver of Vulkan";
  const Case c = find_case(GetParam(), GetParam() == std::string("xl_refiner") ? "hand_off" : "default");
  const Generation made = open_model(c, {.device = "vulkan", .precision = Precision::f32}).generate(c.request);
  const double error = relative_error(made.latents.values, golden_latents(c).values);
  if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s on Vulkan: latents %.1e (f32 against f64: %.1e)\n", GetParam(), error, c.rounding);
  EXPECT_LE(error, 10 * c.rounding + 1e-6);  // observed: 3.7e-7 (xl_lcm) to 4.7e-6 (ddim_v)
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenOnVulkan, testing::ValuesIn(golden_checkpoints),
                         [](const auto& family) { return std::string(family.param); });

INSTANTIATE_TEST_SUITE_P(Diffusers, Golden, testing::ValuesIn(all_cases()),
                         [](const auto& c) { return c.param.checkpoint + "_" + c.param.name; });

}  // namespace
}  // namespace hearth::test
