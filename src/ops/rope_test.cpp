#include "ops/rope.h"

#include <cmath>

#include "ops/random_test.h"
#include "ops/refusal_test.h"

namespace hearth {
namespace {

using test::Random;

test::Random::Pair angles(Random& random, Backend& device, int64_t T, int64_t half) {
  std::vector<float> values;
  for (int64_t t = 0; t < T; ++t)
    for (const bool sine : {false, true})
      for (int64_t i = 0; i < half; ++i) {
        const double angle = double(t + 3) * std::pow(100.0, -double(i) / double(half));
        values.push_back(float(sine ? std::sin(angle) : std::cos(angle)));
      }
  (void)random;
  return {Tensor::from(device, {T, 2, half}, values), Tensor::from(test::truth(), {T, 2, half}, values)};
}

BACKEND_TEST(rope, every_size_and_both_pairings) {
  Random random(61);
  for (const int64_t D : {2, 6, 16, 20, 64, 80, 128})
    for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbours}) {
      const int64_t T = random.between(1, 9), N = random.between(1, 5), half = random.between(1, D / 2);
      const auto x = random.normal(device, {T, N, D}), table = angles(random, device, T, half);
      SCOPED_TRACE(fmt::format("T {} N {} D {} of it {}", T, N, D, 2 * half));
      EXPECT_CLOSE(ops::rope(x.device, table.device, pairs), ops::rope(x.truth, table.truth, pairs), 1e-6);
      const auto wide = random.normal(device, {T, N + 2, D});  // heads of a fused projection
      EXPECT_CLOSE(ops::rope(wide.device.slice(1, 1, N + 1), table.device, pairs),
                   ops::rope(wide.truth.slice(1, 1, N + 1), table.truth, pairs), 1e-6);
    }
}

// Products are rounded, then added.
BACKEND_TEST(rope, the_bits_of_the_plain_loop) {
  if (device.name() != "cpu") GTEST_SKIP() << "wide arithmetic";
  Random random(62);
  for (const int64_t half : {1, 7, 8, 15, 16, 17, 32, 40, 64})
    for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbours}) {
      const int64_t D = 2 * half + 3, step = pairs == RotaryPairs::halves ? 1 : 2, other = pairs == RotaryPairs::halves ? half : 1;
      const auto x = random.normal(device, {2, 3, D}), table = angles(random, device, 2, half);
      std::vector<float> right = x.device.to_vector();
      const std::vector<float> from = right, turns = table.device.to_vector();
      for (int64_t row = 0; row < 6; ++row)
        for (int64_t i = 0; i < half; ++i) {
          const size_t a = size_t(row * D + i * step), b = size_t(row * D + i * step + other);
          const float cosine = turns[size_t(row / 3 * 2 * half + i)], sine = turns[size_t((row / 3 * 2 + 1) * half + i)];
          right[a] = from[a] * cosine - from[b] * sine;
          right[b] = from[b] * cosine + from[a] * sine;
        }
      EXPECT_EQ(ops::rope(x.device, table.device, pairs).to_vector(), right) << "half " << half;
    }
}

// (1, 0) at a quarter turn is (0, 1); what is not turned stays.
BACKEND_TEST(rope, known_answer) {
  const Tensor table = Tensor::from(device, {1, 2, 1}, std::vector<float>{0, 1});
  const Tensor x = Tensor::from(device, {1, 1, 4}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(ops::rope(x, table, RotaryPairs::neighbours).to_vector(), (std::vector<float>{-2, 1, 3, 4}));
  const Tensor both = Tensor::from(device, {1, 2, 2}, std::vector<float>{0, 1, 1, 0});
  EXPECT_EQ(ops::rope(x, both, RotaryPairs::halves).to_vector(), (std::vector<float>{-3, 2, 1, 4}));
}

BACKEND_TEST(rope, refusals) {
  const Tensor x = Tensor::zeros(device, {2, 1, 4});
  EXPECT_EQ(test::refusal([&] {
              ops::rope(x, Tensor::zeros(device, {2, 2, 3}), RotaryPairs::halves);
            }),
            "rope: x [2, 1, 4] and table [2, 2, 3] do not fit, needed f32 [2, 2, at most 2]");
  EXPECT_EQ(test::refusal([&] {
              ops::rope(Tensor::zeros(device, {2, 1, 4}, DType::i32), Tensor::zeros(device, {2, 2, 2}), RotaryPairs::halves);
            }),
            "rope: x [2, 1, 4] is i32, needed f32, f16 or bf16");
}

}  // namespace
}  // namespace hearth
