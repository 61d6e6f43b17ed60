#include "ops/norm.h"

#include <cmath>

#include "ops/random_test.h"
#include "ops/refusal_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(norm, equals_the_reference_on_random_shapes) {
  Random random(31);
  for (int round = 0; round < 40; ++round) {
    const int64_t groups = random.between(1, 8), C = groups * random.between(1, round % 3 == 0 ? 40 : 5),
                  H = random.between(1, round % 5 == 0 ? 60 : 9), W = random.between(1, 9);
    const DType dtype = random.dtype();
    const auto x = random.normal(device, {random.between(1, 3), H, W, C}, dtype, 3);
    const auto gamma = random.normal(device, {C}), beta = random.normal(device, {C});
    const auto act = random.chance() ? Activation::silu : Activation::none;
    SCOPED_TRACE(fmt::format("x {} {} groups {}", name_of(dtype), x.device.shape(), groups));
    EXPECT_CLOSE(ops::group_norm(x.device, groups, gamma.device, beta.device, 1e-5f, act),
                 ops::group_norm(x.truth, groups, gamma.truth, beta.truth, 1e-5f, act), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::layer_norm(x.device, gamma.device, beta.device, 1e-6f), ops::layer_norm(x.truth, gamma.truth, beta.truth, 1e-6f),
                 test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::rms_norm(x.device, gamma.device, 1e-6f), ops::rms_norm(x.truth, gamma.truth, 1e-6f), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::rms_norm(x.device, {}, 2), ops::rms_norm(x.truth, {}, 2), test::op_tolerance(dtype));
  }
}

// G-20: a 16-bit running sum of these 163 840 values stops growing at 25 920.
BACKEND_TEST(norm, G20_large_groups_of_large_values_in_every_type) {
  Random random(32);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const auto x = random.normal(device, {1, 128, 128, 10}, dtype, 10);
    const auto gamma = random.normal(device, {10}), beta = random.normal(device, {10});
    EXPECT_CLOSE(ops::group_norm(x.device, 1, gamma.device, beta.device, 1e-5f),
                 ops::group_norm(x.truth, 1, gamma.truth, beta.truth, 1e-5f), test::op_tolerance(dtype));
  }
}

// G-80: mean 4000, deviation 1: E[x²] − E[x]² in f32 gave −2759 on these.
BACKEND_TEST(norm, G80_variance_of_values_far_from_zero) {
  Random random(33);
  auto x = random.normal(device, {1, 64, 64, 10});
  for (Tensor* t : {&x.device, &x.truth})
    for (int64_t i = 0; i < t->numel(); ++i) t->data<float>()[i] += 4000;
  const auto gamma = random.normal(device, {10}), beta = random.normal(device, {10});
  // One ulp of the mean (2.4e-4 in f32) is 2.4e-4 deviations.
  EXPECT_CLOSE(ops::group_norm(x.device, 1, gamma.device, beta.device, 1e-5f), ops::group_norm(x.truth, 1, gamma.truth, beta.truth, 1e-5f),
               3e-4);
  EXPECT_CLOSE(ops::layer_norm(x.device, gamma.device, beta.device, 1e-5f), ops::layer_norm(x.truth, gamma.truth, beta.truth, 1e-5f), 3e-4);
}

// G-17: biased variance, so two values a and −a become ±1 exactly (unbiased would give ±0.707).
BACKEND_TEST(norm, G17_the_variance_is_biased_and_eps_is_inside_the_root) {
  const Tensor one = Tensor::from(device, {2}, std::vector<float>{1, 1}), zero = Tensor::zeros(device, {2});
  const Tensor x = Tensor::from(device, {1, 2}, std::vector<float>{-3, 3});
  EXPECT_CLOSE(ops::layer_norm(x, one, zero, 0), (std::vector<float>{-1, 1}), 1e-7);
  EXPECT_CLOSE(ops::layer_norm(x, one, zero, 16), (std::vector<float>{-0.6f, 0.6f}), 1e-7);
  EXPECT_CLOSE(ops::group_norm(x, 1, one, zero, 16), (std::vector<float>{-0.6f, 0.6f}), 1e-7);
}

// A residual stream has a few channels thousands of times as large as the rest; in long rows every square counts.
BACKEND_TEST(norm, root_mean_squares_of_long_rows_in_every_type) {
  Random random(34);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    auto x = random.normal(device, {3, 8193}, dtype);
    const auto gamma = random.normal(device, {8193});
    SCOPED_TRACE(name_of(dtype));
    EXPECT_CLOSE(ops::rms_norm(x.device, gamma.device, 1e-5f), ops::rms_norm(x.truth, gamma.truth, 1e-5f), test::op_tolerance(dtype));
    if (dtype != DType::f32) continue;
    for (Tensor* t : {&x.device, &x.truth}) t->data<float>()[8192] = 3000;
    EXPECT_CLOSE(ops::rms_norm(x.device, gamma.device, 1e-5f), ops::rms_norm(x.truth, gamma.truth, 1e-5f), 2e-6);
  }
  const Tensor three = Tensor::from(device, {1, 2}, std::vector<float>{-3, 3});
  EXPECT_CLOSE(ops::rms_norm(three, {}, 16), (std::vector<float>{-0.6f, 0.6f}), 1e-7);  // eps inside the root, no mean taken off
  EXPECT_CLOSE(ops::rms_norm(Tensor::from(device, {1, 2}, std::vector<float>{4, 4}), {}, 0), (std::vector<float>{1, 1}), 1e-7);
}

BACKEND_TEST(norm, constant_input_gives_beta) {
  const Tensor x = Tensor::from(device, {1, 3, 3, 4}, std::vector<float>(36, 2.5f));
  const Tensor gamma = Tensor::from(device, {4}, std::vector<float>{1, 2, 3, 4}),
               beta = Tensor::from(device, {4}, std::vector<float>{5, 6, 7, 8});
  const std::vector<float> y = ops::group_norm(x, 2, gamma, beta, 1e-5f).to_vector();
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], float(5 + i % 4), 1e-5);
}

BACKEND_TEST(norm, takes_views_and_keeps_the_type) {
  Random random(34);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor view = random.normal(device, {2, 6, 5, 3}, dtype).device.permute({0, 2, 3, 1}),
                 dense = Tensor::from(device, view.shape(), view.to_vector(), dtype);
    const Tensor gamma = random.normal(device, {6}).device, beta = random.normal(device, {6}).device;
    const Tensor grouped = ops::group_norm(view, 2, gamma, beta, 1e-5f), layered = ops::layer_norm(view, gamma, beta, 1e-5f);
    EXPECT_EQ(grouped.dtype(), dtype);
    EXPECT_EQ(layered.dtype(), dtype);
    EXPECT_EQ(grouped.to_vector(), ops::group_norm(dense, 2, gamma, beta, 1e-5f).to_vector());
    EXPECT_EQ(layered.to_vector(), ops::layer_norm(dense, gamma, beta, 1e-5f).to_vector());
  }
}

BACKEND_TEST(norm, of_nothing_is_nothing) {
  for (const Shape& shape : {Shape{0, 2, 6}, Shape{2, 0, 6}, Shape{2, 2, 0}}) {
    const Tensor x = Tensor::zeros(device, shape), c = Tensor::zeros(device, {shape[2]});
    EXPECT_EQ(ops::group_norm(x, 2, c, c, 1e-5f).shape(), shape);
    EXPECT_EQ(ops::layer_norm(x, c, c, 1e-5f).shape(), shape);
  }
}

BACKEND_TEST(norm, refuses_what_does_not_fit) {
  const Tensor x = Tensor::zeros(device, {1, 2, 2, 6}), v6 = Tensor::zeros(device, {6}), v5 = Tensor::zeros(device, {5});
  EXPECT_EQ(test::refusal([&] { ops::group_norm(x, 4, v6, v6, 1e-5f); }), "group_norm: 4 groups do not divide C = 6 of x [1, 2, 2, 6]");
  EXPECT_THROW(ops::group_norm(x, 0, v6, v6, 1e-5f), ShapeError);
  EXPECT_THROW(ops::group_norm(x, 2, v5, v6, 1e-5f), ShapeError);
  EXPECT_THROW(ops::group_norm(x, -2, v6, v6, 1e-5f), ShapeError);
  EXPECT_THROW(ops::group_norm(x, 2, v6, v5, 1e-5f), ShapeError);
  EXPECT_THROW(ops::group_norm(x, 2, v6, Tensor(), 1e-5f), ShapeError);
  EXPECT_THROW(ops::group_norm(x, 2, Tensor(), v6, 1e-5f), ShapeError);
  EXPECT_EQ(test::refusal([&] { ops::group_norm(v6, 2, v6, v6, 1e-5f); }), "group_norm: x [6] needed [B, ..., C]");
  EXPECT_THROW(ops::layer_norm(x, v6, v5, 1e-5f), ShapeError);
  EXPECT_THROW(ops::rms_norm(x, v5, 1e-5f), ShapeError);
  EXPECT_THROW(ops::rms_norm(x, Tensor::zeros(device, {6}, DType::f16), 1e-5f), ShapeError);
  EXPECT_THROW(ops::rms_norm(Tensor::zeros(device, {6}, DType::i32), v6, 1e-5f), ShapeError);
  EXPECT_THROW(ops::layer_norm(x, v5, v6, 1e-5f), ShapeError);
  EXPECT_THROW(ops::layer_norm(x, Tensor(), v6, 1e-5f), ShapeError);
  EXPECT_THROW(ops::layer_norm(x, v6, Tensor(), 1e-5f), ShapeError);
  EXPECT_EQ(test::refusal([&] { ops::layer_norm(Tensor::zeros(device, {}), v6, v6, 1e-5f); }), "layer_norm: x [] needed [..., C]");
  const Tensor whole = Tensor::zeros(device, {2, 6}, DType::i32);
  EXPECT_EQ(test::refusal([&] { ops::group_norm(whole, 2, v6, v6, 1e-5f); }), "group_norm: x [2, 6] is i32, needed f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] { ops::layer_norm(whole, v6, v6, 1e-5f); }), "layer_norm: x [2, 6] is i32, needed f32, f16 or bf16");
  EXPECT_THROW(ops::layer_norm(x, v6, Tensor::zeros(device, {6}, DType::bf16), 1e-5f), ShapeError);
}

}  // namespace
}  // namespace hearth
