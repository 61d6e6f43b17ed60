// The fields of AttentionSpec, grouped heads, and a v of another width.
#include <cmath>
#include <numeric>

#include "ops/attention.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;

struct Specs {
  AttentionSpec device, reference;
};

// Random fields, with shapes for q [B, T, N, D] and k [B, S, …].
Specs some_fields(Random& random, Backend& device, int64_t B, int64_t T, int64_t S, int64_t N) {
  AttentionSpec spec{.scale = 0.4f};
  if (T == S && random.chance()) spec.mask = Mask::causal;
  if (random.chance()) spec.window = random.between(1, std::max(T, S) + 2);
  if (random.chance()) spec.soft_cap = float(random.between(1, 8)) / 2;
  if (random.chance())
    for (int64_t b = 0; b < B; ++b) spec.key_lengths.push_back(random.between(0, S));
  Specs both{spec, spec};
  if (random.chance()) {
    const auto sinks = random.normal(device, {N});
    both.device.sinks = sinks.device, both.reference.sinks = sinks.reference;
  }
  if (random.chance()) {
    const Shape shape{random.chance() ? B : 1, random.chance() ? N : 1, random.chance() ? T : 1, S};
    std::vector<float> bias = random.normal(device, shape).device.to_vector();
    for (float& b : bias)
      if (random.between(0, 3) == 0) b = -INFINITY;
    both.device.bias = Tensor::from(device, shape, bias), both.reference.bias = Tensor::from(test::reference_backend(), shape, bias);
  }
  return both;
}

std::string described(const AttentionSpec& s) {
  return fmt::format("{}window {} cap {} bias {} lengths {} sinks {}", s.mask == Mask::causal ? "causal " : "", s.window, s.soft_cap,
                     s.bias ? s.bias.shape() : Shape{}, s.key_lengths.size(), bool(s.sinks));
}

BACKEND_TEST(AttentionSpec, equals_the_reference_with_any_fields) {
  Random random(71);
  for (int round = 0; round < 120; ++round) {
    const int64_t B = random.between(1, 3), G = random.between(1, 3), N = G * random.between(1, 4), D = random.between(1, 70),
                  Dv = random.chance() ? D : random.between(1, 70), S = random.between(1, round % 8 == 0 ? 300 : 40),
                  T = random.chance() ? S : random.between(1, 40);
    const DType out = random.dtype();
    const auto q = random.normal(device, {B, T, N, D}, random.dtype()), k = random.normal(device, {B, S, G, D}, random.dtype()),
               v = random.normal(device, {B, S, G, Dv}, random.dtype());
    Specs specs = some_fields(random, device, B, T, S, N);
    const bool bf16 = round % 3 == 0 && device.multiplies_bf16();
    specs.device.out = specs.reference.out = out;
    if (bf16) specs.device.factors = specs.reference.factors = DType::bf16;
    SCOPED_TRACE(fmt::format("B {} T {} S {} N {} G {} D {} Dv {} {} {}", B, T, S, N, G, D, Dv, name_of(out), described(specs.device)));
    test::supported(device, [&] {
      EXPECT_CLOSE(ops::attention(q.device, k.device, v.device, specs.device),
                   ops::attention(q.reference, k.reference, v.reference, specs.reference),
                   bf16 && out != DType::bf16 ? 2e-3 : test::op_tolerance(out));
    });
  }
}

// Query head n uses key/value head n / (N / G).
BACKEND_TEST(AttentionSpec, grouped_heads_equal_repeated_keys_and_values) {
  Random random(72);
  for (const int64_t heads : {2, 3, 8}) {
    const auto q = random.normal(device, {2, 19, 2 * heads, 12}).device, k = random.normal(device, {2, 23, 2, 12}).device,
               v = random.normal(device, {2, 23, 2, 7}).device;
    const auto repeated = [&](const Tensor& x) {
      std::vector<Tensor> all(size_t(2 * heads));
      for (int64_t n = 0; n < 2 * heads; ++n) all[size_t(n)] = x.slice(2, n / heads, n / heads + 1);
      return ops::concat(all, 2);
    };
    test::supported(device, [&] {
      EXPECT_CLOSE(ops::attention(q, k, v, {.scale = 0.3f}), ops::attention(q, repeated(k), repeated(v), {.scale = 0.3f}), 2e-6);
    });
  }
}

BACKEND_TEST(AttentionSpec, fields_that_change_nothing) {
  Random random(73);
  const int64_t T = 21, S = 34;
  const auto q = random.normal(device, {2, T, 4, 10}).device, k = random.normal(device, {2, S, 4, 10}).device,
             v = random.normal(device, {2, S, 4, 10}).device;
  const Tensor plain = ops::attention(q, k, v, {.scale = 0.3f});
  const Tensor no_bias = Tensor::zeros(device, {1, 1, 1, S}), no_sinks = Tensor::from(device, {4}, std::vector<float>(4, -INFINITY));
  for (const AttentionSpec& spec : {AttentionSpec{.scale = 0.3f, .window = S}, AttentionSpec{.scale = 0.3f, .bias = no_bias},
                                    AttentionSpec{.scale = 0.3f, .key_lengths = {S, S}}, AttentionSpec{.scale = 0.3f, .sinks = no_sinks}}) {
    SCOPED_TRACE(described(spec));
    test::supported(device, [&] { EXPECT_CLOSE(ops::attention(q, k, v, spec), plain, 1e-6); });
  }
}

// A key length is equivalent to a shorter k and v; a window and the causal mask to a bias of zeros and −∞.
BACKEND_TEST(AttentionSpec, equivalent_fields) {
  Random random(74);
  const int64_t T = 33;
  const auto q = random.normal(device, {1, T, 2, 10}).device, k = random.normal(device, {1, T, 2, 10}).device,
             v = random.normal(device, {1, T, 2, 10}).device;
  for (const int64_t length : {1, 15, 16, 17, 32}) {
    SCOPED_TRACE(length);
    test::supported(device, [&] {
      EXPECT_CLOSE(ops::attention(q, k, v, {.scale = 0.3f, .key_lengths = {length}}),
                   ops::attention(q, k.slice(1, 0, length), v.slice(1, 0, length), {.scale = 0.3f}), 2e-6);
    });
  }
  for (const int64_t window : {1, 2, 16, 17, 32})
    for (const Mask mask : {Mask::none, Mask::causal}) {
      std::vector<float> bias;
      for (int64_t t = 0; t < T; ++t)
        for (int64_t s = 0; s < T; ++s) bias.push_back(std::abs(t - s) < window && (mask == Mask::none || s <= t) ? 0 : -INFINITY);
      SCOPED_TRACE(fmt::format("window {} {}", window, mask == Mask::causal ? "causal" : ""));
      test::supported(device, [&] {
        EXPECT_CLOSE(ops::attention(q, k, v, {.scale = 0.3f, .mask = mask, .window = window}),
                     ops::attention(q, k, v, {.scale = 0.3f, .bias = Tensor::from(device, {1, 1, T, T}, bias)}), 2e-6);
      });
    }
}

// With q = 0 every score is 0, so that y is the mean of the values attended to.
BACKEND_TEST(AttentionSpec, known_answers) {
  const auto vector = [&](const Shape& shape, const std::vector<float>& values) { return Tensor::from(device, shape, values); };
  const Tensor q = Tensor::zeros(device, {1, 3, 1, 2}), k = Tensor::zeros(device, {1, 4, 1, 2}), v = vector({1, 4, 1, 1}, {0, 1, 2, 3});
  const auto check = [&](const AttentionSpec& spec, const std::vector<float>& y) {
    SCOPED_TRACE(described(spec));
    test::supported(device, [&] { EXPECT_CLOSE(ops::attention(q, k, v, spec), y, 2e-7); });
  };
  check({}, {1.5f, 1.5f, 1.5f});
  check({.window = 1}, {0, 1, 2});
  check({.window = 2}, {0.5f, 1, 2});
  check({.key_lengths = {2}}, {0.5f, 0.5f, 0.5f});
  check({.window = 2, .key_lengths = {2}}, {0.5f, 0.5f, 1});
  check({.bias = vector({1, 1, 1, 4}, {0, std::log(2.0f), -INFINITY, 0})}, {1.25f, 1.25f, 1.25f});
  check({.bias = vector({1, 1, 3, 4}, {0, 0, 0, -INFINITY, 0, 0, -INFINITY, -INFINITY, 0, -INFINITY, 0, 0})}, {1, 0.5f, 5 / 3.0f});
  check({.sinks = vector({1}, {0})}, {1.2f, 1.2f, 1.2f});
  check({.sinks = vector({1}, {std::log(4.0f)})}, {0.75f, 0.75f, 0.75f});
  // Scores 0 and 40 become 0 and 2·tanh(20) = 2; the bias is added after the cap.
  const auto capped = [&](const AttentionSpec& spec, float y) {
    test::supported(device, [&] {
      const Tensor one = vector({1, 1, 1, 1}, {1});
      EXPECT_CLOSE(ops::attention(one, vector({1, 2, 1, 1}, {0, 10}), vector({1, 2, 1, 1}, {0, 1}), spec), std::vector<float>{y}, 1e-6);
    });
  };
  const float weight = std::exp(2.0f);
  capped({.scale = 4, .soft_cap = 2}, weight / (1 + weight));
  capped({.scale = 4, .soft_cap = 2, .bias = vector({1, 1, 1, 2}, {std::log(3.0f), 0})}, weight / (3 + weight));
  capped({.scale = 4, .soft_cap = 2, .sinks = vector({1}, {5})}, weight / (1 + weight + std::exp(5.0f)));
}

BACKEND_TEST(AttentionSpec, a_query_without_keys_gets_zeros) {
  Random random(75);
  const auto q = random.normal(device, {2, 40, 2, 6}).device, k = random.normal(device, {2, 9, 2, 6}).device,
             v = random.normal(device, {2, 9, 2, 6}).device, sinks = random.normal(device, {2}).device;
  std::vector<float> bias(9 * 40, 0.0f);
  std::fill_n(bias.begin() + 9 * 33, 9, -INFINITY);
  // Exactly these rows of y are zero.
  const auto check = [&](const AttentionSpec& spec, auto zero) {
    SCOPED_TRACE(described(spec));
    test::supported(device, [&] {
      const std::vector<float> y = ops::attention(q, k, v, spec).to_vector();
      for (int64_t row = 0; row < 2 * 40; ++row)
        for (int64_t i = 0; i < 12; ++i) ASSERT_EQ(y[size_t(row * 12 + i)] == 0, zero(row / 40, row % 40)) << "row " << row;
    });
  };
  check({.key_lengths = {0, 4}}, [](int64_t b, int64_t) { return b == 0; });
  check({.window = 5}, [](int64_t, int64_t t) { return t > 12; });
  check({.window = 5, .sinks = sinks}, [](int64_t, int64_t t) { return t > 12; });
  check({.bias = Tensor::from(device, {1, 1, 40, 9}, bias)}, [](int64_t, int64_t t) { return t == 33; });
  check({.bias = Tensor::from(device, {1, 1, 40, 9}, bias), .sinks = sinks}, [](int64_t, int64_t t) { return t == 33; });
}

// Bit-identical: keys that a query does not attend to may have any value.
BACKEND_TEST(AttentionSpec, hidden_keys_are_ignored) {
  Random random(76);
  const int64_t T = 50, hidden = 20;
  const auto q = random.normal(device, {1, T, 2, 8}).device, k = random.normal(device, {1, T, 1, 8}).device,
             v = random.normal(device, {1, T, 1, 8}).device;
  std::vector<float> bias(size_t(T), 0.0f);
  bias[hidden] = -INFINITY;
  // Whether each query attends to the key `hidden`. A key that only a bias hides must be finite.
  const auto check = [&](const AttentionSpec& spec, bool spoil_key, auto sees) {
    SCOPED_TRACE(described(spec));
    test::supported(device, [&] {
      const std::vector<float> plain = ops::attention(q, k, v, spec).to_vector();
      const auto filled = [](float value) { return [value](float* x) { std::fill_n(x + hidden * 8, 8, value); }; };
      const Tensor bad_k = spoil_key ? test::edited(k, filled(NAN)) : k, bad_v = test::edited(v, filled(INFINITY));
      const std::vector<float> y = ops::attention(q, bad_k, bad_v, spec).to_vector();
      for (int64_t t = 0; t < T; ++t)
        for (size_t i = size_t(t) * 16; i < size_t(t + 1) * 16; ++i) {
          if (sees(t)) ASSERT_FALSE(std::isfinite(y[i])) << "query " << t;
          else ASSERT_EQ(y[i], plain[i]) << "query " << t;
        }
    });
  };
  check({.scale = 0.3f, .key_lengths = {hidden}}, true, [](int64_t) { return false; });
  check({.scale = 0.3f, .window = 7}, true, [](int64_t t) { return std::abs(t - hidden) < 7; });
  check({.scale = 0.3f, .mask = Mask::causal, .window = 7}, true, [](int64_t t) { return t >= hidden && t < hidden + 7; });
  check({.scale = 0.3f, .bias = Tensor::from(device, {1, 1, 1, T}, bias)}, false, [](int64_t) { return false; });
}

// Bit-identical: an image alone, and in a batch with longer and shorter ones.
BACKEND_TEST(AttentionSpec, images_do_not_depend_on_their_batch) {
  Random random(77);
  const int64_t T = 37, S = 70;
  const std::vector<int64_t> lengths{70, 3, 33};
  const auto q = random.normal(device, {3, T, 4, 16}).device, k = random.normal(device, {3, S, 2, 16}).device,
             v = random.normal(device, {3, S, 2, 16}).device, bias = random.normal(device, {3, 4, T, S}).device,
             sinks = random.normal(device, {4}).device;
  const auto check = [&](const AttentionSpec& all, auto of_image) {
    SCOPED_TRACE(described(all));
    test::supported(device, [&] {
      const Tensor together = ops::attention(q, k, v, all);
      for (int64_t b = 0; b < 3; ++b) {
        const auto image = [b](const Tensor& x) { return x.slice(0, b, b + 1); };
        EXPECT_EQ(ops::attention(image(q), image(k), image(v), of_image(b)).to_vector(), image(together).to_vector()) << b;
      }
    });
  };
  check({.scale = 0.2f}, [&](int64_t) { return AttentionSpec{.scale = 0.2f}; });
  check({.scale = 0.2f, .key_lengths = lengths},
        [&](int64_t b) { return AttentionSpec{.scale = 0.2f, .key_lengths = {lengths[size_t(b)]}}; });
  check({.scale = 0.2f, .soft_cap = 3, .bias = bias, .sinks = sinks},
        [&](int64_t b) { return AttentionSpec{.scale = 0.2f, .soft_cap = 3, .bias = bias.slice(0, b, b + 1), .sinks = sinks}; });
}

BACKEND_TEST(AttentionSpec, refuses_invalid_arguments) {
  const auto zeros = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(device, shape, dtype); };
  const Tensor q = zeros({2, 4, 6, 8}), k = zeros({2, 5, 3, 8}), v = zeros({2, 5, 3, 7});
  const auto refusal = [&](const AttentionSpec& spec) { return test::refusal([&] { ops::attention(q, k, v, spec); }); };
  EXPECT_EQ(test::refusal([&] {
              ops::attention(q, zeros({2, 5, 4, 8}), zeros({2, 5, 4, 8}), {});
            }),
            "attention: q f32 [2, 4, 6, 8], k f32 [2, 5, 4, 8] and v f32 [2, 5, 4, 8] are incompatible, expected k [2, S, G, 8] and v [2, "
            "S, G, Dv] "
            "of f32, f16 or bf16, 6 a multiple of G");
  EXPECT_NE(test::refusal([&] { ops::attention(q, k, zeros({2, 5, 6, 8}), {}); }), "accepted");
  EXPECT_NE(test::refusal([&] { ops::attention(q, zeros({2, 5, 0, 8}), zeros({2, 5, 0, 8}), {}); }), "accepted");
  EXPECT_EQ(refusal({.out = DType::i32}), "attention: y is i32, expected f32, f16 or bf16");
  EXPECT_EQ(refusal({.window = -1}), "attention: window is -1, expected 0 or more");
  EXPECT_EQ(refusal({.soft_cap = -0.5f}), "attention: soft cap is -0.5, expected a positive number, or 0 for none");
  EXPECT_EQ(refusal({.soft_cap = NAN}), "attention: soft cap is nan, expected a positive number, or 0 for none");
  for (const Shape& shape : {Shape{2, 6, 4, 4}, Shape{3, 6, 4, 5}, Shape{2, 3, 4, 5}, Shape{2, 6, 5, 5}, Shape{4, 5}})
    EXPECT_EQ(refusal({.bias = zeros(shape)}),
              fmt::format("attention: bias is f32 {}, expected f32 [1 or 2, 1 or 6, 1 or 4, 5], contiguous", shape));
  EXPECT_NE(refusal({.bias = zeros({2, 6, 4, 5}, DType::f16)}), "accepted");
  EXPECT_NE(refusal({.bias = zeros({2, 6, 5, 4}).permute({0, 1, 3, 2})}), "accepted");
  EXPECT_EQ(refusal({.key_lengths = {5}}), "attention: 1 key lengths for a batch of 2, expected one for each image");
  EXPECT_EQ(refusal({.key_lengths = {5, 6}}), "attention: key length 6 is out of range for k [2, 5, 3, 8]");
  EXPECT_EQ(refusal({.key_lengths = {-1, 5}}), "attention: key length -1 is out of range for k [2, 5, 3, 8]");
  EXPECT_EQ(refusal({.sinks = zeros({3})}), "attention: sinks is f32 [3], expected f32 [6]");
  EXPECT_EQ(refusal({.sinks = Tensor::zeros(test::reference_backend(), {6})}),
            fmt::format("attention: x is on the backend {}, another operand [6] on reference; expected all on one", device.name()));
  EXPECT_EQ(
      refusal({.bias = Tensor::zeros(test::reference_backend(), {1, 1, 1, 5})}),
      fmt::format("attention: x is on the backend {}, another operand [1, 1, 1, 5] on reference; expected all on one", device.name()));
}

}  // namespace
}  // namespace hearth
