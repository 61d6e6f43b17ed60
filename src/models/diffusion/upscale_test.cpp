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

}  // namespace
}  // namespace hearth::models::diffusion
