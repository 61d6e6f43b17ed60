// Transposed convolutions.
#include <cmath>

#include "ops/conv.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(ConvTransposed, equals_the_reference_over_one_to_three_axes) {
  Random random(91);
  for (int round = 0; round < 90; ++round) {
    const int axes = round % 3 + 1;
    const int64_t B = random.between(1, 2), groups = random.chance() ? 1 : random.between(2, 4),
                  C = groups * (round % 5 == 0 ? random.between(8, 40) : random.between(1, 4)),
                  outputs = round % 7 == 0 ? random.between(8, 20) : random.between(1, 4);
    Shape x_shape{B}, w_shape{C, outputs};
    ConvSpec spec;
    ConvSpec::Axis* const all[] = {&spec.frames, &spec.rows, &spec.columns};
    for (int i = 0; i < axes; ++i) {
      ConvSpec::Axis& a = *all[3 - axes + i];
      const int64_t taps = random.between(1, 5), n = random.between(1, 6);
      a = {.stride = random.between(1, 4), .dilation = random.between(1, 2)};
      const int64_t size = (n - 1) * a.stride + a.dilation * (taps - 1) + 1;
      a.before = random.between(0, std::min<int64_t>(2, size - 1)), a.after = random.between(-3, std::min<int64_t>(2, size - a.before - 1));
      x_shape.push_back(n), w_shape.push_back(taps);
    }
    x_shape.push_back(C);
    const DType dtype = random.dtype(), out = random.dtype();
    WeightForm form = random.form(device);
    form.groups = groups;
    const int64_t O = outputs * groups;
    const auto x = random.normal(device, x_shape, dtype), bias = random.normal(device, {O}), per_image = random.normal(device, {B, O});
    SCOPED_TRACE(fmt::format("x {} {} w {} groups {} factors {} out {}", name_of(dtype), x_shape, w_shape, groups, name_of(form.factors),
                             name_of(out)));
    test::supported(device, [&] {
      const auto w = random.weight(device, w_shape, WeightKind::conv_transposed, form);
      Epilogue e{.activation = Activation::silu, .per_image = per_image.device, .out = out}, e_truth = e;
      e_truth.per_image = per_image.reference;
      const Tensor y = ops::conv(x.device, w.device, bias.device, spec, e);
      test::expect_product(y, w.reference, test::op_tolerance(out),
                           [&](const Weight& reference) { return ops::conv(x.reference, reference, bias.reference, spec, e_truth); });
      const auto residual = random.normal(device, y.shape(), random.dtype()), gate = random.normal(device, {B, O});
      e.residual = residual.device, e_truth.residual = residual.reference;
      e.gate = gate.device, e_truth.gate = gate.reference;
      test::expect_product(ops::conv(x.device, w.device, {}, spec, e), w.reference, test::op_tolerance(out),
                           [&](const Weight& reference) { return ops::conv(x.reference, reference, {}, spec, e_truth); });
    });
  }
}

double dot(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = a.to_vector(), y = b.to_vector();
  EXPECT_EQ(x.size(), y.size());
  double sum = 0;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) sum += double(x[i]) * y[i];
  return sum;
}

// ⟨conv(x), y⟩ = ⟨x, transposed(y)⟩ with the same weight, and `after` reduced by the remainder of the stride.
BACKEND_TEST(ConvTransposed, is_the_transpose_of_the_convolution) {
  Random random(92);
  for (int round = 0; round < 20; ++round) {
    const int64_t groups = random.between(1, 3), in = random.between(1, 3), out = random.between(1, 3);
    const Shape shape{groups * out, in, random.between(1, 4), random.between(1, 3)};
    ConvSpec spec{.rows = {.stride = random.between(1, 3), .before = random.between(0, 2), .after = 1, .dilation = random.between(1, 2)},
                  .columns = {.stride = random.between(1, 3), .before = 1, .after = random.between(0, 2)}};
    const Tensor x = random.normal(device, {2, random.between(7, 11), random.between(5, 9), groups * in}).device;
    const std::vector<float> values = random.normal(device, shape).device.to_vector();
    SCOPED_TRACE(fmt::format("x {} w {} groups {} stride {} {}", x.shape(), shape, groups, spec.rows.stride, spec.columns.stride));
    test::supported(device, [&] {
      const Tensor forward = ops::conv(x, test::weight_of(device, shape, values, WeightKind::conv, groups), {}, spec);
      const Tensor y = random.normal(device, forward.shape()).device;
      const auto left_over = [&](const ConvSpec::Axis& a, int axis) {
        return (x.size(axis) + a.before + a.after - a.dilation * (shape[axis + 1] - 1) - 1) % a.stride;
      };
      ConvSpec back = spec;
      back.rows.after -= left_over(spec.rows, 1), back.columns.after -= left_over(spec.columns, 2);
      const Tensor backward = ops::conv(y, test::weight_of(device, shape, values, WeightKind::conv_transposed, groups), {}, back);
      ASSERT_EQ(backward.shape(), x.shape());
      const double size = std::sqrt(dot(forward, forward) * dot(y, y));
      EXPECT_NEAR(dot(forward, y), dot(x, backward), 1e-6 * size);
    });
  }
}

BACKEND_TEST(ConvTransposed, known_answers) {
  using Line = std::vector<float>;
  const auto line = [&](const Line& x, const ConvSpec::Axis& axis) {
    const Weight w = test::weight_of(device, {1, 1, 3}, {1, 10, 100}, WeightKind::conv_transposed);
    return ops::conv(Tensor::from(device, {1, int64_t(x.size()), 1}, x), w, {}, {.columns = axis}).to_vector();
  };
  test::supported(device, [&] { EXPECT_EQ(line({1, 2}, {}), (Line{1, 12, 120, 200})); });
  test::supported(device, [&] { EXPECT_EQ(line({1, 2}, {.stride = 2}), (Line{1, 10, 102, 20, 200})); });
  test::supported(device, [&] { EXPECT_EQ(line({1, 2}, {.stride = 4}), (Line{1, 10, 100, 0, 2, 20, 200})); });
  test::supported(device, [&] { EXPECT_EQ(line({1, 2}, {.stride = 2, .before = 1}), (Line{10, 102, 20, 200})); });
  test::supported(device, [&] { EXPECT_EQ(line({1, 2}, {.stride = 2, .after = 2}), (Line{1, 10, 102})); });
  test::supported(device, [&] { EXPECT_EQ(line({1, 2}, {.stride = 2, .before = -1, .after = -1}), (Line{0, 1, 10, 102, 20, 200, 0})); });
  test::supported(device, [&] { EXPECT_EQ(line({3}, {.dilation = 2}), (Line{3, 0, 30, 0, 300})); });
  // Two groups of one channel each, both with two outputs; a position that no tap reaches has the bias.
  test::supported(device, [&] {
    const Weight w = test::weight_of(device, {2, 2, 1}, {1, 10, 100, 1000}, WeightKind::conv_transposed, 2);
    const Tensor y = ops::conv(Tensor::from(device, {1, 2, 2}, Line{1, 2, 3, 4}), w, Tensor::from(device, {4}, Line{5, 6, 7, 8}),
                               {.columns = {.stride = 2}});
    EXPECT_EQ(y.shape(), (Shape{1, 3, 4}));
    EXPECT_EQ(y.to_vector(), (Line{6, 16, 207, 2008, 5, 6, 7, 8, 8, 36, 407, 4008}));
  });
}

BACKEND_TEST(ConvTransposed, refuses_invalid_arguments) {
  const auto refusal = [&](const Shape& x, const Shape& w, const ConvSpec& spec, int64_t groups = 1, const Tensor& bias = {}) {
    const Weight weight{.name = "w", .shape = w, .form = {.groups = groups}, .backend = &device, .kind = WeightKind::conv_transposed};
    return test::refusal([&] { ops::conv(Tensor::zeros(device, x), weight, bias, spec); });
  };
  EXPECT_EQ(refusal({1, 5, 5}, {6, 4, 3}, {}), "conv1d: x [1, 5, 5] has 5 channels, weight w [6, 4, 3] needs 6");
  EXPECT_EQ(refusal({1, 5, 6}, {6, 4, 3}, {}, 4), "conv1d: 4 groups do not divide the 6 rows of weight w [6, 4, 3]");
  EXPECT_EQ(refusal({1, 5, 6}, {6, 4, 3}, {}, 2, Tensor::zeros(device, {4})), "conv1d: bias is f32 [4], expected f32 [8]");
  EXPECT_EQ(refusal({1, 5, 6}, {6, 4, 3}, {.columns = {.edge = ConvSpec::Edge::nearest}}),
            "conv1d: a transposed convolution does not support padding by repeated edges (weight w)");
  EXPECT_EQ(refusal({1, 5, 5, 6}, {6, 4, 3, 3}, {.resize_to = {9, 9}}), "conv2d: x [1, 5, 5, 6] cannot be resized to 9 × 9");
  EXPECT_EQ(refusal({1, 2, 6}, {6, 4, 3}, {.columns = {.before = 2, .after = 2}}),
            "conv1d: x [1, 2, 6] yields no output with the kernel of w [6, 4, 3]");
  EXPECT_EQ(refusal({1, 0, 6}, {6, 4, 3}, {.columns = {.stride = 3}}),
            "conv1d: x [1, 0, 6] yields no output with the kernel of w [6, 4, 3]");
}

}  // namespace
}  // namespace hearth
