#include "models/diffusion/sizes.h"

#include <gtest/gtest.h>

namespace hearth::models::diffusion {
namespace {

using Size = std::array<int64_t, 2>;

TEST(SizesOfRuns, the_nearest_ratio_chooses) {
  EXPECT_EQ(size_of_run(1024)(1000, 600), (Size{1280, 768}));
  EXPECT_EQ(size_of_run(1024)(1, 9), (Size{512, 2048}));
  EXPECT_EQ(size_of_run(1024)(9, 1), (Size{2048, 512}));
  EXPECT_EQ(size_of_run(512)(512, 512), (Size{512, 512}));
  EXPECT_EQ(size_of_run(512)(1000, 600), (Size{640, 384}));
  EXPECT_EQ(size_of_run(256)(290, 500), (Size{192, 336}));
  EXPECT_EQ(size_of_run(2048)(260, 1000), (Size{1024, 3968}));
  EXPECT_EQ(size_of_run(1024)(365, 1000), (Size{576, 1664}));  // 0.35
  EXPECT_EQ(size_of_run(4096)(260, 1000), (Size{2048, 7936}));
  EXPECT_EQ(size_of_run(4096)(4000, 3000), (Size{4608, 3584}));
  EXPECT_EQ(size_of_run(768), nullptr);
}

}  // namespace
}  // namespace hearth::models::diffusion
