// Addends of epilogues, and branches of weights, which equal products with the merged weight.
#include "ops/branch.h"

#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/spec_test.h"
#include "support/complaint.h"

namespace hearth {
namespace {

using test::Random;

Activation some_activation(Random& random) { return Activation(random.between(0, test::activations - 1)); }

BACKEND_TEST(Addend, equals_the_reference_on_random_shapes) {
  Random random(91);
  for (int round = 0; round < 60; ++round) {
    const int64_t B = random.between(1, 3), M = random.between(1, round % 5 == 0 ? 150 : 20), K = random.between(1, 90),
                  N = random.between(1, 130);
    const WeightKind kind = round % 3 == 0 ? WeightKind::glu : WeightKind::linear;
    const int64_t rows = kind == WeightKind::glu ? 2 * N : N;
    const DType out = random.dtype();
    const auto x = random.normal(device, {B, M, K}, random.dtype());
    const auto w = random.weight(device, {rows, K}, kind, random.form(device));
    const auto bias = random.normal(device, {rows}), addend = random.normal(device, {B, M, rows}), gate = random.normal(device, {B, N}),
               residual = random.normal(device, {B, M, N}, random.dtype());
    const bool with_gate = random.chance(), with_residual = random.chance();
    const Activation act = some_activation(random);
    const auto run = [&](const Tensor& in, const Weight& weight, const Tensor& b, const Tensor& a, const Tensor& g, const Tensor& r) {
      return ops::linear(in, weight, b,
                         {.alpha = 0.7f,
                          .activation = act,
                          .addend = a,
                          .gate = with_gate ? g : Tensor(),
                          .residual = with_residual ? r : Tensor(),
                          .out = out});
    };
    SCOPED_TRACE(fmt::format("B {} M {} K {} N {} act {} y {}", B, M, K, N, int(act), name_of(out)));
    EXPECT_CLOSE(run(x.device, w.device, bias.device, addend.device, gate.device, residual.device),
                 run(x.reference, w.reference, bias.reference, addend.reference, gate.reference, residual.reference),
                 test::op_tolerance(out));
  }
}

// Large enough to be normalized in strips.
BACKEND_TEST(Addend, of_products_and_convolutions_after_a_norm) {
  Random random(92);
  for (const auto& [B, H, W, C] : {std::array<int64_t, 4>{2, 6, 5, 8}, std::array<int64_t, 4>{1, 140, 130, 480}}) {
    if (H > 100 && device.name() != "cpu") continue;
    const auto x = random.normal(device, {B, H, W, C}), addend = random.normal(device, {B, H, W, 6});
    const auto w = random.weight(device, {6, C, 3, 3}, WeightKind::conv, {}), m = random.weight(device, {6, C}, WeightKind::linear, {});
    const GroupNormSpec norm{.groups = 4, .activation = Activation::silu};
    const auto conv = [&](const Tensor& in, const Weight& weight, const Tensor& a) {
      return ops::conv(in, weight, {}, ConvSpec::same(3), {.activation = Activation::silu, .addend = a}, norm);
    };
    const auto linear = [&](const Tensor& in, const Weight& weight, const Tensor& a) {
      return ops::linear(in, weight, {}, {.activation = Activation::silu, .addend = a}, norm);
    };
    EXPECT_CLOSE(conv(x.device, w.device, addend.device), conv(x.reference, w.reference, addend.reference), 1e-5);
    EXPECT_CLOSE(linear(x.device, m.device, addend.device), linear(x.reference, m.reference, addend.reference), 1e-5);
  }
}

BACKEND_TEST(Addend, of_the_wrong_shape_is_refused) {
  const Weight w = test::weight_of(device, {2, 3}, {1, 2, 3, 4, 5, 6}, WeightKind::linear);
  const Tensor x = Tensor::zeros(device, {2, 4, 3});
  EXPECT_EQ(test::complaint_of([&] {
              ops::linear(x, w, {}, {.addend = Tensor::zeros(device, {2, 2})});
            }),
            "ShapeError: linear: addend is f32 [2, 2], expected f32 [2, 4, 2]");
  const Epilogue both{.per_image = Tensor::zeros(device, {2, 2}), .addend = Tensor::zeros(device, {2, 4, 2})};
  EXPECT_EQ(test::complaint_of([&] { ops::linear(x, w, {}, both); }),
            "ShapeError: linear: per_image and addend are both given, expected one of them");
}

// W + up · down in f64, of matrices [N, K] or kernels [N, K, …] alike.
std::vector<float> merged(const std::vector<float>& w, const std::vector<float>& down, const std::vector<float>& up, int64_t N, int64_t R) {
  const size_t K = w.size() / size_t(N);
  std::vector<float> sum = w;
  for (size_t n = 0; n < size_t(N); ++n)
    for (size_t k = 0; k < K; ++k) {
      double value = w[n * K + k];
      for (size_t r = 0; r < size_t(R); ++r) value += double(up[n * size_t(R) + r]) * double(down[r * K + k]);
      sum[n * K + k] = float(value);
    }
  return sum;
}

struct Branched {
  Weight with_branch, merged;  // the second on the reference backend
};
Branched branched(Backend& device, Random& random, const Shape& shape, WeightKind kind, int64_t R) {
  Shape low = shape;
  low[0] = R;
  const auto w = random.normal(device, shape, DType::f32, 0.2f), down = random.normal(device, low, DType::f32, 0.2f),
             up = random.normal(device, {shape[0], R}, DType::f32, 0.3f);
  const auto values = [](const Random::Pair& p) { return p.reference.to_vector(); };
  const WeightKind down_kind = kind == WeightKind::conv ? WeightKind::conv : WeightKind::linear;
  Weight branch = test::weight_of(device, shape, values(w), kind);
  branch.branch = std::make_shared<WeightBranch>(WeightBranch{test::weight_of(device, low, values(down), down_kind),
                                                              test::weight_of(device, {shape[0], R}, values(up), WeightKind::linear)});
  return {branch, test::weight_of(test::reference_backend(), shape, merged(values(w), values(down), values(up), shape[0], R), kind)};
}

BACKEND_TEST(Branch, equals_a_product_with_the_merged_weight) {
  Random random(93);
  for (int round = 0; round < 40; ++round) {
    const int64_t B = random.between(1, 3), M = random.between(1, 40), K = random.between(1, 90), N = random.between(1, 70),
                  R = random.between(1, 40);
    const WeightKind kind = round % 3 == 0 ? WeightKind::glu : WeightKind::linear;
    const int64_t rows = kind == WeightKind::glu ? 2 * N : N;
    const auto [with, whole] = branched(device, random, {rows, K}, kind, R);
    const auto x = random.normal(device, {B, M, K}), bias = random.normal(device, {rows}), image = random.normal(device, {B, rows}),
               gate = random.normal(device, {B, N}), residual = random.normal(device, {B, M, N});
    const bool with_image = random.chance(), with_gate = random.chance(), with_residual = random.chance(), with_norm = round % 4 == 0;
    const Activation act = random.chance() ? Activation::none : some_activation(random);
    const auto run = [&](const Tensor& in, const Weight& weight, const Tensor& b, const Tensor& i, const Tensor& g, const Tensor& r) {
      return ops::linear(in, weight, b,
                         {.alpha = 0.6f,
                          .activation = act,
                          .per_image = with_image ? i : Tensor(),
                          .gate = with_gate ? g : Tensor(),
                          .residual = with_residual ? r : Tensor()},
                         {.groups = with_norm ? 1 : 0});
    };
    SCOPED_TRACE(fmt::format("B {} M {} K {} N {} R {} act {}", B, M, K, N, R, int(act)));
    EXPECT_CLOSE(run(x.device, with, bias.device, image.device, gate.device, residual.device),
                 run(x.reference, whole, bias.reference, image.reference, gate.reference, residual.reference), 2e-5);
  }
}

BACKEND_TEST(Branch, of_some_of_several_products_with_one_x) {
  Random random(94);
  for (const int64_t M : {1, 2, 40}) {
    const auto [q, whole_q] = branched(device, random, {24, 33}, WeightKind::linear, 4);
    const auto [v, whole_v] = branched(device, random, {9, 33}, WeightKind::linear, 7);
    const auto k = random.weight(device, {24, 33}, WeightKind::linear, {});
    const auto x = random.normal(device, {M, 33}), bias = random.normal(device, {24});
    const Tensor none;
    const auto ys = ops::linears(x.device, {{q, bias.device, {.activation = Activation::silu}}, {k.device, none}, {v, none}});
    EXPECT_CLOSE(ys[0], ops::linear(x.reference, whole_q, bias.reference, {.activation = Activation::silu}), 1e-5);
    EXPECT_EQ(ys[1].to_vector(), ops::linears(x.device, {{k.device, none}})[0].to_vector());
    EXPECT_CLOSE(ys[2], ops::linear(x.reference, whole_v), 1e-5);
  }
}

BACKEND_TEST(Branch, of_convolutions) {
  Random random(95);
  for (int round = 0; round < 24; ++round) {
    const int64_t C = random.between(1, 20), O = random.between(1, 40), taps = round % 3 == 0 ? 1 : 3, B = random.between(1, 2);
    const auto [with, whole] = branched(device, random, {O, C, taps, taps}, WeightKind::conv, random.between(1, 12));
    ConvSpec spec = ConvSpec::same(taps);
    if (round % 4 == 1) spec = ConvSpec::plane(2, {0, 0, 1, 1});
    if (round % 4 == 2) spec = spec.resized(14, 18);
    const auto x = random.normal(device, {B, 7, 9, C}), bias = random.normal(device, {O}), image = random.normal(device, {B, O});
    const Activation act = random.chance() ? Activation::none : Activation::silu;
    const GroupNormSpec norm{.groups = round % 4 == 3 ? 1 : 0, .activation = Activation::silu};
    const Tensor y = ops::conv(x.device, with, bias.device, spec, {.activation = act, .per_image = image.device}, norm);
    EXPECT_CLOSE(y, ops::conv(x.reference, whole, bias.reference, spec, {.activation = act, .per_image = image.reference}, norm), 2e-5);
  }
}

// A row has the same bits whatever rows are computed with it, and however many branches.
BACKEND_TEST(Branch, is_the_same_alone_and_in_a_batch) {
  Random random(96);
  const auto [w, whole] = branched(device, random, {40, 64}, WeightKind::glu, 16);
  const auto x = random.normal(device, {3, 17, 64});
  const Tensor all = ops::linear(x.device, w, {}, {.activation = Activation::gelu});
  const Tensor one = ops::linear(x.device.slice(0, 1, 2), w, {}, {.activation = Activation::gelu});
  EXPECT_EQ(one.to_vector(), all.slice(0, 1, 2).to_vector());
}

}  // namespace
}  // namespace hearth
