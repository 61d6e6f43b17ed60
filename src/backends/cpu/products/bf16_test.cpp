// Products of bf16 factors on each kernel path that has them, including the emulated tiles. They are compared with the reference backend,
// which rounds factors in the same way or, if that would take too long, with f32 products of values rounded before.
#include "backends/cpu/products/bf16.h"

#include <gtest/gtest.h>

#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/random_test.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

constexpr WeightForm bf16{.hold = DType::bf16, .factors = DType::bf16};

class Bf16Test : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    owned = make(2);
    if (!owned) GTEST_SKIP() << "this CPU lacks " << GetParam();
  }
  std::unique_ptr<Backend> make(int threads) { return test::make_test_backend(std::string("cpu_") + GetParam(), threads); }
  Backend& device() { return *owned; }
  std::unique_ptr<Backend> owned;
};

INSTANTIATE_TEST_SUITE_P(paths, Bf16Test, ::testing::Values("avx512bf16", "amx", "emulated"));

TEST_P(Bf16Test, linear_at_the_edges_of_tiles_panels_and_chunks) {
  Random random(31);
  for (const int64_t M : {1, 11, 12, 15, 16, 17, 31, 32, 33, 65})
    for (const int64_t N : {1, 15, 16, 17, 31, 32, 33, 49, 65})
      for (const int64_t K : {1, 2, 31, 32, 33, 1023, 1024, 1025, 2050}) {
        if ((M * 7 + N * 3 + K) % 6 != 0) continue;  // a sixth of the combinations, evenly spread
        const DType type = random.dtype(), out = random.dtype();
        const auto x = random.normal(device(), {1, M, K}, type), residual = random.normal(device(), {1, M, N}, type);
        const auto w = random.weight(device(), {N, K}, WeightKind::linear, bf16);
        const auto bias = random.normal(device(), {N});
        SCOPED_TRACE(fmt::format("M {} N {} K {} x {} y {}", M, N, K, name_of(type), name_of(out)));
        EXPECT_CLOSE(
            ops::linear(x.device, w.device, bias.device, {.activation = Activation::silu, .residual = residual.device, .out = out}),
            ops::linear(x.reference, w.reference, bias.reference,
                        {.activation = Activation::silu, .residual = residual.reference, .out = out}),
            test::op_tolerance(out));
      }
}

// Images together and separately, rows shorter and longer than a tile, strides, resizing, and few or odd numbers of channels.
TEST_P(Bf16Test, convolutions) {
  Random random(32);
  struct Layer {
    int64_t C, O, H, W, kernel, stride, resize;
  };
  for (const Layer& l :
       {Layer{32, 20, 8, 8, 3, 1, 0}, Layer{17, 33, 5, 16, 3, 1, 0}, Layer{40, 16, 9, 21, 3, 2, 0}, Layer{3, 40, 12, 19, 3, 1, 0},
        Layer{15, 8, 7, 7, 3, 2, 0}, Layer{16, 8, 6, 33, 3, 1, 0}, Layer{64, 48, 6, 6, 3, 1, 12}, Layer{24, 70, 5, 9, 1, 1, 0},
        Layer{34, 10, 1, 50, 1, 1, 0}, Layer{20, 12, 9, 9, 5, 3, 0}}) {
    const auto x = random.normal(device(), {3, l.H, l.W, l.C}, random.dtype()), bias = random.normal(device(), {l.O});
    const auto w = random.weight(device(), {l.O, l.C, l.kernel, l.kernel}, WeightKind::conv, bf16);
    ConvSpec spec = ConvSpec::same(l.kernel);
    spec.rows.stride = spec.columns.stride = l.stride;
    if (l.resize) spec.resize_to = {l.resize, l.resize + 3};
    SCOPED_TRACE(fmt::format("C {} O {} H {} W {} kernel {} stride {} resize {}", l.C, l.O, l.H, l.W, l.kernel, l.stride, l.resize));
    EXPECT_CLOSE(ops::conv(x.device, w.device, bias.device, spec, {.out = DType::f32}),
                 ops::conv(x.reference, w.reference, bias.reference, spec, {.out = DType::f32}), 2e-6);
  }
}

TEST_P(Bf16Test, left_sides_of_many_strips) {
  if (std::string(GetParam()) == "emulated") GTEST_SKIP() << "emulated tiles are too slow for sizes beyond a strip";
  Random random(33);
  const auto rounded = [](const Tensor& x) { return ops::cast(ops::cast(x, DType::bf16), DType::f32); };
  const auto weights = [&](const Shape& shape, WeightKind kind) {  // with bf16 factors, and the same values as f32
    const Tensor w = random.normal(device(), shape, DType::f32, 0.1f).device;
    const auto make = [&](const WeightForm& form) {
      return Weight{
          .name = "w", .shape = shape, .form = form, .prepared = device().prepare(w, kind, form), .backend = &device(), .kind = kind};
    };
    return std::pair(make(bf16), make({.hold = DType::bf16}));
  };
  const Tensor image = random.normal(device(), {2, 310, 270, 32}).device, rows = random.normal(device(), {2, 9000, 513}).device;
  const auto conv = weights({12, 32, 3, 3}, WeightKind::conv), flat = weights({12, 32, 1, 1}, WeightKind::conv),
             linear = weights({20, 513}, WeightKind::linear);
  const Tensor per_image = random.normal(device(), {2, 12}).device;
  for (const int64_t stride : {1, 2}) {
    ConvSpec spec = ConvSpec::same(3);
    spec.rows.stride = spec.columns.stride = stride;
    EXPECT_CLOSE(ops::conv(image, conv.first, {}, spec, {.per_image = per_image}),
                 ops::conv(rounded(image), conv.second, {}, spec, {.per_image = per_image}), 2e-6);
  }
  EXPECT_CLOSE(ops::conv(image, flat.first, {}, {}), ops::conv(rounded(image), flat.second, {}, {}), 2e-6);
  EXPECT_CLOSE(ops::linear(rows, linear.first), ops::linear(rounded(rows), linear.second), 2e-6);
}

// The ops of a network, from the same values on a given backend.
std::vector<Tensor> everything(Backend& device, const Tensor& x) {
  Random random(34);
  const int64_t B = x.size(0);
  const auto weight = [&](const Shape& shape, WeightKind kind) { return random.weight(device, shape, kind, bf16).device; };
  const Tensor tokens = x.view({B, 9 * 23, 48}), q = x.view({B, 9 * 23, 3, 16});
  return {ops::linear(tokens, weight({70, 48}, WeightKind::linear)),
          ops::conv(x, weight({36, 48, 3, 3}, WeightKind::conv), {}, ConvSpec::same(3)),
          ops::conv(x, weight({20, 48, 1, 1}, WeightKind::conv), {}, {}), ops::attention(q, q, q, {.scale = 0.25f, .factors = DType::bf16}),
          ops::attention(q, q, q, {.scale = 0.25f, .mask = Mask::causal, .factors = DType::bf16})};
}

TEST_P(Bf16Test, independent_of_threads_and_batch) {
  const auto one = make(1);
  const Tensor x = Random(35).normal(*one, {3, 9, 23, 48}).device;
  const std::vector<Tensor> expected = everything(*one, x);
  for (const int threads : {2, 3, 8}) {
    const auto many = make(threads);
    const std::vector<Tensor> made = everything(*many, Random(35).normal(*many, {3, 9, 23, 48}).device);
    for (size_t i = 0; i < made.size(); ++i)
      EXPECT_EQ(made[i].to_vector(), expected[i].to_vector()) << i << " with " << threads << " threads";
  }
  for (int64_t b = 0; b < 3; ++b) {
    const std::vector<Tensor> single = everything(*one, ops::contiguous(x.slice(0, b, b + 1)));
    for (size_t i = 0; i < single.size(); ++i)
      EXPECT_EQ(single[i].to_vector(), expected[i].slice(0, b, b + 1).to_vector()) << i << ", image " << b;
  }
}

// G-79: scores far beyond the range of exp, and keys that differ by little.
TEST_P(Bf16Test, scores_of_300000_keep_their_differences) {
  const Tensor q = Tensor::from(device(), {1, 1, 1, 2}, std::vector<float>{512, 1});
  const Tensor k = Tensor::from(device(), {1, 2, 1, 2}, std::vector<float>{600, 0, 600, 1});
  const Tensor v = Tensor::from(device(), {1, 2, 1, 2}, std::vector<float>{1, 0, 0, 1});
  EXPECT_CLOSE(ops::attention(q, k, v, {.scale = 1, .factors = DType::bf16}), (std::vector<float>{0.26894142f, 0.73105858f}), 4e-3);
}

TEST_P(Bf16Test, a_weight_has_two_bytes_per_value_and_padding) {
  const auto bytes = [&](const Shape& shape, WeightKind kind) {
    return device().prepare(Tensor::zeros(device(), shape), kind, bf16)->bytes;
  };
  EXPECT_EQ(bytes({64, 96}, WeightKind::linear), 64u * 96 * 2);
  EXPECT_EQ(bytes({48, 64}, WeightKind::linear), 48u * 64 * 2);  // the last panel is narrow
  EXPECT_EQ(bytes({33, 64}, WeightKind::linear), 48u * 64 * 2);
  EXPECT_EQ(bytes({32, 32, 3, 3}, WeightKind::conv), 32u * 32 * 9 * 2);
  const auto avx2 = test::make_test_backend("cpu_avx2");
  EXPECT_THROW(avx2->prepare(Tensor::zeros(*avx2, {2, 2}), WeightKind::linear, bf16), UnsupportedError);
}

}  // namespace
}  // namespace hearth
