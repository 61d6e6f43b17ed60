#include "ops/matmul.h"

#include "ops/random_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(linear, equals_the_reference_on_random_shapes) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    const int64_t B = random.between(1, 3), M = random.between(1, round % 5 == 0 ? 150 : 20),
                  K = random.between(1, round % 7 == 0 ? 2600 : 90), N = random.between(1, 130);
    const DType dtype = random.dtype(), hold = random.dtype(), out = random.dtype();
    const auto x = random.normal(device, {B, M, K}, dtype);
    const auto w = random.weight(device, {N, K}, WeightKind::linear, hold);
    const auto bias = random.normal(device, {N}), per_image = random.normal(device, {B, N}),
               residual = random.normal(device, {B, M, N}, random.dtype());
    const bool with_bias = random.chance(), with_image = random.chance(), with_residual = random.chance();
    const auto act = Activation(random.between(0, 5));
    const auto run = [&](const Tensor& in, const Weight& weight, const Tensor& b, const Tensor& image, const Tensor& r) {
      return ops::linear(in, weight, with_bias ? b : Tensor(),
                         {.alpha = 0.7f,
                          .activation = act,
                          .per_image = with_image ? image : Tensor(),
                          .residual = with_residual ? r : Tensor(),
                          .out = out});
    };
    SCOPED_TRACE(
        fmt::format("B {} M {} K {} N {} x {} w {} y {} act {}", B, M, K, N, name_of(dtype), name_of(hold), name_of(out), int(act)));
    const Tensor y = run(x.device, w.device, bias.device, per_image.device, residual.device);
    EXPECT_EQ(y.dtype(), out);
    EXPECT_CLOSE(y, run(x.truth, w.truth, bias.truth, per_image.truth, residual.truth), test::op_tolerance(out));
  }
}

BACKEND_TEST(linear, flattens_leading_axes_and_takes_views) {
  Random random(2);
  const auto x = random.normal(device, {2, 3, 4, 10});
  const auto w = random.weight(device, {6, 10}, WeightKind::linear, DType::f32);
  const Tensor y = ops::linear(x.device, w.device);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4, 6}));
  EXPECT_CLOSE(y, ops::linear(x.truth, w.truth), 2e-6);
  EXPECT_CLOSE(ops::linear(x.device.permute({1, 0, 2, 3}), w.device), ops::linear(x.truth.permute({1, 0, 2, 3}), w.truth), 2e-6);
  EXPECT_CLOSE(ops::linear(x.device.slice(1, 1, 3), w.device), ops::linear(x.truth.slice(1, 1, 3), w.truth), 2e-6);
  EXPECT_EQ(ops::linear(Tensor::empty(device, {10}), w.device).shape(), (Shape{6}));
}

// G-18: the orientation shows on matrices that are not square.
BACKEND_TEST(linear, G18_weights_are_out_by_in) {
  const Tensor w = Tensor::from(device, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Weight weight{.name = "w", .shape = w.shape(), .prepared = device.prepare(w, WeightKind::linear, DType::f32), .backend = &device};
  EXPECT_EQ(ops::linear(Tensor::from(device, {1, 3}, std::vector<float>{1, 10, 100}), weight).to_vector(), (std::vector<float>{321, 654}));
}

BACKEND_TEST(linear, refuses_what_does_not_fit) {
  Random random(3);
  const auto w = random.weight(device, {6, 10}, WeightKind::linear, DType::f32);
  const auto conv = random.weight(device, {6, 10, 1, 1}, WeightKind::conv2d, DType::f32);
  const Tensor x = Tensor::zeros(device, {2, 10}), v6 = Tensor::zeros(device, {6});
  EXPECT_THROW(ops::linear(Tensor::zeros(device, {2, 9}), w.device), ShapeError);
  EXPECT_THROW(ops::linear(x, conv.device), ShapeError);
  EXPECT_THROW(ops::linear(Tensor::zeros(device, {2, 0}), {.name = "w", .shape = {6, 0}, .backend = &device}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, Tensor::zeros(device, {7})), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, Tensor::zeros(device, {6}, DType::f16)), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.residual = Tensor::zeros(device, {6, 2})}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.per_image = Tensor::zeros(device, {3, 6})}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.out = DType::i32}), ShapeError);
  EXPECT_THROW(ops::linear(Tensor(), w.device), ShapeError);
  EXPECT_THROW(ops::linear(Tensor::zeros(device, {2, 10}, DType::i32), w.device), ShapeError);
}

}  // namespace
}  // namespace hearth
