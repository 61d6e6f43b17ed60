#include "ops/matmul.h"

#include "ops/norm.h"
#include "ops/pointwise.h"
#include "ops/random_test.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

BACKEND_TEST(Linear, equals_the_reference_on_random_shapes) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    const int64_t B = random.between(1, 3), M = random.between(1, round % 5 == 0 ? 150 : 20),
                  K = random.between(1, round % 7 == 0 ? 2600 : 90), N = random.between(1, 130);
    const DType dtype = random.dtype(), out = random.dtype();
    const WeightForm form = random.form(device);
    const auto x = random.normal(device, {B, M, K}, dtype);
    const auto w = random.weight(device, {N, K}, WeightKind::linear, form);
    const auto bias = random.normal(device, {N}), per_image = random.normal(device, {B, N}),
               residual = random.normal(device, {B, M, N}, random.dtype());
    const auto gate = random.normal(device, {B, N});
    const bool with_bias = random.chance(), with_image = random.chance(), with_gate = random.chance(), with_residual = random.chance();
    const auto act = Activation(random.between(0, test::activations - 1));
    const auto run = [&](const Tensor& in, const Weight& weight, const Tensor& b, const Tensor& image, const Tensor& g, const Tensor& r) {
      return ops::linear(in, weight, with_bias ? b : Tensor(),
                         {.alpha = 0.7f,
                          .activation = act,
                          .per_image = with_image ? image : Tensor(),
                          .gate = with_gate ? g : Tensor(),
                          .residual = with_residual ? r : Tensor(),
                          .out = out});
    };
    SCOPED_TRACE(fmt::format("B {} M {} K {} N {} x {} w {} factors {} y {} act {}", B, M, K, N, name_of(dtype), name_of(form.hold),
                             name_of(form.factors), name_of(out), int(act)));
    const Tensor y = run(x.device, w.device, bias.device, per_image.device, gate.device, residual.device);
    EXPECT_EQ(y.dtype(), out);
    EXPECT_CLOSE(y, run(x.reference, w.reference, bias.reference, per_image.reference, gate.reference, residual.reference),
                 test::op_tolerance(out));
  }
}

BACKEND_TEST(Linear, flattens_leading_axes_and_accepts_views) {
  Random random(2);
  const auto x = random.normal(device, {2, 3, 4, 10});
  const auto w = random.weight(device, {6, 10}, WeightKind::linear, {});
  const Tensor y = ops::linear(x.device, w.device);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 4, 6}));
  EXPECT_CLOSE(y, ops::linear(x.reference, w.reference), 2e-6);
  EXPECT_CLOSE(ops::linear(x.device.permute({1, 0, 2, 3}), w.device), ops::linear(x.reference.permute({1, 0, 2, 3}), w.reference), 2e-6);
  EXPECT_CLOSE(ops::linear(x.device.slice(1, 1, 3), w.device), ops::linear(x.reference.slice(1, 1, 3), w.reference), 2e-6);
  EXPECT_EQ(ops::linear(Tensor::empty(device, {10}), w.device).shape(), (Shape{6}));
  EXPECT_EQ(ops::linear(Tensor::empty(device, {10}, DType::f16), w.device).dtype(), DType::f32);
  EXPECT_EQ(ops::linear(Tensor::empty(device, {0, 10}), w.device).shape(), (Shape{0, 6}));
  EXPECT_EQ(ops::linear(Tensor::empty(device, {2, 0, 10}), w.device).shape(), (Shape{2, 0, 6}));
}

// A vector is one image; otherwise the first axis of y counts the images.
BACKEND_TEST(Linear, adds_views_and_one_row_per_image) {
  const Tensor ones = Tensor::from(device, {2, 3}, std::vector<float>(6, 1));
  const Weight w{
      .name = "w", .shape = ones.shape(), .prepared = device.prepare(ones, WeightKind::linear, {.hold = DType::f32}), .backend = &device};
  const Tensor one = Tensor::from(device, {3}, std::vector<float>{1, 2, 3}), rows = Tensor::zeros(device, {2, 2, 3});
  EXPECT_EQ(ops::linear(one, w, {}, {.per_image = Tensor::from(device, {1, 2}, std::vector<float>{10, 20})}).to_vector(),
            (std::vector<float>{16, 26}));
  EXPECT_EQ(ops::linear(rows, w, {}, {.per_image = Tensor::from(device, {2, 2}, std::vector<float>{10, 20, 30, 40})}).to_vector(),
            (std::vector<float>{10, 20, 10, 20, 30, 40, 30, 40}));
  const Tensor residual = Tensor::from(device, {2, 2, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}).permute({0, 2, 1});
  EXPECT_EQ(ops::linear(rows, w, {}, {.residual = residual}).to_vector(), (std::vector<float>{1, 3, 2, 4, 5, 7, 6, 8}));
}

BACKEND_TEST(Linear, bf16_factors_are_rounded_before_the_product) {
  if (!device.multiplies_bf16()) return;
  const WeightForm form{.hold = DType::bf16, .factors = DType::bf16};
  const Tensor x = Tensor::from(device, {1, 1}, std::vector<float>{1.001f});
  const Weight w{
      .name = "w", .shape = x.shape(), .form = form, .prepared = device.prepare(x, WeightKind::linear, form), .backend = &device};
  EXPECT_EQ(ops::linear(x, w).to_vector(), (std::vector<float>{1}));
}

BACKEND_TEST(Linear, a_prepared_weight_reports_its_bytes) {
  EXPECT_GE(device.prepare(Tensor::zeros(device, {70, 30}), WeightKind::linear, {})->bytes, 70u * 30 * 4);
}

// G-18: only matrices that are not square reveal a wrong orientation.
BACKEND_TEST(Linear, weights_are_out_by_in) {
  const Tensor w = Tensor::from(device, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Weight weight{.name = "w", .shape = w.shape(), .prepared = device.prepare(w, WeightKind::linear, {}), .backend = &device};
  EXPECT_EQ(ops::linear(Tensor::from(device, {1, 3}, std::vector<float>{1, 10, 100}), weight).to_vector(), (std::vector<float>{321, 654}));
}

BACKEND_TEST(Linear, a_normalized_input_equals_a_group_norm_in_front) {
  Random random(4);
  for (int round = 0; round < 12; ++round) {
    const int64_t groups = random.between(1, 4), K = groups * random.between(1, 30), N = random.between(1, 40);
    const DType dtype = random.dtype();
    const auto x = random.normal(device, {random.between(1, 3), random.between(1, 9), random.between(2, 9), K}, dtype, 3);
    const auto w = random.weight(device, {N, K}, WeightKind::linear, {.hold = DType::f32});
    const auto gamma = random.normal(device, {K}), beta = random.normal(device, {K});
    SCOPED_TRACE(fmt::format("x {} {} groups {}", name_of(dtype), x.device.shape(), groups));
    const Tensor y = ops::linear(x.device, w.device, {}, {.out = DType::f32}, {groups, gamma.device, beta.device, 1e-3f, Activation::gelu});
    const Tensor wide = ops::cast(x.device, DType::f32), wide_truth = ops::cast(x.reference, DType::f32);
    EXPECT_CLOSE(
        y,
        ops::linear(ops::group_norm(
                        wide_truth,
                        {.groups = groups, .gamma = gamma.reference, .beta = beta.reference, .eps = 1e-3f, .activation = Activation::gelu}),
                    w.reference),
        2e-6);
    EXPECT_EQ(
        y.to_vector(),
        ops::linear(ops::group_norm(
                        wide, {.groups = groups, .gamma = gamma.device, .beta = beta.device, .eps = 1e-3f, .activation = Activation::gelu}),
                    w.device)
            .to_vector());
  }
}

BACKEND_TEST(Linear, gated_units_equal_the_reference_on_random_shapes) {
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    const int64_t B = random.between(1, 3), M = random.between(1, 30), K = random.between(1, round % 7 == 0 ? 1100 : 90),
                  N = random.between(1, 70);
    const DType dtype = random.dtype(), out = random.dtype();
    const auto x = random.normal(device, {B, M, K}, dtype);
    const auto w = random.weight(device, {2 * N, K}, WeightKind::glu, random.form(device));
    const auto bias = random.normal(device, {2 * N}), image = random.normal(device, {B, 2 * N}),
               residual = random.normal(device, {B, M, N}, random.dtype());
    const auto gate = random.normal(device, {B, N});
    const bool with_bias = random.chance(), with_image = random.chance(), with_gate = random.chance(), with_residual = random.chance();
    const auto act = Activation(random.between(0, test::activations - 1));
    const auto run = [&](const Tensor& in, const Weight& weight, const Tensor& b, const Tensor& i, const Tensor& g, const Tensor& r) {
      return ops::linear(in, weight, with_bias ? b : Tensor(),
                         {.alpha = 0.7f,
                          .activation = act,
                          .per_image = with_image ? i : Tensor(),
                          .gate = with_gate ? g : Tensor(),
                          .residual = with_residual ? r : Tensor(),
                          .out = out});
    };
    SCOPED_TRACE(fmt::format("B {} M {} K {} N {} x {} w {} y {} act {}", B, M, K, N, name_of(dtype), name_of(w.device.form.hold),
                             name_of(out), int(act)));
    const Tensor y = run(x.device, w.device, bias.device, image.device, gate.device, residual.device);
    EXPECT_EQ(y.shape(), (Shape{B, M, N}));
    EXPECT_CLOSE(y, run(x.reference, w.reference, bias.reference, image.reference, gate.reference, residual.reference),
                 test::op_tolerance(out));
  }
}

// Fusing removes the tensor between product and gating; storing it in f32 did not round it.
BACKEND_TEST(Linear, gating_in_the_epilogue_equals_gating_after_it) {
  Random random(6);
  for (const int64_t N : {1, 7, 8, 9, 15, 16, 17, 24, 25, 33, 80}) {
    const WeightForm form = random.form(device);
    const Tensor x = random.normal(device, {2, 21, 96}).device, w = random.normal(device, {2 * N, 96}).device,
                 bias = random.normal(device, {2 * N}).device;
    const auto weight = [&](WeightKind kind) {
      return Weight{
          .name = "w", .shape = w.shape(), .form = form, .prepared = device.prepare(w, kind, form), .backend = &device, .kind = kind};
    };
    const Tensor both = ops::linear(x, weight(WeightKind::linear), bias);
    const std::vector<float> fused = ops::linear(x, weight(WeightKind::glu), bias, {.activation = Activation::gelu}).to_vector(),
                             gates = ops::activate(both.slice(2, N, 2 * N), Activation::gelu).to_vector();
    std::vector<float> apart = both.slice(2, 0, N).to_vector();
    for (size_t i = 0; i < apart.size(); ++i) apart[i] *= gates[i];
    if (device.name() != "cpu") EXPECT_CLOSE(fused, apart, 2e-7);  // its sums are f64, and are rounded in `apart`
    else EXPECT_EQ(fused, apart) << N;
  }
}

BACKEND_TEST(Linear, refuses_invalid_arguments) {
  Random random(3);
  const auto w = random.weight(device, {6, 10}, WeightKind::linear, {});
  const auto conv = random.weight(device, {6, 10, 1, 1}, WeightKind::conv, {});
  const Tensor x = Tensor::zeros(device, {2, 10}), v6 = Tensor::zeros(device, {6});
  EXPECT_THROW(ops::linear(Tensor::zeros(device, {2, 9}), w.device), ShapeError);
  EXPECT_EQ(test::refusal([&] {
              ops::linear(Tensor::zeros(device, {2, 20}), w.device);
            }),
            "linear: x [2, 20] ends in 20 features, weight w [6, 10] needs 10");
  EXPECT_THROW(ops::linear(x, conv.device), ShapeError);
  EXPECT_THROW(ops::linear(Tensor::zeros(device, {2, 0}), {.name = "w", .shape = {6, 0}, .backend = &device}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, Tensor::zeros(device, {7})), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, Tensor::zeros(device, {6}, DType::f16)), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.residual = Tensor::zeros(device, {6, 2})}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.per_image = Tensor::zeros(device, {3, 6})}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.gate = Tensor::zeros(device, {3, 6})}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.gate = Tensor::zeros(device, {2, 6}, DType::bf16)}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.out = DType::i32}), ShapeError);
  EXPECT_EQ(test::refusal([&] { ops::linear(Tensor(), w.device); }), "linear: x is undefined");
  EXPECT_EQ(test::refusal([&] { ops::linear(Tensor::zeros(device, {}), w.device); }),
            "linear: x [] ends in 0 features, weight w [6, 10] needs 10");
  EXPECT_THROW(ops::linear(x, w.device, v6, {.residual = Tensor::zeros(device, {2, 6}, DType::i32)}), ShapeError);
  // Vectors are read in place.
  const Tensor columns = Tensor::zeros(device, {6, 2});
  EXPECT_THROW(ops::linear(x, w.device, columns.slice(1, 0, 1).permute({1, 0}).slice(0, 0, 1)), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.per_image = columns.permute({1, 0})}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {.per_image = Tensor::zeros(device, {2, 6}, DType::f16)}), ShapeError);
  EXPECT_THROW(ops::linear(x, random.weight(device, {5, 10}, WeightKind::glu, {.hold = DType::f32}).device), ShapeError);
  const auto glu = random.weight(device, {6, 10}, WeightKind::glu, {.hold = DType::f32});
  EXPECT_THROW(ops::linear(x, glu.device, Tensor::zeros(device, {3})), ShapeError);
  EXPECT_THROW(ops::linear(x, glu.device, {}, {.residual = Tensor::zeros(device, {2, 6})}), ShapeError);
  EXPECT_THROW(ops::linear(x, glu.device, {}, {.per_image = Tensor::zeros(device, {2, 3})}), ShapeError);
  EXPECT_THROW(ops::linear(x, glu.device, {}, {.gate = Tensor::zeros(device, {2, 6})}), ShapeError);
  const Tensor v10 = Tensor::zeros(device, {10});
  EXPECT_THROW(ops::linear(x, w.device, v6, {}, {.groups = 3, .gamma = v10, .beta = v10}), ShapeError);
  EXPECT_THROW(ops::linear(x, w.device, v6, {}, {.groups = 2, .gamma = v10, .beta = v6}), ShapeError);
  EXPECT_THROW(ops::linear(v10, w.device, v6, {}, {.groups = 2, .gamma = v10, .beta = v10}), ShapeError);
  EXPECT_THROW(ops::linear(Tensor::zeros(device, {2, 10}, DType::i32), w.device), ShapeError);
}

}  // namespace
}  // namespace hearth
