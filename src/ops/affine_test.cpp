// Elementwise products, and scales and shifts of columns.
#include <limits>

#include "ops/pointwise.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;
using Values = std::vector<float>;

BACKEND_TEST(Affine, equals_the_reference_on_random_sizes) {
  Random random(111);
  for (int round = 0; round < 60; ++round) {
    const int64_t B = random.between(1, 3), T = random.between(1, 6), C = random.between(1, round % 5 == 0 ? 3000 : 70);
    const DType dtype = random.dtype();
    const auto x = random.normal(device, {B, T, C}, dtype), z = random.normal(device, {B, T, C}, dtype);
    const int64_t rows = std::array{int64_t(1), B, B * T}[size_t(random.between(0, 2))];
    const auto both = random.normal(device, {rows, 2 * C});
    const bool with_scale = random.chance(), with_shift = random.chance();
    // A single row for all images is a vector.
    const auto part = [&](const Tensor& t, bool present, int64_t i) {
      const Tensor columns = t.slice(1, i * C, (i + 1) * C);
      return !present ? Tensor() : rows == 1 && B > 1 ? ops::contiguous(columns).view({C}) : columns;
    };
    SCOPED_TRACE(fmt::format("x {} {} scale {} shift {} rows {}", name_of(dtype), x.device.shape(), with_scale, with_shift, rows));
    test::supported(device, [&] {
      EXPECT_CLOSE(ops::affine(x.device, part(both.device, with_scale, 0), part(both.device, with_shift, 1)),
                   ops::affine(x.reference, part(both.reference, with_scale, 0), part(both.reference, with_shift, 1)),
                   test::op_tolerance(dtype));
    });
    test::supported(device, [&] {
      EXPECT_CLOSE(ops::multiply(x.device, z.device), ops::multiply(x.reference, z.reference), test::op_tolerance(dtype));
    });
  }
}

BACKEND_TEST(Affine, known_answers) {
  const auto matrix = [&](int64_t rows, const Values& values) {
    return Tensor::from(device, {rows, int64_t(values.size()) / rows}, values);
  };
  const Tensor x = Tensor::from(device, {2, 2, 2}, Values{1, 2, 3, 4, 5, 6, 7, 8});
  test::supported(device, [&] {
    EXPECT_EQ(ops::affine(x, Tensor::from(device, {2}, Values{1, 10}), {}).to_vector(), (Values{1, 20, 3, 40, 5, 60, 7, 80}));
    EXPECT_EQ(ops::affine(x, {}, Tensor::from(device, {2}, Values{1, 10})).to_vector(), (Values{2, 12, 4, 14, 6, 16, 8, 18}));
    EXPECT_EQ(ops::affine(x, matrix(2, {1, 0, 10, 2}), matrix(2, {0, 5, 0, 0})).to_vector(), (Values{1, 5, 3, 5, 50, 12, 70, 16}));
    EXPECT_EQ(ops::affine(x, matrix(4, {1, 1, 2, 2, 3, 3, 4, 4}), {}).to_vector(), (Values{1, 2, 6, 8, 15, 18, 28, 32}));
    EXPECT_EQ(ops::affine(x, {}, {}).to_vector(), x.to_vector());
    EXPECT_EQ(ops::affine(Tensor::from(device, {2}, Values{3, 4}), matrix(1, {2, 3}), {}).to_vector(), (Values{6, 12}));
  });
  test::supported(device, [&] { EXPECT_EQ(ops::multiply(x, x).to_vector(), (Values{1, 4, 9, 16, 25, 36, 49, 64})); });
}

BACKEND_TEST(Affine, accepts_views_keeps_the_dtype_and_propagates_non_finite_values) {
  Random random(112);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Tensor view = random.normal(device, {6, 5}, dtype).device.permute({1, 0}),
                 dense = Tensor::from(device, {5, 6}, view.to_vector(), dtype), scale = random.normal(device, {6}).device;
    test::supported(device, [&] {
      EXPECT_EQ(ops::affine(view, scale, scale).to_vector(), ops::affine(dense, scale, scale).to_vector());
      EXPECT_EQ(ops::affine(view, scale, {}).dtype(), dtype);
    });
    test::supported(device, [&] {
      EXPECT_EQ(ops::multiply(view, view).to_vector(), ops::multiply(dense, dense).to_vector());
      EXPECT_EQ(ops::multiply(view, dense).dtype(), dtype);
    });
  }
  const Tensor zeros = Tensor::zeros(device, {37});
  Values bad(37, 1.0f);
  bad[36] = std::numeric_limits<float>::quiet_NaN();
  test::supported(device, [&] { EXPECT_EQ(count_non_finite(ops::multiply(Tensor::from(device, {37}, bad), zeros)), 1); });
  test::supported(device, [&] { EXPECT_EQ(count_non_finite(ops::affine(Tensor::from(device, {37}, bad), zeros, {})), 1); });
}

BACKEND_TEST(Affine, empty_input_gives_empty_output) {
  for (const Shape& shape : {Shape{0, 4}, Shape{3, 0}, Shape{2, 0, 4}}) {
    const Tensor x = Tensor::zeros(device, shape);
    EXPECT_EQ(ops::affine(x, Tensor::zeros(device, {shape[-1]}), {}).shape(), shape);
    test::supported(device, [&] { EXPECT_EQ(ops::multiply(x, x).shape(), shape); });
  }
}

BACKEND_TEST(Affine, refuses_invalid_arguments) {
  const auto zeros = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(device, shape, dtype); };
  const Tensor x = zeros({2, 3, 4});
  const auto affine = [&](const Tensor& scale, const Tensor& shift) { return test::refusal([&] { ops::affine(x, scale, shift); }); };
  EXPECT_EQ(affine(zeros({3}), {}), "affine: scale is f32 [3], expected f32 [4]");
  EXPECT_EQ(affine({}, zeros({4}, DType::f16)), "affine: shift is f16 [4], expected f32 [4]");
  EXPECT_EQ(affine({}, zeros({3, 4})), "affine: shift is f32 [3, 4], expected f32 [2, 4] or [6, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(affine(zeros({2, 3, 4}), {}),
            "affine: scale is f32 [2, 3, 4], expected f32 [2, 4] or [6, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(affine(Tensor::zeros(test::reference_backend(), {4}), {}),
            fmt::format("affine: x is on the backend {}, another operand [4] on reference; expected all on one", device.name()));
  EXPECT_EQ(test::refusal([&] { ops::affine(zeros({}), {}, {}); }), "affine: x is [], expected [..., C]");
  EXPECT_EQ(test::refusal([&] { ops::affine(zeros({4}, DType::i32), {}, {}); }), "affine: x [4] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] {
              ops::multiply(x, zeros({2, 4, 3}));
            }),
            "multiply: f32 [2, 3, 4] and f32 [2, 4, 3] differ, expected one dtype and shape");
  EXPECT_EQ(test::refusal([&] {
              ops::multiply(x, zeros({2, 3, 4}, DType::f16));
            }),
            "multiply: f32 [2, 3, 4] and f16 [2, 3, 4] differ, expected one dtype and shape");
  EXPECT_EQ(test::refusal([&] { ops::multiply(x, Tensor()); }), "multiply: x is undefined");
  EXPECT_EQ(test::refusal([&] {
              ops::multiply(x, Tensor::zeros(test::reference_backend(), {2, 3, 4}));
            }),
            fmt::format("multiply: x is on the backend {}, another operand [2, 3, 4] on reference; expected all on one", device.name()));
}

}  // namespace
}  // namespace hearth
