#include "models/hunyuan_dit/sizes.h"

#include <gtest/gtest.h>

namespace hearth::models::hunyuan_dit {
namespace {

using Size = std::array<int64_t, 2>;

// As map_to_standard_shapes(width, height) of the reference, which is given multiples of 16.
TEST(HunyuanSizes, the_nearest_ratio_and_then_the_nearest_area) {
  EXPECT_EQ(size_of_run(1024, 1024), (Size{1024, 1024}));
  EXPECT_EQ(size_of_run(1280, 960), (Size{1280, 960}));
  EXPECT_EQ(size_of_run(512, 512), (Size{1024, 1024}));
  EXPECT_EQ(size_of_run(1250, 1250), (Size{1280, 1280}));
  EXPECT_EQ(size_of_run(1000, 600), (Size{1280, 768}));
  EXPECT_EQ(size_of_run(600, 1000), (Size{768, 1280}));
  EXPECT_EQ(size_of_run(900, 1200), (Size{864, 1152}));
  EXPECT_EQ(size_of_run(1200, 900), (Size{1152, 864}));
  EXPECT_EQ(size_of_run(768, 1024), (Size{768, 1024}));
  EXPECT_EQ(size_of_run(1, 1), (Size{1024, 1024}));
}

}  // namespace
}  // namespace hearth::models::hunyuan_dit
