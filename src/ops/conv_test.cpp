#include "ops/conv.h"

#include "ops/norm.h"
#include "ops/random_test.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(Conv2d, equals_the_reference_on_random_shapes) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const int64_t B = random.between(1, 2), C = random.between(1, round % 6 == 0 ? 140 : 20),
                  O = random.between(1, round % 4 == 0 ? 70 : 9);
    const int64_t kh = random.between(1, 4), kw = random.chance() ? kh : random.between(1, 4), H = random.between(kh, 13),
                  W = random.between(kw, 13);
    ConvSpec spec =
        ConvSpec::plane(random.between(1, 3), {random.between(0, 2), random.between(0, 2), random.between(0, 2), random.between(0, 2)});
    if (random.chance()) spec.resize_to = {random.between(kh, 21), random.between(kw, 21)};
    const DType dtype = random.dtype(), out = random.dtype();
    const auto x = random.normal(device, {B, H, W, C}, dtype);
    const auto w = random.weight(device, {O, C, kh, kw}, WeightKind::conv, random.form(device));
    const auto bias = random.normal(device, {O}), per_image = random.normal(device, {B, O}), gate = random.normal(device, {B, O});
    const bool with_bias = random.chance(), with_image = random.chance();
    const auto act = Activation(random.between(0, test::activations - 1));
    SCOPED_TRACE(fmt::format("x {} {} w {} factors {} stride {} padding {} {} {} {} resize {} {}", name_of(dtype), x.device.shape(),
                             w.device.shape, name_of(w.device.form.factors), spec.rows.stride, spec.rows.before, spec.columns.before,
                             spec.rows.after, spec.columns.after, spec.resize_to[0], spec.resize_to[1]));
    const Epilogue plain{.activation = act, .out = out};
    Epilogue on_device = plain, on_truth = plain;
    if (with_image) on_device.per_image = per_image.device, on_truth.per_image = per_image.reference;
    Tensor y = ops::conv(x.device, w.device, with_bias ? bias.device : Tensor(), spec, on_device);
    EXPECT_CLOSE(y, ops::conv(x.reference, w.reference, with_bias ? bias.reference : Tensor(), spec, on_truth), test::op_tolerance(out));
    const auto residual = random.normal(device, y.shape(), random.dtype());
    on_device.residual = residual.device, on_truth.residual = residual.reference;
    on_device.gate = gate.device, on_truth.gate = gate.reference;
    y = ops::conv(x.device, w.device, with_bias ? bias.device : Tensor(), spec, on_device);
    EXPECT_CLOSE(y, ops::conv(x.reference, w.reference, with_bias ? bias.reference : Tensor(), spec, on_truth), test::op_tolerance(out));
  }
}

// Integer division must not lose the border: every output position counts its taps.
BACKEND_TEST(Conv2d, padding_is_zeros_and_reaches_each_side) {
  const Tensor x = Tensor::from(device, {1, 2, 2, 1}, std::vector<float>{1, 1, 1, 1}),
               ones = Tensor::from(device, {1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  const Weight w{.name = "w",
                 .shape = ones.shape(),
                 .prepared = device.prepare(ones, WeightKind::conv, {}),
                 .backend = &device,
                 .kind = WeightKind::conv};
  EXPECT_EQ(ops::conv(x, w, {}, ConvSpec::plane(1, {0, 1, 2, 1})).to_vector(), (std::vector<float>{4, 4, 2, 2}));
  EXPECT_EQ(ops::conv(x, w, {}, ConvSpec::plane(1, {1, 0, 1, 2})).to_vector(), (std::vector<float>{4, 2, 4, 2}));
}

// Each axis has its own kernel, padding and size, and a kernel may be as large as its axis.
BACKEND_TEST(Conv2d, y_has_one_position_per_placement_of_the_kernel) {
  Random random(13);
  const auto w = random.weight(device, {4, 3, 3, 2}, WeightKind::conv, {.hold = DType::f32});
  const auto shape = [&](const Shape& x, const ConvSpec& spec) { return ops::conv(Tensor::zeros(device, x), w.device, {}, spec).shape(); };
  EXPECT_EQ(shape({2, 5, 7, 3}, {}), (Shape{2, 3, 6, 4}));
  EXPECT_EQ(shape({1, 3, 2, 3}, {}), (Shape{1, 1, 1, 4}));
  EXPECT_EQ(shape({1, 1, 1, 3}, ConvSpec::plane(1, {2, 0, 0, 1})), (Shape{1, 1, 1, 4}));
  EXPECT_EQ(shape({1, 6, 6, 3}, ConvSpec::plane(2)), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(shape({1, 5, 7, 3}, ConvSpec::plane(1, {0, 0, 1, 0}).resized(9, 4)), (Shape{1, 8, 3, 4}));
  EXPECT_EQ(shape({0, 5, 7, 3}, {}), (Shape{0, 3, 6, 4}));
  const auto wide = random.weight(device, {64, 64, 3, 3}, WeightKind::conv, {.hold = DType::f32});
  EXPECT_EQ(ops::conv(Tensor::zeros(device, {0, 9, 9, 64}), wide.device, {}, ConvSpec::same(3)).shape(), (Shape{0, 9, 9, 64}));
}

BACKEND_TEST(Conv2d, resizes_first_also_to_a_single_row) {
  const Tensor one = Tensor::from(device, {1, 1, 1, 1}, std::vector<float>{1}),
               x = Tensor::from(device, {1, 2, 4, 1}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  const Weight w{.name = "w",
                 .shape = one.shape(),
                 .prepared = device.prepare(one, WeightKind::conv, {}),
                 .backend = &device,
                 .kind = WeightKind::conv};
  EXPECT_EQ(ops::conv(x, w, {}, {.resize_to = {1, 2}}).to_vector(), (std::vector<float>{1, 3}));
  EXPECT_EQ(ops::conv(x, w, {}, {.resize_to = {2, 1}}).to_vector(), (std::vector<float>{1, 5}));
}

BACKEND_TEST(Conv2d, bf16_factors_are_rounded_before_the_product) {
  if (!device.multiplies_bf16()) return;
  for (const WeightKind kind : {WeightKind::conv, WeightKind::conv_transposed})
    for (const int64_t groups : {1, 2}) {
      if (groups > 1 && device.name() == "cpu") continue;  // its factors are f32
      SCOPED_TRACE(fmt::format("{} groups{}", groups, kind == WeightKind::conv ? "" : ", transposed"));
      const WeightForm form{.hold = DType::bf16, .factors = DType::bf16, .groups = groups};
      const std::vector<float> values(size_t(groups), 1.001f);
      const Tensor x = Tensor::from(device, {1, 1, 1, groups}, values), kernel = Tensor::from(device.host(), {groups, 1, 1, 1}, values);
      const Weight w{.name = "w",
                     .shape = kernel.shape(),
                     .form = form,
                     .prepared = device.prepare(kernel, kind, form),
                     .backend = &device,
                     .kind = kind};
      EXPECT_EQ(ops::conv(x, w, {}, {}).to_vector(), std::vector<float>(size_t(groups), 1));
    }
}

BACKEND_TEST(Conv2d, accepts_views_and_keeps_the_dtype_of_x) {
  Random random(14);
  const auto w = random.weight(device, {4, 3, 3, 2}, WeightKind::conv, {.hold = DType::f32});
  const auto x = random.normal(device, {2, 3, 5, 7}), residual = random.normal(device, {2, 4, 3, 6});  // channels first
  const auto dense = [&](const Tensor& t) { return Tensor::from(device, t.shape(), t.to_vector()); };
  const Tensor view = x.device.permute({0, 2, 3, 1}), added = residual.device.permute({0, 2, 3, 1});
  EXPECT_EQ(ops::conv(view, w.device, {}, {}, {.residual = added}).to_vector(),
            ops::conv(dense(view), w.device, {}, {}, {.residual = dense(added)}).to_vector());
  const Tensor half = Tensor::zeros(device, {1, 5, 5, 3}, DType::f16);
  EXPECT_EQ(ops::conv(half, w.device, {}, {}).dtype(), DType::f32);
  EXPECT_EQ(ops::conv(half, w.device, {}, {}, {.out = DType::bf16}).dtype(), DType::bf16);
}

// The norm of the input is a group norm before the convolution: padding stays zero, and the resize comes after the norm.
BACKEND_TEST(Conv2d, a_normalized_input_equals_a_group_norm_in_front) {
  Random random(13);
  for (int round = 0; round < 24; ++round) {
    const int64_t groups = random.between(1, 4), C = groups * random.between(1, round % 4 == 0 ? 40 : 5), O = round % 4 == 0 ? 66 : 7;
    ConvSpec spec =
        ConvSpec::plane(random.between(1, 2), {random.between(0, 2), random.between(0, 2), random.between(0, 2), random.between(0, 2)});
    if (random.chance()) spec.resize_to = {random.between(3, 12), 8};
    const DType dtype = random.dtype();
    const auto x = random.normal(device, {random.between(1, 3), random.between(3, 9), random.between(3, 9), C}, dtype, 3);
    const auto w = random.weight(device, {O, C, 3, 3}, WeightKind::conv, {.hold = DType::f32});
    const auto gamma = random.normal(device, {C}), beta = random.normal(device, {C}), bias = random.normal(device, {O});
    const auto act = random.chance() ? Activation::silu : Activation::none;
    SCOPED_TRACE(fmt::format("x {} {} groups {} stride {}", name_of(dtype), x.device.shape(), groups, spec.rows.stride));
    const Tensor y = ops::conv(x.device, w.device, bias.device, spec, {.out = DType::f32}, {groups, gamma.device, beta.device, 1e-3f, act});
    // The norm's result is not rounded to the dtype of x.
    const Tensor wide = ops::cast(x.device, DType::f32), wide_truth = ops::cast(x.reference, DType::f32);
    EXPECT_CLOSE(
        y,
        ops::conv(ops::group_norm(wide_truth,
                                  {.groups = groups, .gamma = gamma.reference, .beta = beta.reference, .eps = 1e-3f, .activation = act}),
                  w.reference, bias.reference, spec),
        2e-6);
    EXPECT_EQ(
        y.to_vector(),
        ops::conv(ops::group_norm(wide, {.groups = groups, .gamma = gamma.device, .beta = beta.device, .eps = 1e-3f, .activation = act}),
                  w.device, bias.device, spec)
            .to_vector());
  }
}

BACKEND_TEST(Conv2d, refuses_invalid_arguments) {
  Random random(12);
  const auto w = random.weight(device, {4, 3, 3, 3}, WeightKind::conv, {});
  const auto matrix = random.weight(device, {4, 3}, WeightKind::linear, {.hold = DType::f32});
  const Tensor x = Tensor::zeros(device, {1, 5, 5, 3});
  EXPECT_THROW(ops::conv(Tensor::zeros(device, {1, 5, 5, 4}), w.device, {}, {}), ShapeError);
  EXPECT_THROW(ops::conv(Tensor::zeros(device, {5, 5, 3}), w.device, {}, {}), ShapeError);
  EXPECT_THROW(ops::conv(Tensor::zeros(device, {1, 2, 5, 3}), w.device, {}, {}), ShapeError);
  EXPECT_THROW(ops::conv(x, matrix.device, {}, {}), ShapeError);
  EXPECT_THROW(ops::conv(x, w.device, {}, ConvSpec::plane(0)), ShapeError);
  EXPECT_THROW(ops::conv(x, w.device, Tensor::zeros(device, {3}), {}), ShapeError);
  EXPECT_THROW(ops::conv(x, w.device, {}, {}, {.residual = Tensor::zeros(device, {1, 5, 5, 4})}), ShapeError);
  EXPECT_THROW(ops::conv(Tensor::zeros(device, {1, 5, 2, 3}), w.device, {}, {}), ShapeError);
  EXPECT_EQ(test::refusal([&] {
              ops::conv(Tensor::zeros(device, {1, 5, 5, 3}, DType::i32), w.device, {}, {});
            }),
            "conv2d: x [1, 5, 5, 3] is i32, expected f32, f16 or bf16");
  EXPECT_EQ(test::refusal([&] {
              ops::conv(x, w.device, {}, ConvSpec::plane(1, {1, 1, 1, 1}).resized(5, 0));
            }),
            "conv2d: x [1, 5, 5, 3] cannot be resized to 5 × 0");
  EXPECT_THROW(ops::conv(Tensor::zeros(device, {1, 0, 5, 3}), w.device, {}, {.resize_to = {5, 5}}), ShapeError);
  EXPECT_THROW(ops::conv(Tensor::zeros(device, {1, 5, 0, 3}), w.device, {}, {.resize_to = {5, 5}}), ShapeError);
  const Tensor v3 = Tensor::zeros(device, {3});
  EXPECT_THROW(ops::conv(x, w.device, {}, {}, {}, {.groups = 2, .gamma = v3, .beta = v3}), ShapeError);
  EXPECT_THROW(ops::conv(x, w.device, {}, {}, {}, {.groups = -1, .gamma = v3, .beta = v3}), ShapeError);
  EXPECT_THROW(ops::conv(x, w.device, {}, {}, {}, {.groups = 1, .gamma = v3, .beta = Tensor::zeros(device, {4})}), ShapeError);
}

}  // namespace
}  // namespace hearth
