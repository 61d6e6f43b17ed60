#include "models/diffusion/upscale.h"

#include <gtest/gtest.h>

#include "ops/shape_ops.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/golden.h"
#include "support/tolerance.h"

namespace hearth::models::diffusion {
namespace {

BACKEND_TEST(Upscale, latents_grow_as_in_torch) {
  const test::Golden golden(__FILE__, "upscale", device);
  const Tensor z = ops::to_channels_last(golden.tensor("z"));
  for (const char* name :
       {"latent", "latent-antialiased", "latent-bicubic", "latent-bicubic-antialiased", "latent-nearest", "latent-nearest-exact"})
    for (const auto& [h, w] : std::vector<std::pair<int64_t, int64_t>>{{10, 14}, {8, 11}, {5, 7}, {5, 20}, {17, 7}}) {
      EXPECT_TRUE(find_upscaler(name).of_latents);
      const Tensor larger = ops::to_channels_first(upscaled_latents(z, h, w, name));
      EXPECT_LE(test::relative_error(larger.to_vector(), golden.values(fmt::format("{}.{}x{}", name, h, w))), 1e-6) << name << h << w;
    }
  EXPECT_FALSE(find_upscaler("lanczos").of_latents);
  EXPECT_NE(test::complaint_of([&] { upscaled_latents(z, 4, 7, "latent"); }).find("not smaller"), std::string::npos);
}

BACKEND_TEST(Resize, images_cover_the_size_and_are_cropped_as_in_the_reference) {
  const test::Golden golden(__FILE__, "resize", device);
  for (const char* from : {"8x12", "9x6"})
    for (const auto& [h, w] : std::vector<std::pair<int64_t, int64_t>>{{8, 12}, {9, 6}, {5, 5}, {16, 24}, {17, 20}, {3, 11}, {8, 7}}) {
      const Tensor y = ops::to_channels_first(resized_and_cropped(ops::to_channels_last(golden.tensor(from)), w, h));
      EXPECT_LE(test::relative_error(y.to_vector(), golden.values(fmt::format("{}.{}x{}", from, h, w))), 1e-6) << from << h << w;
    }
}

// The reference loses a pixel where its factor is rounded down, as from 832 to 830 columns in f64.
HOST_TEST(Resize, every_size_has_all_its_pixels) {
  const Tensor x = Tensor::from(device, {1, 13, 7, 1}, std::vector<float>(13 * 7, 0.5f));
  for (int64_t side = 1; side < 60; ++side)
    EXPECT_EQ(resized_and_cropped(x, side, 60 - side).to_vector(), std::vector<float>(size_t(side * (60 - side)), 0.5f)) << side;
}

}  // namespace
}  // namespace hearth::models::diffusion
