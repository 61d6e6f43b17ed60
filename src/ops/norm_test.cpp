#include "ops/norm.h"

#include <algorithm>
#include <cmath>

#include "ops/random_test.h"
#include "ops/refusal_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(Norm, equals_the_reference_on_random_shapes) {
  Random random(31);
  for (int round = 0; round < 40; ++round) {
    const int64_t groups = random.between(1, 8), C = groups * random.between(1, round % 3 == 0 ? 40 : 5),
                  H = random.between(1, round % 5 == 0 ? 60 : 9), W = random.between(1, 9);
    const DType dtype = random.dtype();
    const auto x = random.normal(device, {random.between(1, 3), H, W, C}, dtype, 3);
    const auto gamma = random.normal(device, {C}), beta = random.normal(device, {C});
    const auto act = random.chance() ? Activation::silu : Activation::none;
    SCOPED_TRACE(fmt::format("x {} {} groups {}", name_of(dtype), x.device.shape(), groups));
    EXPECT_CLOSE(ops::group_norm(x.device, {.groups = groups, .gamma = gamma.device, .beta = beta.device, .activation = act}),
                 ops::group_norm(x.reference, {.groups = groups, .gamma = gamma.reference, .beta = beta.reference, .activation = act}),
                 test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::layer_norm(x.device, {.gamma = gamma.device, .beta = beta.device, .eps = 1e-6f}),
                 ops::layer_norm(x.reference, {.gamma = gamma.reference, .beta = beta.reference, .eps = 1e-6f}), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::rms_norm(x.device, {.gamma = gamma.device, .eps = 1e-6f}),
                 ops::rms_norm(x.reference, {.gamma = gamma.reference, .eps = 1e-6f}), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::rms_norm(x.device, {.eps = 2}), ops::rms_norm(x.reference, {.eps = 2}), test::op_tolerance(dtype));
  }
}

// G-20: a 16-bit running sum of these 163 840 values stops growing at 25 920.
BACKEND_TEST(Norm, large_groups_of_large_values_in_every_type) {
  Random random(32);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const auto x = random.normal(device, {1, 128, 128, 10}, dtype, 10);
    const auto gamma = random.normal(device, {10}), beta = random.normal(device, {10});
    EXPECT_CLOSE(ops::group_norm(x.device, {.groups = 1, .gamma = gamma.device, .beta = beta.device}),
                 ops::group_norm(x.reference, {.groups = 1, .gamma = gamma.reference, .beta = beta.reference}), test::op_tolerance(dtype));
  }
}

// G-80: mean 4000, deviation 1: E[x²] − E[x]² in f32 gave −2759 on these.
BACKEND_TEST(Norm, variance_of_values_far_from_zero) {
  Random random(33);
  auto x = random.normal(device, {1, 64, 64, 10});
  for (Tensor* t : {&x.device, &x.reference})
    *t = test::edited(*t, [n = t->numel()](float* values) { std::for_each_n(values, n, [](float& v) { v += 4000; }); });
  const auto gamma = random.normal(device, {10}), beta = random.normal(device, {10});
  // One ulp of the mean (2.4e-4 in f32) is 2.4e-4 deviations.
  EXPECT_CLOSE(ops::group_norm(x.device, {.groups = 1, .gamma = gamma.device, .beta = beta.device}),
               ops::group_norm(x.reference, {.groups = 1, .gamma = gamma.reference, .beta = beta.reference}), 3e-4);
  EXPECT_CLOSE(ops::layer_norm(x.device, {.gamma = gamma.device, .beta = beta.device}),
               ops::layer_norm(x.reference, {.gamma = gamma.reference, .beta = beta.reference}), 3e-4);
}

// G-17: biased variance, so two values a and −a become ±1 exactly (unbiased would give ±0.707).
BACKEND_TEST(Norm, the_variance_is_biased_and_eps_is_inside_the_root) {
  const Tensor one = Tensor::from(device, {2}, std::vector<float>{1, 1}), zero = Tensor::zeros(device, {2});
  const Tensor x = Tensor::from(device, {1, 2}, std::vector<float>{-3, 3});
  EXPECT_CLOSE(ops::layer_norm(x, {.gamma = one, .beta = zero, .eps = 0}), (std::vector<float>{-1, 1}), 1e-7);
  EXPECT_CLOSE(ops::layer_norm(x, {.gamma = one, .beta = zero, .eps = 16}), (std::vector<float>{-0.6f, 0.6f}), 1e-7);
  EXPECT_CLOSE(ops::group_norm(x, {.groups = 1, .gamma = one, .beta = zero, .eps = 16}), (std::vector<float>{-0.6f, 0.6f}), 1e-7);
}

// In a residual stream a few channels are thousands of times larger than the rest; in long rows every square matters.
BACKEND_TEST(Norm, root_mean_squares_of_long_rows_in_every_type) {
  Random random(34);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    auto x = random.normal(device, {3, 8193}, dtype);
    const auto gamma = random.normal(device, {8193});
    SCOPED_TRACE(name_of(dtype));
    EXPECT_CLOSE(ops::rms_norm(x.device, {.gamma = gamma.device, .eps = 1e-5f}),
                 ops::rms_norm(x.reference, {.gamma = gamma.reference, .eps = 1e-5f}), test::op_tolerance(dtype));
    if (dtype != DType::f32) continue;
    for (Tensor* t : {&x.device, &x.reference}) *t = test::edited(*t, [](float* values) { values[8192] = 3000; });
    EXPECT_CLOSE(ops::rms_norm(x.device, {.gamma = gamma.device, .eps = 1e-5f}),
                 ops::rms_norm(x.reference, {.gamma = gamma.reference, .eps = 1e-5f}), 2e-6);
  }
  const Tensor three = Tensor::from(device, {1, 2}, std::vector<float>{-3, 3});
  EXPECT_CLOSE(ops::rms_norm(three, {.eps = 16}), (std::vector<float>{-0.6f, 0.6f}), 1e-7);  // eps inside the root, no mean subtracted
  EXPECT_CLOSE(ops::rms_norm(Tensor::from(device, {1, 2}, std::vector<float>{4, 4}), {.eps = 0}), (std::vector<float>{1, 1}), 1e-7);
}

BACKEND_TEST(Norm, constant_input_gives_beta) {
  const Tensor x = Tensor::from(device, {1, 3, 3, 4}, std::vector<float>(36, 2.5f));
  const Tensor gamma = Tensor::from(device, {4}, std::vector<float>{1, 2, 3, 4}),
               beta = Tensor::from(device, {4}, std::vector<float>{5, 6, 7, 8});
  const std::vector<float> y = ops::group_norm(x, {.groups = 2, .gamma = gamma, .beta = beta}).to_vector();
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], float(5 + i % 4), 1e-5);
}

BACKEND_TEST(Norm, accepts_views) {
  Random random(34);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor view = random.normal(device, {2, 6, 5, 3}, dtype).device.permute({0, 2, 3, 1}),
                 dense = Tensor::from(device, view.shape(), view.to_vector(), dtype);
    const Tensor gamma = random.normal(device, {6}).device, beta = random.normal(device, {6}).device;
    const Tensor grouped = ops::group_norm(view, {.groups = 2, .gamma = gamma, .beta = beta}),
                 layered = ops::layer_norm(view, {.gamma = gamma, .beta = beta});
    EXPECT_EQ(grouped.dtype(), dtype);
    EXPECT_EQ(layered.dtype(), DType::f32);
    EXPECT_EQ(grouped.to_vector(), ops::group_norm(dense, {.groups = 2, .gamma = gamma, .beta = beta}).to_vector());
    EXPECT_EQ(layered.to_vector(), ops::layer_norm(dense, {.gamma = gamma, .beta = beta}).to_vector());
  }
}

BACKEND_TEST(Norm, empty_input_gives_empty_output) {
  for (const Shape& shape : {Shape{0, 2, 6}, Shape{2, 0, 6}, Shape{2, 2, 0}}) {
    const Tensor x = Tensor::zeros(device, shape), c = Tensor::zeros(device, {shape[2]});
    EXPECT_EQ(ops::group_norm(x, {.groups = 2, .gamma = c, .beta = c}).shape(), shape);
    EXPECT_EQ(ops::layer_norm(x, {.gamma = c, .beta = c}).shape(), shape);
  }
}

BACKEND_TEST(Norm, refuses_invalid_arguments) {
  const Tensor x = Tensor::zeros(device, {1, 2, 2, 6}), v6 = Tensor::zeros(device, {6}), v5 = Tensor::zeros(device, {5});
  EXPECT_EQ(test::refusal([&] { ops::group_norm(x, {.groups = 4, .gamma = v6, .beta = v6}); }),
            "group_norm: 4 groups do not divide C = 6 of x [1, 2, 2, 6]");
  EXPECT_THROW(ops::group_norm(x, {.groups = 0, .gamma = v6, .beta = v6}), ShapeError);
  EXPECT_THROW(ops::group_norm(x, {.groups = 2, .gamma = v5, .beta = v6}), ShapeError);
  EXPECT_THROW(ops::group_norm(x, {.groups = -2, .gamma = v6, .beta = v6}), ShapeError);
  EXPECT_THROW(ops::group_norm(x, {.groups = 2, .gamma = v6, .beta = v5}), ShapeError);
  EXPECT_EQ(test::refusal([&] { ops::group_norm(v6, {.groups = 2, .gamma = v6, .beta = v6}); }),
            "group_norm: x is [6], expected [B, ..., C]");
  EXPECT_THROW(ops::layer_norm(x, {.gamma = v6, .beta = v5}), ShapeError);
  EXPECT_THROW(ops::rms_norm(x, {.gamma = v5, .eps = 1e-5f}), ShapeError);
  EXPECT_THROW(ops::rms_norm(x, {.gamma = Tensor::zeros(device, {6}, DType::f16), .eps = 1e-5f}), ShapeError);
  EXPECT_THROW(ops::rms_norm(Tensor::zeros(device, {6}, DType::i32), {.gamma = v6, .eps = 1e-5f}), ShapeError);
  EXPECT_THROW(ops::layer_norm(x, {.gamma = v5, .beta = v6}), ShapeError);
  EXPECT_EQ(test::refusal([&] { ops::rms_norm(x, {.gamma = v6, .beta = v6}); }), "rms_norm: beta is set, expected none");
  EXPECT_EQ(test::refusal([&] { ops::layer_norm(Tensor::zeros(device, {}), {.gamma = v6, .beta = v6}); }),
            "layer_norm: x is [], expected [..., C]");
  const Tensor whole = Tensor::zeros(device, {2, 6}, DType::i32);
  EXPECT_EQ(test::refusal([&] { ops::group_norm(whole, {.groups = 2, .gamma = v6, .beta = v6}); }),
            "group_norm: x [2, 6] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] { ops::layer_norm(whole, {.gamma = v6, .beta = v6}); }),
            "layer_norm: x [2, 6] is i32, expected f32, f16 or bf16");
  EXPECT_THROW(ops::layer_norm(x, {.gamma = v6, .beta = Tensor::zeros(device, {6}, DType::bf16)}), ShapeError);
}

}  // namespace
}  // namespace hearth
