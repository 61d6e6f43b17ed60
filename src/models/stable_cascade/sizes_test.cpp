#include "models/stable_cascade/sizes.h"

#include <gtest/gtest.h>

namespace hearth::models::stable_cascade {
namespace {

using Size = std::array<int64_t, 2>;

// Values of the reference's formulas, by hand: ⌈1024 / 42.67⌉ = 24 and 4·⌊24 · 10.67⌋ = 1024.
TEST(CascadeSizes, are_the_reference_s) {
  EXPECT_EQ(size_of_run(1024, 1024), (Size{1024, 1024}));
  EXPECT_EQ(prior_latents(1024, 1024), (Size{24, 24}));
  EXPECT_EQ(size_of_run(512, 768), (Size{512, 768}));
  EXPECT_EQ(prior_latents(512, 768), (Size{12, 18}));
  EXPECT_EQ(size_of_run(1000, 128), (Size{1024, 128}));  // 24 and 3 latents
  EXPECT_EQ(prior_latents(1280, 2048), (Size{30, 48}));
  EXPECT_EQ(size_of_run(1, 40), (Size{40, 40}));
}

// ⌊2 · 10.67⌋ = 21 and ⌊8 · 10.67⌋ = 85 are odd: the next sides are those of 3 and 9 latents.
TEST(CascadeSizes, leave_out_what_patches_do_not_cover) {
  EXPECT_EQ(size_of_run(80, 340), (Size{128, 384}));
  EXPECT_EQ(prior_latents(128, 384), (Size{3, 9}));
}

// The size of a run gives itself, so that `hearth rerun` makes the same image.
TEST(CascadeSizes, of_a_run_stay) {
  for (int64_t side = 1; side < 6000; ++side) {
    const Size made = size_of_run(side, 64);
    ASSERT_GT(made[0] + 3, side) << side;  // 40 for 41 and 42
    ASSERT_EQ(made[0] % 8, 0) << side;
    ASSERT_EQ(size_of_run(made[0], made[1]), made) << side;
    ASSERT_EQ(prior_latents(side, 64), prior_latents(made[0], 64)) << side;
  }
}

}  // namespace
}  // namespace hearth::models::stable_cascade
