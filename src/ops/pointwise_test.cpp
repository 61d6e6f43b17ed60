#include "ops/pointwise.h"

#include <cmath>
#include <limits>

#include "ops/random_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(pointwise, equals_the_reference_on_random_sizes) {
  Random random(41);
  for (int round = 0; round < 60; ++round) {
    const DType dtype = random.dtype();
    const auto x = random.normal(device, {random.between(1, 7), 2 * random.between(1, 60)}, dtype, 3),
               z = random.normal(device, x.device.shape(), dtype);
    const auto act = Activation(round % 6);
    SCOPED_TRACE(fmt::format("{} {} act {}", name_of(dtype), x.device.shape(), int(act)));
    EXPECT_CLOSE(ops::activate(x.device, act), ops::activate(x.truth, act), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::geglu(x.device), ops::geglu(x.truth), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::add(x.device, z.device), ops::add(x.truth, z.truth), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::linear_combination({x.device, z.device, x.device}, {0.5f, -2.0f, 3.0f}),
                 ops::linear_combination({x.truth, z.truth, x.truth}, {0.5f, -2.0f, 3.0f}), test::op_tolerance(dtype));
  }
}

// Elementwise, because one wrong value hides in a norm over many; and at the ends of the range.
BACKEND_TEST(pointwise, every_value_is_right_over_the_whole_range) {
  std::vector<float> values;
  for (float v = -120; v <= 120; v += 0.0173f) values.push_back(v);
  for (float v : {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-8f, 1e30f, -1e30f, 3e38f, -3e38f}) values.push_back(v);
  const Shape shape{int64_t(values.size())};
  for (const auto act : {Activation::silu, Activation::gelu, Activation::gelu_tanh, Activation::quick_gelu, Activation::relu}) {
    const std::vector<float> y = ops::activate(Tensor::from(device, shape, values), act).to_vector(),
                             truth = ops::activate(Tensor::from(test::truth(), shape, values), act).to_vector();
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i], truth[i], 1e-6 * std::abs(truth[i]) + 3e-7 * std::min(1.0f, std::abs(values[i])))
          << "act " << int(act) << " of " << values[i];
  }
}

// G-28: what is not a number stays visible.
BACKEND_TEST(pointwise, G28_not_a_number_is_never_hidden) {
  std::vector<float> values(37, 1.0f);
  for (const size_t at : {size_t(0), size_t(16), size_t(36)}) {
    std::vector<float> bad = values;
    bad[at] = std::numeric_limits<float>::quiet_NaN();
    for (int act = 0; act < 6; ++act)
      EXPECT_EQ(count_non_finite(ops::activate(Tensor::from(device, {37}, bad), Activation(act))), 1) << "act " << act << " at " << at;
    EXPECT_EQ(count_non_finite(ops::add(Tensor::from(device, {37}, bad), Tensor::from(device, {37}, values))), 1);
  }
}

BACKEND_TEST(pointwise, refuses_what_does_not_fit) {
  const Tensor a = Tensor::zeros(device, {2, 3}), b = Tensor::zeros(device, {3, 2}), h = Tensor::zeros(device, {2, 3}, DType::f16);
  EXPECT_THROW(ops::add(a, b), ShapeError);
  EXPECT_THROW(ops::add(a, h), ShapeError);
  EXPECT_THROW(ops::geglu(a), ShapeError);
  EXPECT_THROW(ops::linear_combination({}, {}), ShapeError);
  EXPECT_THROW(ops::linear_combination({a}, {1.0f, 2.0f}), ShapeError);
  EXPECT_THROW(ops::activate(Tensor(), Activation::silu), ShapeError);
}

}  // namespace
}  // namespace hearth
