// Norms with scale and shift (adaptive norms), without gamma and beta, and with an explicit dtype of y.
#include <cmath>

#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;

// Slices of a modulation vector [rows, 3·C]: scale and shift of each row.
struct Modulation {
  Modulation(Random& random, Backend& device, int64_t rows, int64_t C) : all(random.normal(device, {rows, 3 * C})), C_(C) {}
  Tensor part(const Tensor& x, int64_t i) const { return x.slice(1, i * C_, (i + 1) * C_); }

  Random::Pair all;

 private:
  int64_t C_;
};

BACKEND_TEST(NormSpec, equals_the_reference_with_any_fields) {
  Random random(101);
  for (int round = 0; round < 80; ++round) {
    const int64_t B = random.between(1, 3), T = random.between(1, 9), C = random.between(1, round % 4 == 0 ? 300 : 40);
    const DType dtype = random.dtype(), out = random.dtype();
    const auto x = random.normal(device, {B, T, C}, dtype, 3), gamma = random.normal(device, {C}), beta = random.normal(device, {C});
    const Modulation modulation(random, device, random.chance() ? B : B * T, C);
    const bool with_gamma = random.chance(), with_beta = random.chance(), with_scale = random.chance(), with_shift = random.chance();
    const auto spec = [&](Tensor Random::Pair::*which, bool rms) {
      NormSpec s{.eps = 1e-3f, .out = out};
      if (with_gamma) s.gamma = gamma.*which;
      if (with_beta && !rms) s.beta = beta.*which;
      if (with_scale) s.scale = modulation.part(modulation.all.*which, 1);
      if (with_shift) s.shift = modulation.part(modulation.all.*which, 2);
      return s;
    };
    using Pair = Random::Pair;
    SCOPED_TRACE(fmt::format("x {} {} out {} gamma {} beta {} scale {} shift {} of {}", name_of(dtype), x.device.shape(), name_of(out),
                             with_gamma, with_beta, with_scale, with_shift, modulation.all.device.shape()));
    // A row of a single value has no deviation: y is only beta and shift.
    test::supported(device, [&] {
      const Tensor y = ops::layer_norm(x.device, spec(&Pair::device, false));
      EXPECT_EQ(y.dtype(), out);
      EXPECT_CLOSE(y, ops::layer_norm(x.reference, spec(&Pair::reference, false)), test::op_tolerance(out));
    });
    test::supported(device, [&] {
      const Tensor y = ops::rms_norm(x.device, spec(&Pair::device, true));
      EXPECT_EQ(y.dtype(), out);
      EXPECT_CLOSE(y, ops::rms_norm(x.reference, spec(&Pair::reference, true)), test::op_tolerance(out));
    });
  }
}

GroupNormSpec group_spec(const GroupNormSpec& plain, bool gamma, bool beta, bool scale, bool shift, const Tensor& vectors,
                         const Tensor& modulation) {
  GroupNormSpec s = plain;
  const int64_t C = vectors.size(1);
  const auto row = [&](int64_t i) { return vectors.slice(0, i, i + 1).view({C}); };
  if (gamma) s.gamma = row(0);
  if (beta) s.beta = row(1);
  if (scale) s.scale = modulation.slice(1, 0, C);
  if (shift) s.shift = modulation.slice(1, C, 2 * C);
  return s;
}

// Alone, and in front of a product.
BACKEND_TEST(NormSpec, group_norms_equal_the_reference_with_any_fields) {
  Random random(102);
  for (int round = 0; round < 60; ++round) {
    const int64_t B = random.between(1, 3), T = random.between(1, 20), groups = random.between(1, 6),
                  C = groups * random.between(1, round % 4 == 0 ? 30 : 5);
    const DType dtype = random.dtype();
    const auto x = random.normal(device, {B, T, C}, dtype, 3), vectors = random.normal(device, {2, C}),
               modulation = random.normal(device, {B, 3 * C});
    const bool gamma = random.chance(), beta = random.chance(), scale = random.chance(), shift = random.chance();
    const GroupNormSpec plain{.groups = groups, .eps = 1e-3f, .activation = random.chance() ? Activation::silu : Activation::none};
    const GroupNormSpec spec = group_spec(plain, gamma, beta, scale, shift, vectors.device, modulation.device),
                        reference = group_spec(plain, gamma, beta, scale, shift, vectors.reference, modulation.reference);
    SCOPED_TRACE(fmt::format("x {} {} groups {} gamma {} beta {} scale {} shift {}", name_of(dtype), x.device.shape(), groups, gamma, beta,
                             scale, shift));
    test::supported(
        device, [&] { EXPECT_CLOSE(ops::group_norm(x.device, spec), ops::group_norm(x.reference, reference), test::op_tolerance(dtype)); });
    const auto w = random.weight(device, {5, C}, WeightKind::linear, {.hold = DType::f32});
    test::supported(device, [&] {
      EXPECT_CLOSE(ops::linear(x.device, w.device, {}, {.out = DType::f32}, spec),
                   ops::linear(x.reference, w.reference, {}, {.out = DType::f32}, reference), 4e-6);
    });
    const auto kernel = random.weight(device, {5, C, 1, 3}, WeightKind::conv, {.hold = DType::f32});
    test::supported(device, [&] {
      const ConvSpec sides = ConvSpec::plane(1, {0, 1, 0, 1});
      EXPECT_CLOSE(ops::conv(x.device.view({B, 1, T, C}), kernel.device, {}, sides, {.out = DType::f32}, spec),
                   ops::conv(x.reference.view({B, 1, T, C}), kernel.reference, {}, sides, {.out = DType::f32}, reference), 4e-6);
    });
  }
}

BACKEND_TEST(NormSpec, known_answers) {
  const auto matrix = [&](int64_t rows, const std::vector<float>& values) {
    return Tensor::from(device, {rows, int64_t(values.size()) / rows}, values);
  };
  const auto vector = [&](const std::vector<float>& values) { return Tensor::from(device, {int64_t(values.size())}, values); };
  const Tensor x = Tensor::from(device, {2, 2, 2}, std::vector<float>{-3, 3, 5, 7, 4, 2, 0, 6});  // rows are ±1 deviation
  using Values = std::vector<float>;
  const auto check = [&](const NormSpec& spec, const Values& y) {
    test::supported(device, [&] { EXPECT_CLOSE(ops::layer_norm(x, spec), y, 1e-6); });
  };
  check({.eps = 0}, {-1, 1, -1, 1, 1, -1, -1, 1});
  check({.beta = vector({10, 20}), .eps = 0}, {9, 21, 9, 21, 11, 19, 9, 21});
  check({.eps = 0, .scale = matrix(2, {1, 2, 3, 4}), .shift = matrix(2, {10, 20, 30, 40})}, {8, 23, 8, 23, 34, 35, 26, 45});
  check({.eps = 0, .scale = matrix(4, {1, 2, 3, 4, 5, 6, 7, 8})}, {-2, 3, -4, 5, 6, -7, -8, 9});
  check({.gamma = vector({2, 3}), .beta = vector({1, 1}), .eps = 0, .scale = matrix(2, {9, 9, 0, 0}), .shift = matrix(2, {0, 0, 0, 5})},
        {-10, 40, -10, 40, 3, 3, -1, 9});
  test::supported(device, [&] {
    const Tensor row = Tensor::from(device, {2}, Values{4, 4});  // rank 1: one image of one row
    EXPECT_CLOSE(ops::rms_norm(row, {.eps = 0, .scale = matrix(1, {1, 2}), .shift = matrix(1, {0, 7})}), (Values{2, 10}), 1e-6);
  });
  // The activation is applied last.
  test::supported(device, [&] {
    const GroupNormSpec spec{
        .groups = 1, .eps = 0, .activation = Activation::relu, .scale = matrix(1, {1, 2}), .shift = matrix(1, {3, -4})};
    EXPECT_CLOSE(ops::group_norm(Tensor::from(device, {1, 2, 2}, Values{-1, 1, 1, -1}), spec), (Values{1, 0, 5, 0}), 1e-6);
  });
}

BACKEND_TEST(NormSpec, fields_that_change_nothing) {
  Random random(103);
  const Tensor x = random.normal(device, {3, 7, 24}).device, one = Tensor::filled(device, {24}, 1), zero = Tensor::zeros(device, {24}),
               zeros = Tensor::zeros(device, {3, 24}), each = Tensor::zeros(device, {21, 24});
  const Tensor layer = ops::layer_norm(x, {.gamma = one, .beta = zero}), root = ops::rms_norm(x, {.gamma = one}),
               group = ops::group_norm(x, {.groups = 4, .gamma = one, .beta = zero});
  test::supported(device, [&] { EXPECT_CLOSE(ops::layer_norm(x, {}), layer, 1e-6); });
  test::supported(device, [&] { EXPECT_CLOSE(ops::layer_norm(x, {.scale = zeros, .shift = zeros}), layer, 1e-6); });
  test::supported(device, [&] { EXPECT_CLOSE(ops::layer_norm(x, {.scale = each, .shift = each}), layer, 1e-6); });
  test::supported(device, [&] { EXPECT_CLOSE(ops::rms_norm(x, {}), root, 1e-6); });
  test::supported(device, [&] { EXPECT_CLOSE(ops::rms_norm(x, {.scale = zeros, .shift = each}), root, 1e-6); });
  test::supported(device, [&] { EXPECT_CLOSE(ops::group_norm(x, {.groups = 4}), group, 1e-6); });
  test::supported(device, [&] { EXPECT_CLOSE(ops::group_norm(x, {.groups = 4, .scale = zeros, .shift = zeros}), group, 1e-6); });
}

// One value per image equals that value for each of its rows; bit-identical alone and in a batch.
BACKEND_TEST(NormSpec, rows_and_images) {
  Random random(104);
  const int64_t B = 3, T = 5, C = 37;
  const Tensor x = random.normal(device, {B, T, C}).device, scale = random.normal(device, {B, C}).device,
               shift = random.normal(device, {B, C}).device;
  const auto each_row = [&](const Tensor& v) {
    std::vector<Tensor> rows;
    for (int64_t i = 0; i < B * T; ++i) rows.push_back(v.slice(0, i / T, i / T + 1));
    return ops::concat(rows, 0);
  };
  for (const auto norm : {ops::layer_norm, ops::rms_norm})
    test::supported(device, [&] {
      const Tensor y = norm(x, {.scale = scale, .shift = shift});
      EXPECT_EQ(norm(x, {.scale = each_row(scale), .shift = each_row(shift)}).to_vector(), y.to_vector());
      for (int64_t b = 0; b < B; ++b)
        EXPECT_EQ(norm(x.slice(0, b, b + 1), {.scale = scale.slice(0, b, b + 1), .shift = shift.slice(0, b, b + 1)}).to_vector(),
                  y.slice(0, b, b + 1).to_vector())
            << b;
    });
}

// An f32 result of a 16-bit x is not rounded in between.
BACKEND_TEST(NormSpec, y_has_the_requested_dtype) {
  Random random(105);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const auto x = random.normal(device, {4, 50}, dtype);
    const Tensor one = Tensor::filled(device, {50}, 1), zero = Tensor::zeros(device, {50});
    for (const auto norm : {ops::layer_norm, ops::rms_norm})
      test::supported(device, [&] {
        const Tensor wide = norm(x.device, {.gamma = one, .out = DType::f32});
        EXPECT_EQ(wide.dtype(), DType::f32);
        EXPECT_CLOSE(wide, norm(x.reference, {.out = DType::f32}), 2e-6);
        EXPECT_EQ(norm(x.device, {.gamma = one, .out = dtype}).to_vector(), ops::cast(wide, dtype).to_vector());
        EXPECT_EQ(norm(x.device, {.gamma = one}).to_vector(), wide.to_vector());
      });
  }
}

BACKEND_TEST(NormSpec, refuses_invalid_arguments) {
  const auto zeros = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(device, shape, dtype); };
  const Tensor x = zeros({2, 3, 4});
  const auto layer = [&](const NormSpec& spec) { return test::refusal([&] { ops::layer_norm(x, spec); }); };
  EXPECT_EQ(layer({.scale = zeros({3, 4})}),
            "layer_norm: scale is f32 [3, 4], expected f32 [2, 4] or [6, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(layer({.shift = zeros({2, 5})}),
            "layer_norm: shift is f32 [2, 5], expected f32 [2, 4] or [6, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(layer({.shift = zeros({4})}),
            "layer_norm: shift is f32 [4], expected f32 [2, 4] or [6, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(layer({.scale = zeros({2, 4}, DType::bf16)}),
            "layer_norm: scale is bf16 [2, 4], expected f32 [2, 4] or [6, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(layer({.scale = zeros({4, 2}).permute({1, 0})}),
            "layer_norm: scale is f32 [2, 4], expected f32 [2, 4] or [6, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(layer({.out = DType::i32}), "layer_norm: y is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] {
              ops::rms_norm(x, {.scale = Tensor::zeros(test::reference_backend(), {2, 4})});
            }),
            fmt::format("rms_norm: x is on the backend {}, another operand [2, 4] on reference; expected all on one", device.name()));
  const auto group = [&](const GroupNormSpec& spec) { return test::refusal([&] { ops::group_norm(x, spec); }); };
  EXPECT_EQ(group({.groups = 2, .scale = zeros({6, 4})}),
            "group_norm: scale is f32 [6, 4], expected f32 [2, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(group({.groups = 2, .shift = zeros({4, 2}).permute({1, 0})}),
            "group_norm: shift is f32 [2, 4], expected f32 [2, 4] with a dense last axis for x [2, 3, 4]");
  EXPECT_EQ(group({.groups = 2, .shift = Tensor::zeros(test::reference_backend(), {2, 4})}),
            fmt::format("group_norm: x is on the backend {}, another operand [2, 4] on reference; expected all on one", device.name()));
}

}  // namespace
}  // namespace hearth
