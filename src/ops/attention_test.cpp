#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/random_test.h"
#include "ops/refusal_test.h"

namespace hearth {
namespace {

using test::Random;

// G-82: head sizes of every kind.
BACKEND_TEST(Attention, every_head_size_in_every_type) {
  Random random(21);
  for (const int64_t D : {1, 3, 8, 16, 40, 64, 72, 80, 88, 96, 112, 128, 160, 256, 512})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const int64_t T = random.between(1, 40), S = random.between(1, 90), N = random.between(1, 3);
      const auto q = random.normal(device, {2, T, N, D}, dtype), k = random.normal(device, {2, S, N, D}, dtype),
                 v = random.normal(device, {2, S, N, D}, dtype);
      const float scale = 1 / std::sqrt(float(D));
      SCOPED_TRACE(fmt::format("D {} T {} S {} {}", D, T, S, name_of(dtype)));
      EXPECT_CLOSE(ops::attention(q.device, k.device, v.device, {.scale = scale, .out = dtype}),
                   ops::attention(q.reference, k.reference, v.reference, {.scale = scale, .out = dtype}), test::op_tolerance(dtype));
    }
}

BACKEND_TEST(Attention, lengths_around_every_block_size) {
  Random random(22);
  for (const int64_t S : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 77, 127, 128, 129, 255, 256, 257, 300, 513, 700}) {
    const int64_t T = random.chance() ? S : random.between(1, 70);
    const auto q = random.normal(device, {1, T, 2, 20}), k = random.normal(device, {1, S, 2, 20}), v = random.normal(device, {1, S, 2, 20});
    SCOPED_TRACE(fmt::format("T {} S {}", T, S));
    EXPECT_CLOSE(ops::attention(q.device, k.device, v.device, {.scale = 0.9f}),
                 ops::attention(q.reference, k.reference, v.reference, {.scale = 0.9f}), 2e-6);
    if (T == S)
      EXPECT_CLOSE(ops::attention(q.device, k.device, v.device, {.scale = 0.9f, .mask = Mask::causal}),
                   ops::attention(q.reference, k.reference, v.reference, {.scale = 0.9f, .mask = Mask::causal}), 2e-6);
  }
}

// A layer whose weights are multiplied as integers has no such factors here.
BACKEND_TEST(Attention, i16_factors_are_f32) {
  Random random(25);
  const Tensor q = random.normal(device, {1, 5, 2, 16}, DType::f32).device, k = random.normal(device, {1, 9, 2, 16}, DType::f32).device;
  EXPECT_EQ(ops::attention(q, k, k, {.factors = DType::i16}).to_vector(), ops::attention(q, k, k, {}).to_vector());
}

// Factors in bf16: nearer to wide arithmetic on the rounded factors than unrounded weights would be (2⁻⁹).
BACKEND_TEST(Attention, bf16_factors) {
  if (!device.multiplies_bf16()) {
    const Tensor x = Tensor::zeros(device, {1, 2, 1, 4});
    EXPECT_THROW(ops::attention(x, x, x, {.scale = 1, .factors = DType::bf16}), UnsupportedError);
    return;
  }
  Random random(24);
  for (const int64_t D : {1, 3, 16, 17, 40, 64, 80, 160, 512})
    for (const int64_t S : {1, 33, 77, 270}) {
      if (D * S > 512 * 33) continue;
      const int64_t T = random.chance() ? S : random.between(1, 40), N = random.between(1, 2);
      const DType dtype = random.dtype();
      const auto q = random.normal(device, {2, T, N, D}, dtype), k = random.normal(device, {2, S, N, D}, dtype),
                 v = random.normal(device, {2, S, N, D}, dtype);
      const float scale = 1 / std::sqrt(float(D));
      for (const Mask mask : {Mask::none, Mask::causal}) {
        if (mask == Mask::causal && T != S) continue;
        SCOPED_TRACE(fmt::format("D {} T {} S {} {} {}", D, T, S, name_of(dtype), mask == Mask::causal ? "causal" : ""));
        const AttentionSpec spec{.scale = scale, .mask = mask, .factors = DType::bf16, .out = dtype};
        EXPECT_CLOSE(ops::attention(q.device, k.device, v.device, spec), ops::attention(q.reference, k.reference, v.reference, spec),
                     dtype == DType::bf16 ? 5e-3 : 2e-3);
      }
    }
}

// Each rounding alone: of v, and of the exponentials, whose sum is that of the unrounded ones.
BACKEND_TEST(Attention, bf16_factors_are_rounded_before_the_products) {
  if (!device.multiplies_bf16()) return;
  const auto run = [&](const std::vector<float>& k, const std::vector<float>& v) {
    const Shape keys{1, int64_t(k.size()), 1, 1};
    return ops::attention(Tensor::from(device, {1, 1, 1, 1}, std::vector<float>{1}), Tensor::from(device, keys, k),
                          Tensor::from(device, keys, v), {.scale = 1, .factors = DType::bf16});
  };
  EXPECT_CLOSE(run({0}, {1.001f}), (std::vector<float>{1}), 2e-6);
  EXPECT_CLOSE(run({0, -1}, {0, 1}), (std::vector<float>{0.3671875f / (1 + std::exp(-1.0f))}), 2e-6);
}

BACKEND_TEST(Attention, accepts_views_into_a_fused_projection) {
  Random random(23);
  const auto qkv = random.normal(device, {2, 33, 3, 4, 16});
  const auto run = [](const Tensor& fused) {
    const Tensor flat = fused.view({2, 33, 12, 16});
    return ops::attention(flat.slice(2, 0, 4), flat.slice(2, 4, 8), flat.slice(2, 8, 12), {.scale = 0.25f});
  };
  EXPECT_CLOSE(run(qkv.device), run(qkv.reference), 2e-6);
}

BACKEND_TEST(Attention, accepts_views_with_a_strided_last_axis) {
  Random random(25);
  const auto x = random.normal(device, {2, 9, 16, 3}, DType::f32);
  const Tensor view = x.device.permute({0, 1, 3, 2}), dense = Tensor::from(device, view.shape(), view.to_vector());
  EXPECT_EQ(ops::attention(view, view, view, {.scale = 0.25f}).to_vector(),
            ops::attention(dense, dense, dense, {.scale = 0.25f}).to_vector());
}

// Any axis except that of the keys may be empty.
BACKEND_TEST(Attention, empty_input_gives_empty_output) {
  for (const Shape& shape : {Shape{0, 4, 2, 8}, Shape{1, 0, 2, 8}, Shape{1, 4, 0, 8}, Shape{1, 4, 2, 0}}) {
    const Tensor k = Tensor::zeros(device, {shape[0], 6, shape[2], shape[3]});
    EXPECT_EQ(ops::attention(Tensor::zeros(device, shape), k, k, {.scale = 1}).shape(), shape);
  }
}

// G-79: the scores overflow 16 bits, and the maximum must be subtracted before exp. One key dominates each row.
BACKEND_TEST(Attention, huge_scores) {
  const int64_t T = 5, S = 40, D = 8;
  for (const int winner : {40, -20}) {  // negative: every score is far below zero
    std::vector<float> q(size_t(T * D), 1000.0f), k(size_t(S * D)), v(size_t(S * D));
    for (int64_t s = 0; s < S; ++s)
      for (int64_t d = 0; d < D; ++d) k[size_t(s * D + d)] = float(s == 17 ? winner : -40 + s % 3), v[size_t(s * D + d)] = float(s);
    const Tensor y = ops::attention(Tensor::from(device, {1, T, 1, D}, q), Tensor::from(device, {1, S, 1, D}, k),
                                    Tensor::from(device, {1, S, 1, D}, v), {.scale = 1.0f});
    for (const float value : y.to_vector()) EXPECT_EQ(value, 17.0f);
  }
}

BACKEND_TEST(Attention, a_later_key_never_reaches_an_earlier_query_under_the_causal_mask) {
  Random random(24);
  const Shape shape{1, 50, 1, 8};
  const auto q = random.normal(device, shape), k = random.normal(device, shape), v = random.normal(device, shape);
  const std::vector<float> before = ops::attention(q.device, k.device, v.device, {.scale = 1, .mask = Mask::causal}).to_vector();
  const auto from_30_on = [](float value) { return [value](float* x) { std::fill(x + 30 * 8, x + 50 * 8, value); }; };
  const Tensor other_k = test::edited(k.device, from_30_on(7)), other_v = test::edited(v.device, from_30_on(INFINITY));
  const std::vector<float> after = ops::attention(q.device, other_k, other_v, {.scale = 1, .mask = Mask::causal}).to_vector();
  for (size_t i = 0; i < 30 * 8; ++i) ASSERT_EQ(before[i], after[i]) << i;
}

BACKEND_TEST(Attention, refuses_invalid_arguments) {
  const auto zeros = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(device, shape, dtype); };
  const Tensor q = zeros({1, 4, 2, 8}), k = zeros({1, 6, 2, 8});
  EXPECT_NO_THROW(ops::attention(q, k, k, {.scale = 1}));
  EXPECT_THROW(ops::attention(q, zeros({1, 6, 3, 8}), k, {.scale = 1}), ShapeError);
  EXPECT_THROW(ops::attention(q, k, zeros({1, 5, 2, 8}), {.scale = 1}), ShapeError);
  EXPECT_THROW(ops::attention(q, zeros({1, 6, 2, 8}, DType::i32), k, {.scale = 1}), ShapeError);
  EXPECT_THROW(ops::attention(q, zeros({1, 0, 2, 8}), zeros({1, 0, 2, 8}), {.scale = 1}), ShapeError);
  EXPECT_THROW(ops::attention(q, k, k, {.scale = 1, .mask = Mask::causal}), ShapeError);
  EXPECT_THROW(ops::attention(zeros({1, 8, 2, 8}), k, k, {.scale = 1, .mask = Mask::causal}), ShapeError);
  EXPECT_THROW(ops::attention(zeros({4, 2, 8}), k, k, {.scale = 1}), ShapeError);
  EXPECT_THROW(ops::attention(q, k, zeros({1, 6, 2, 8}, DType::i32), {.scale = 1}), ShapeError);
  EXPECT_THROW(ops::attention(q, Tensor(), Tensor(), {.scale = 1}), ShapeError);
  const Tensor whole = zeros({1, 4, 2, 8}, DType::i32);
  EXPECT_EQ(test::refusal([&] { ops::attention(whole, whole, whole, {.scale = 1}); }),
            "attention: x [1, 4, 2, 8] is i32, expected f32, f16 or bf16");
}

}  // namespace
}  // namespace hearth
