#include "ops/rope.h"

#include <cmath>

#include "ops/refusal_test.h"
#include "ops/shape_ops.h"
#include "ops/spec_test.h"

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
  return {Tensor::from(device, {T, 2, half}, values), Tensor::from(test::reference_backend(), {T, 2, half}, values)};
}

BACKEND_TEST(Rope, every_size_and_both_pairings) {
  Random random(61);
  for (const int64_t D : {2, 6, 16, 20, 64, 80, 128})
    for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbors}) {
      const int64_t T = random.between(1, 9), N = random.between(1, 5), half = random.between(1, D / 2);
      const auto x = random.normal(device, {T, N, D}), table = angles(random, device, T, half);
      SCOPED_TRACE(fmt::format("T {} N {} D {} of it {}", T, N, D, 2 * half));
      EXPECT_CLOSE(ops::rope(x.device, table.device, pairs), ops::rope(x.reference, table.reference, pairs), 1e-6);
      const auto wide = random.normal(device, {T, N + 2, D});  // heads of a fused projection
      EXPECT_CLOSE(ops::rope(wide.device.slice(1, 1, N + 1), table.device, pairs),
                   ops::rope(wide.reference.slice(1, 1, N + 1), table.reference, pairs), 1e-6);
    }
}

// Products are rounded before they are added.
BACKEND_TEST(Rope, is_bit_identical_to_a_plain_loop) {
  if (device.name() != "cpu") GTEST_SKIP() << "wide arithmetic";
  Random random(62);
  for (const int64_t half : {1, 7, 8, 15, 16, 17, 32, 40, 64})
    for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbors}) {
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

// (1, 0) rotated by a quarter turn is (0, 1); the other values are copied.
BACKEND_TEST(Rope, known_answer) {
  const Tensor table = Tensor::from(device, {1, 2, 1}, std::vector<float>{0, 1});
  const Tensor x = Tensor::from(device, {1, 1, 4}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(ops::rope(x, table, RotaryPairs::neighbors).to_vector(), (std::vector<float>{-2, 1, 3, 4}));
  const Tensor both = Tensor::from(device, {1, 2, 2}, std::vector<float>{0, 1, 1, 0});
  EXPECT_EQ(ops::rope(x, both, RotaryPairs::halves).to_vector(), (std::vector<float>{-3, 2, 1, 4}));
}

// In every dtype, with a table for each image and head or for all of them, on views into a fused projection.
BACKEND_TEST(Rope, batches_in_every_type) {
  Random random(63);
  for (int round = 0; round < 48; ++round) {
    const int64_t B = random.between(1, 3), T = random.between(1, 7), N = random.between(1, 4), D = random.between(2, 70),
                  half = random.between(1, D / 2);
    const DType dtype = random.dtype();
    const auto wide = random.normal(device, {B, T, N + 2, D}, dtype),
               table = random.normal(device, {random.chance() ? B : 1, T, random.chance() ? N : 1, 2, half});
    const auto pairs = random.chance() ? RotaryPairs::halves : RotaryPairs::neighbors;
    SCOPED_TRACE(fmt::format("{} B {} T {} N {} D {} table {}", name_of(dtype), B, T, N, D, table.device.shape()));
    test::supported(device, [&] {
      const Tensor y = ops::rope(wide.device.slice(2, 1, N + 1), table.device, pairs);
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_CLOSE(y, ops::rope(wide.reference.slice(2, 1, N + 1), table.reference, pairs), test::op_tolerance(dtype));
    });
  }
}

// Bit-identical: one table for all or the same table for each; a batch or its images one by one.
BACKEND_TEST(Rope, tables_and_images_one_by_one) {
  Random random(64);
  const Tensor x = random.normal(device, {2, 5, 3, 16}).device, table = random.normal(device, {1, 5, 1, 2, 6}).device;
  for (const auto pairs : {RotaryPairs::halves, RotaryPairs::neighbors}) {
    const Tensor y = ops::rope(x, table, pairs);
    const Tensor heads = ops::concat({table, table, table}, 2), each = ops::concat({heads, heads}, 0);
    EXPECT_EQ(ops::rope(x, each, pairs).to_vector(), y.to_vector());
    for (int64_t b = 0; b < 2; ++b)
      EXPECT_EQ(ops::rope(x.slice(0, b, b + 1).view({5, 3, 16}), table.view({5, 2, 6}), pairs).to_vector(),
                y.slice(0, b, b + 1).to_vector());
    const Tensor turned = x.permute({0, 1, 3, 2}), one = random.normal(device, {1, 5, 1, 2, 1}).device;  // the last axis strided
    EXPECT_EQ(ops::rope(turned, one, pairs).to_vector(), ops::rope(ops::contiguous(turned), one, pairs).to_vector());
  }
}

// Image 1 and head 1 are rotated by quarter turns, the others are not rotated.
BACKEND_TEST(Rope, known_answer_of_tables) {
  const Tensor x = Tensor::from(device, {2, 1, 2, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  const auto table = [&](const Shape& shape) { return Tensor::from(device, shape, std::vector<float>{1, 0, 0, 1}); };
  EXPECT_EQ(ops::rope(x, table({2, 1, 1, 2, 1}), RotaryPairs::halves).to_vector(), (std::vector<float>{1, 2, 3, 4, -6, 5, -8, 7}));
  EXPECT_EQ(ops::rope(x, table({1, 1, 2, 2, 1}), RotaryPairs::halves).to_vector(), (std::vector<float>{1, 2, -4, 3, 5, 6, -8, 7}));
}

BACKEND_TEST(Rope, empty_input_gives_empty_output) {
  EXPECT_EQ(ops::rope(Tensor::zeros(device, {0, 2, 3, 4}), Tensor::zeros(device, {1, 2, 1, 2, 2}), RotaryPairs::halves).shape(),
            (Shape{0, 2, 3, 4}));
  EXPECT_EQ(ops::rope(Tensor::zeros(device, {0, 3, 4}), Tensor::zeros(device, {0, 2, 2}), RotaryPairs::halves).shape(), (Shape{0, 3, 4}));
}

BACKEND_TEST(Rope, refusals) {
  const auto refusal = [&](const Shape& x, const Shape& table, DType dtype = DType::f32) {
    return test::refusal([&] { ops::rope(Tensor::zeros(device, x), Tensor::zeros(device, table, dtype), RotaryPairs::halves); });
  };
  EXPECT_EQ(refusal({2, 1, 4}, {2, 2, 3}),
            "rope: x [2, 1, 4] and table f32 [2, 2, 3] are incompatible, expected f32 [2, 2, at most 2], contiguous");
  EXPECT_EQ(refusal({2, 1, 4}, {2, 2, 2}, DType::f16),
            "rope: x [2, 1, 4] and table f16 [2, 2, 2] are incompatible, expected f32 [2, 2, at most 2], contiguous");
  for (const Shape& table : {Shape{2, 3, 1, 2, 2}, Shape{4, 2, 1, 2, 2}, Shape{1, 2, 3, 2, 2}, Shape{1, 2, 1, 1, 2}, Shape{1, 2, 1, 2, 3},
                             Shape{1, 2, 1, 2, 0}, Shape{2, 2, 2}, Shape{2}})
    EXPECT_EQ(
        refusal({3, 2, 4, 4}, table),
        fmt::format("rope: x [3, 2, 4, 4] and table f32 {} are incompatible, expected f32 [1 or 3, 2, 1 or 4, 2, at most 2], contiguous",
                    table));
  EXPECT_EQ(refusal({4, 4}, {2, 2, 2}), "rope: x is [4, 4], expected [B, T, N, D] or [T, N, D]");
  const Tensor x = Tensor::zeros(device, {3, 2, 4, 4}), turned = Tensor::zeros(device, {1, 2, 1, 2, 2}).permute({0, 4, 2, 3, 1});
  EXPECT_EQ(
      test::refusal([&] { ops::rope(x, turned, RotaryPairs::halves); }),
      "rope: x [3, 2, 4, 4] and table f32 [1, 2, 1, 2, 2] are incompatible, expected f32 [1 or 3, 2, 1 or 4, 2, at most 2], contiguous");
  EXPECT_EQ(test::refusal([&] { ops::rope(x, Tensor(), RotaryPairs::halves); }),
            "rope: x [3, 2, 4, 4] has no table, expected f32 [1 or 3, 2, 1 or 4, 2, at most 2], contiguous");
  EXPECT_EQ(test::refusal([&] {
              ops::rope(x, Tensor::zeros(test::reference_backend(), {1, 2, 1, 2, 2}), RotaryPairs::halves);
            }),
            fmt::format("rope: x is on the backend {}, another operand [1, 2, 1, 2, 2] on reference; expected all on one", device.name()));
  EXPECT_EQ(test::refusal([&] {
              ops::rope(Tensor::zeros(device, {2, 1, 4}, DType::i32), Tensor::zeros(device, {2, 2, 2}), RotaryPairs::halves);
            }),
            "rope: x [2, 1, 4] is i32, expected f32, f16 or bf16");
}

}  // namespace
}  // namespace hearth
