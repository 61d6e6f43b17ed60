#include "ops/conv.h"

#include "ops/random_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(conv2d, equals_the_reference_on_random_shapes) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const int64_t B = random.between(1, 2), C = random.between(1, round % 6 == 0 ? 140 : 20),
                  O = random.between(1, round % 4 == 0 ? 70 : 9);
    const int64_t kh = random.between(1, 4), kw = random.chance() ? kh : random.between(1, 4), H = random.between(kh, 13),
                  W = random.between(kw, 13);
    ConvSpec spec{.stride = random.between(1, 3),
                  .padding = {random.between(0, 2), random.between(0, 2), random.between(0, 2), random.between(0, 2)}};
    if (random.chance()) spec.resize_to = {random.between(kh, 21), random.between(kw, 21)};
    const DType dtype = random.dtype(), out = random.dtype();
    const auto x = random.normal(device, {B, H, W, C}, dtype);
    const auto w = random.weight(device, {O, C, kh, kw}, WeightKind::conv2d, random.dtype());
    const auto bias = random.normal(device, {O}), per_image = random.normal(device, {B, O});
    const bool with_bias = random.chance(), with_image = random.chance();
    const auto act = Activation(random.between(0, 5));
    SCOPED_TRACE(fmt::format("x {} {} w {} stride {} padding {} {} {} {} resize {} {}", name_of(dtype), x.device.shape(), w.device.shape,
                             spec.stride, spec.padding[0], spec.padding[1], spec.padding[2], spec.padding[3], spec.resize_to[0],
                             spec.resize_to[1]));
    const Epilogue plain{.activation = act, .out = out};
    Epilogue on_device = plain, on_truth = plain;
    if (with_image) on_device.per_image = per_image.device, on_truth.per_image = per_image.truth;
    Tensor y = ops::conv2d(x.device, w.device, with_bias ? bias.device : Tensor(), spec, on_device);
    EXPECT_CLOSE(y, ops::conv2d(x.truth, w.truth, with_bias ? bias.truth : Tensor(), spec, on_truth), test::op_tolerance(out));
    const auto residual = random.normal(device, y.shape(), random.dtype());
    on_device.residual = residual.device, on_truth.residual = residual.truth;
    y = ops::conv2d(x.device, w.device, with_bias ? bias.device : Tensor(), spec, on_device);
    EXPECT_CLOSE(y, ops::conv2d(x.truth, w.truth, with_bias ? bias.truth : Tensor(), spec, on_truth), test::op_tolerance(out));
  }
}

// Integer division must not eat the border: every output position counts its taps.
BACKEND_TEST(conv2d, padding_is_zeros_and_reaches_each_side) {
  const Tensor x = Tensor::from(device, {1, 2, 2, 1}, std::vector<float>{1, 1, 1, 1}),
               ones = Tensor::from(device, {1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  const Weight w{.name = "w", .shape = ones.shape(), .prepared = device.prepare(ones, WeightKind::conv2d, DType::f32), .backend = &device};
  EXPECT_EQ(ops::conv2d(x, w, {}, {.padding = {0, 1, 2, 1}}).to_vector(), (std::vector<float>{4, 4, 2, 2}));
  EXPECT_EQ(ops::conv2d(x, w, {}, {.padding = {1, 0, 1, 2}}).to_vector(), (std::vector<float>{4, 2, 4, 2}));
}

BACKEND_TEST(conv2d, refuses_what_does_not_fit) {
  Random random(12);
  const auto w = random.weight(device, {4, 3, 3, 3}, WeightKind::conv2d, DType::f32);
  const auto matrix = random.weight(device, {4, 3}, WeightKind::linear, DType::f32);
  const Tensor x = Tensor::zeros(device, {1, 5, 5, 3});
  EXPECT_THROW(ops::conv2d(Tensor::zeros(device, {1, 5, 5, 4}), w.device, {}, {}), ShapeError);
  EXPECT_THROW(ops::conv2d(Tensor::zeros(device, {5, 5, 3}), w.device, {}, {}), ShapeError);
  EXPECT_THROW(ops::conv2d(Tensor::zeros(device, {1, 2, 5, 3}), w.device, {}, {}), ShapeError);
  EXPECT_THROW(ops::conv2d(x, matrix.device, {}, {}), ShapeError);
  EXPECT_THROW(ops::conv2d(x, w.device, {}, {.stride = 0}), ShapeError);
  EXPECT_THROW(ops::conv2d(x, w.device, Tensor::zeros(device, {3}), {}), ShapeError);
  EXPECT_THROW(ops::conv2d(x, w.device, {}, {}, {.residual = Tensor::zeros(device, {1, 5, 5, 4})}), ShapeError);
}

}  // namespace
}  // namespace hearth
