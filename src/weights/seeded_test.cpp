// The values that tools/name_weights.py prints.
#include "weights/seeded.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/backend_test.h"
#include "support/golden.h"

namespace hearth {
namespace {

TEST(Seeded, hash_of_a_name) { EXPECT_EQ(fnv1a("conv_in.weight"), 0x1ce69906bdc574a7u); }

TEST(Seeded, uniforms_are_multiples_of_two_to_the_minus_24) {
  const std::vector<float> u = seeded_uniforms("conv_in.weight", 4);
  const std::vector<double> expected{9583985, 14818720, 1510436, 5071958};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(double(u[i]) * 0x1p24, expected[i]);
}

TEST(Seeded, kernels_are_scaled_by_their_fan_in) {
  const std::vector<float> w = seeded_values("conv_in.weight", {2, 4, 3, 3});
  ASSERT_EQ(w.size(), 72u);
  EXPECT_EQ(w[0], 0.04113622009754181f);
  EXPECT_EQ(w[1], 0.2212778776884079f);
  EXPECT_EQ(w[2], -0.23669686913490295f);
}

TEST(Seeded, norm_scales_lie_around_one) {
  EXPECT_EQ(seeded_values("norm1.weight", {3}), (std::vector<float>{0.9757336974143982f, 1.1297203302383423f, 0.8768490552902222f}));
}

TEST(Seeded, biases_lie_around_zero) {
  // tensor('norm1.bias', (3,)) of tools/name_weights.py
  EXPECT_EQ(seeded_values("norm1.bias", {3}), (std::vector<float>{0.11057545989751816f, 0.0857534408569336f, 0.10209391266107559f}));
}

BACKEND_TEST(SeededWeights, give_the_same_values) {
  Weights weights = Weights::seeded(device);
  EXPECT_EQ(weights.tensor("norm1.weight", {3}).to_vector(), seeded_values("norm1.weight", {3}));
  EXPECT_EQ(weights.table("embedding.weight", {70000, 3}).to_vector(), seeded_values("embedding.weight", {70000, 3}));
  weights.finish();
}

TEST(Seeded, test_values_cover_minus_one_to_one) {
  const std::vector<float> x = test::test_values("x", 10000);
  EXPECT_LT(*std::ranges::min_element(x), -0.99f);
  EXPECT_GT(*std::ranges::max_element(x), 0.99f);
  EXPECT_EQ(x[0], -0.597583532333374f);
}

}  // namespace
}  // namespace hearth
