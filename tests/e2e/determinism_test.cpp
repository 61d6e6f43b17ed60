// Bit-identical images with any number of threads, on every kernel path: text encoder, denoiser and VAE.
#include <gtest/gtest.h>

#include "e2e/cases.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "support/backend_test.h"

namespace hearth::test {
namespace {

struct Generated {
  std::vector<float> latents, image;
};

Generated generate(const std::string& backend, int threads, DType hold, DType factors) {
  const auto device = make_test_backend(backend, threads);
  const Checkpoint checkpoint = models::open_checkpoint(checkpoint_folder("demo"));
  const WeightTypes types{.hold = hold, .factors = factors};
  const auto model = models::open_image_model(checkpoint, *device, {.types = types, .warn = [](const auto&) {}});
  const bool slow = backend == "reference" || backend == "cpu_emulated" || backend == "vulkan";
  const models::ImageTask task{
      .request = {.prompt = "a red house", .width = slow ? 40 : 72, .height = slow ? 32 : 64, .steps = 2, .sampler = "euler_ancestral"},
      .seed = 3};
  const models::ImageResult generated = model->prepare(task)->run({});
  return {generated.latents.to_vector(), generated.images.at(0).to_vector()};
}

class Threads : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Paths, Threads, testing::ValuesIn(backend_names()), [](const auto& path) { return path.param; });

TEST_P(Threads, do_not_change_a_bit) {
  const auto device = make_test_backend(GetParam(), 1);
  if (!device) GTEST_SKIP() << GetParam() << ": this CPU lacks it";
  std::vector<std::pair<DType, DType>> types = {{DType::f16, DType::f32}};
  if (device->multiplies_bf16()) types.emplace_back(DType::bf16, DType::bf16);
  for (const auto& [hold, factors] : types) {
    const Generated one = generate(GetParam(), 1, hold, factors);
    for (const int threads : {2, 3, 8}) {
      if (GetParam() == "vulkan" && threads > 2) continue;  // they are those of its host
      SCOPED_TRACE(fmt::format("{} threads, factors {}", threads, name_of(factors)));
      const Generated several = generate(GetParam(), threads, hold, factors);
      EXPECT_EQ(several.latents, one.latents);
      EXPECT_EQ(several.image, one.image);
    }
  }
}

}  // namespace
}  // namespace hearth::test
