#include "ops/pointwise.h"

#include <cmath>
#include <functional>
#include <limits>

#include "ops/random_test.h"
#include "ops/refusal_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(Pointwise, equals_the_reference_on_random_sizes) {
  Random random(41);
  for (int round = 0; round < 60; ++round) {
    const DType dtype = random.dtype();
    const auto x = random.normal(device, {random.between(1, 7), 2 * random.between(1, 60)}, dtype, 3),
               z = random.normal(device, x.device.shape(), dtype);
    const auto act = Activation(round % test::activations);
    SCOPED_TRACE(fmt::format("{} {} act {}", name_of(dtype), x.device.shape(), int(act)));
    EXPECT_CLOSE(ops::activate(x.device, act), ops::activate(x.reference, act), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::add(x.device, z.device), ops::add(x.reference, z.reference), test::op_tolerance(dtype));
    EXPECT_CLOSE(ops::linear_combination({x.device, z.device, x.device}, {0.5f, -2.0f, 3.0f}),
                 ops::linear_combination({x.reference, z.reference, x.reference}, {0.5f, -2.0f, 3.0f}), test::op_tolerance(dtype));
  }
}

// Elementwise, because one wrong value hides in a norm over many; covers the ends of the range, too.
BACKEND_TEST(Pointwise, every_value_is_accurate_over_the_whole_range) {
  std::vector<float> values;
  for (float v = -120; v <= 120; v += 0.0173f) values.push_back(v);
  for (float v : {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-8f, 1e30f, -1e30f, 3e38f, -3e38f}) values.push_back(v);
  const Shape shape{int64_t(values.size())};
  for (int i = 1; i < test::activations; ++i) {
    const auto act = Activation(i);
    const std::vector<float> y = ops::activate(Tensor::from(device, shape, values), act).to_vector(),
                             reference = ops::activate(Tensor::from(test::reference_backend(), shape, values), act).to_vector();
    for (size_t j = 0; j < y.size(); ++j) {
      if (y[j] == reference[j]) continue;  // also if both are infinite
      ASSERT_NEAR(y[j], reference[j], 1e-6 * std::abs(reference[j]) + 3e-7 * std::min(1.0f, std::abs(values[j])))
          << "act " << i << " of " << values[j];
    }
  }
}

// G-28: NaN propagates.
BACKEND_TEST(Pointwise, nan_propagates) {
  std::vector<float> values(37, 1.0f);
  for (const size_t at : {size_t(0), size_t(16), size_t(36)}) {
    std::vector<float> bad = values;
    bad[at] = std::numeric_limits<float>::quiet_NaN();
    for (int act = 0; act < test::activations; ++act)
      EXPECT_EQ(count_non_finite(ops::activate(Tensor::from(device, {37}, bad), Activation(act))), 1) << "act " << act << " at " << at;
    EXPECT_EQ(count_non_finite(ops::add(Tensor::from(device, {37}, bad), Tensor::from(device, {37}, values))), 1);
  }
}

BACKEND_TEST(Pointwise, known_answers) {
  const auto of = [&](const std::vector<float>& x, Activation act) {
    return ops::activate(Tensor::from(device, {int64_t(x.size())}, x), act).to_vector();
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_CLOSE(of({0, std::log(3.0f), -std::log(3.0f), 200, -200}, Activation::sigmoid), (std::vector<float>{0.5f, 0.75f, 0.25f, 1, 0}),
               2e-7);
  EXPECT_CLOSE(of({0, 0.5f * std::log(3.0f), -0.5f * std::log(3.0f), 200, -200}, Activation::tanh),
               (std::vector<float>{0, 0.5f, -0.5f, 1, -1}), 2e-7);
  EXPECT_CLOSE(of({0, std::log(3.0f), -std::log(3.0f), 200, -200}, Activation::softplus),
               (std::vector<float>{std::log(2.0f), std::log(4.0f), std::log(4 / 3.0f), 200, 0}), 2e-7);
  EXPECT_EQ(of({0, 3, -3, infinity, -infinity}, Activation::squared_relu), (std::vector<float>{0, 9, 0, infinity, 0}));
}

BACKEND_TEST(Pointwise, accepts_views_and_keeps_the_dtype) {
  Random random(42);
  for (const DType dtype : {DType::f32, DType::f16}) {
    const Tensor view = random.normal(device, {6, 5}, dtype).device.permute({1, 0}),
                 dense = Tensor::from(device, {5, 6}, view.to_vector(), dtype);
    for (const auto& op : {std::function<Tensor(const Tensor&)>([](const Tensor& x) { return ops::activate(x, Activation::silu); }),
                           std::function<Tensor(const Tensor&)>([](const Tensor& x) { return ops::add(x, x); })}) {
      const Tensor y = op(view);
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_EQ(y.to_vector(), op(dense).to_vector());
    }
  }
}

BACKEND_TEST(Pointwise, linear_combinations) {
  const Tensor a = Tensor::from(device, {2}, std::vector<float>{1, 2}), b = Tensor::from(device, {2}, std::vector<float>{10, 30});
  EXPECT_EQ(ops::add(a, b).to_vector(), (std::vector<float>{11, 32}));
  EXPECT_EQ(ops::linear_combination({a, b}, {2.0f, -0.5f}).to_vector(), (std::vector<float>{-3, -11}));
}

BACKEND_TEST(Pointwise, empty_input_gives_empty_output) {
  for (const Shape& shape : {Shape{0, 4}, Shape{3, 0}}) {
    const Tensor x = Tensor::zeros(device, shape);
    EXPECT_EQ(ops::activate(x, Activation::silu).shape(), shape);
    EXPECT_EQ(ops::add(x, x).shape(), shape);
  }
}

BACKEND_TEST(Pointwise, refuses_invalid_arguments) {
  const Tensor a = Tensor::zeros(device, {2, 3}), b = Tensor::zeros(device, {3, 2}), h = Tensor::zeros(device, {2, 3}, DType::f16);
  EXPECT_THROW(ops::add(a, b), ShapeError);
  EXPECT_THROW(ops::add(a, h), ShapeError);
  EXPECT_THROW(ops::linear_combination({}, {}), ShapeError);
  EXPECT_THROW(ops::linear_combination({a}, {1.0f, 2.0f}), ShapeError);
  EXPECT_THROW(ops::linear_combination({a, a}, {1.0f}), ShapeError);
  EXPECT_THROW(ops::activate(Tensor(), Activation::silu), ShapeError);
  const Tensor whole = Tensor::zeros(device, {2, 6}, DType::i32);
  EXPECT_EQ(test::refusal([&] { ops::activate(whole, Activation::silu); }), "activate: x [2, 6] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] { ops::add(whole, whole); }), "linear_combination: x [2, 6] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] { ops::add(a, Tensor()); }), "linear_combination: x is undefined");
}

}  // namespace
}  // namespace hearth
