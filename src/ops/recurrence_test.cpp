// The recurrent ops against the reference backend, by hand, and in pieces.
#include "ops/recurrence.h"

#include <cmath>

#include "core/backend.h"
#include "ops/random_test.h"
#include "ops/refusal_test.h"
#include "support/supported.h"

namespace hearth {
namespace {

using test::Random;
using Values = std::vector<float>;

// Rows of a wider tensor.
Random::Pair columns(Random& random, Backend& device, int64_t rows, int64_t n) {
  const Random::Pair wide = random.normal(device, {rows, n + 3});
  return {wide.device.slice(1, 2, n + 2), wide.reference.slice(1, 2, n + 2)};
}
Random::Pair copy_of(const Random::Pair& x) {
  const auto copied = [](const Tensor& t) { return Tensor::from(t.backend(), t.shape(), t.to_vector()); };
  return {copied(x.device), copied(x.reference)};
}
Random::Pair mapped(Random::Pair x, float (*f)(float)) {
  Values values = x.device.to_vector();
  for (float& v : values) v = f(v);
  return {Tensor::from(x.device.backend(), x.device.shape(), values), Tensor::from(x.reference.backend(), x.reference.shape(), values)};
}
float negative(float v) { return -std::exp(v); }
float positive(float v) { return std::log1p(std::exp(v)); }
const Tensor& left(const Random::Pair& p) { return p.device; }
const Tensor& right(const Random::Pair& p) { return p.reference; }

// run(side, from, to, state) for tokens from … to: equal to the reference in one call, and bit-identical in pieces.
template <class Run> void expect_scan(int64_t tokens, const Random::Pair& start, const Run& run) {
  Random::Pair once = copy_of(start), pieces = copy_of(start);
  const Tensor y = run(left, 0, tokens, once.device), truth = run(right, 0, tokens, once.reference);
  EXPECT_CLOSE(y, truth, 3e-6);
  EXPECT_CLOSE(once.device, once.reference, 3e-6);
  Values parts;
  for (int64_t t = 0, step = 1; t < tokens; t += step, step = step % 5 + 1) {
    const Values part = run(left, t, std::min(tokens, t + step), pieces.device).to_vector();
    parts.insert(parts.end(), part.begin(), part.end());
  }
  EXPECT_TRUE(parts == y.to_vector());
  EXPECT_TRUE(pieces.device.to_vector() == once.device.to_vector());
}

BACKEND_TEST(Recurrence, causal_conv_equals_the_reference_in_any_pieces) {
  Random random(81);
  for (int round = 0; round < 40; ++round) {
    const int64_t T = random.between(1, 20), C = random.between(1, round % 5 == 0 ? 700 : 40), K = random.between(1, 5);
    const Activation act = round % 2 ? Activation::silu : Activation::none;
    const auto x = columns(random, device, T, C), taps = random.normal(device, {K, C}), bias = random.normal(device, {C});
    const bool biased = random.chance();
    SCOPED_TRACE(fmt::format("{} × {}, {} taps", T, C, K));
    test::supported(device, [&] {
      expect_scan(T, random.normal(device, {K - 1, C}), [&](auto side, int64_t from, int64_t to, const Tensor& tail) {
        return ops::causal_conv(side(x).slice(0, from, to), side(taps), biased ? side(bias) : Tensor(), tail, act);
      });
    });
  }
}

BACKEND_TEST(Recurrence, causal_conv_by_hand) {
  const Tensor tail = Tensor::from(device, {2, 1}, Values{1, 2}), taps = Tensor::from(device, {3, 1}, Values{1, 10, 100});
  test::supported(device, [&] {
    EXPECT_EQ(ops::causal_conv(Tensor::from(device, {1, 1}, Values{3}), taps, {}, tail).to_vector(), (Values{321}));
    EXPECT_EQ(tail.to_vector(), (Values{2, 3}));
    const Tensor bias = Tensor::from(device, {1}, Values{0.5f});
    EXPECT_EQ(ops::causal_conv(Tensor::from(device, {3, 1}, Values{4, 5, 6}), taps, bias, tail).to_vector(),
              (Values{432.5f, 543.5f, 654.5f}));
    EXPECT_EQ(tail.to_vector(), (Values{5, 6}));
    EXPECT_EQ(ops::causal_conv(Tensor::from(device, {1, 1}, Values{4}), Tensor::from(device, {1, 1}, Values{2}), {}, {}).to_vector(),
              (Values{8}));
  });
}

BACKEND_TEST(Recurrence, selective_scan_equals_the_reference_in_any_pieces) {
  Random random(82);
  for (int round = 0; round < 30; ++round) {
    const int64_t T = random.between(1, 30), C = random.between(1, round % 5 == 0 ? 300 : 40), S = random.between(1, 20);
    const auto x = columns(random, device, T, C), dt = mapped(random.normal(device, {T, C}), positive),
               a = mapped(random.normal(device, {S, C}), negative), b = columns(random, device, T, S), c = columns(random, device, T, S),
               d = random.normal(device, {C});
    const bool direct = random.chance();
    SCOPED_TRACE(fmt::format("{} × {}, {} states", T, C, S));
    test::supported(device, [&] {
      expect_scan(T, random.normal(device, {S, C}), [&](auto side, int64_t from, int64_t to, const Tensor& state) {
        const auto rows = [&](const Random::Pair& p) { return side(p).slice(0, from, to); };
        return ops::selective_scan(rows(x), rows(dt), side(a), rows(b), rows(c), direct ? side(d) : Tensor(), state);
      });
    });
  }
}

BACKEND_TEST(Recurrence, state_space_scan_equals_the_reference_in_any_pieces) {
  Random random(83);
  for (int round = 0; round < 30; ++round) {
    const int64_t T = random.between(1, 30), G = random.between(1, 3), N = G * random.between(1, 3), S = random.between(1, 20),
                  D = random.between(1, round % 5 == 0 ? 100 : 40);
    const auto x = columns(random, device, T, N * D), dt = columns(random, device, T, N), a = mapped(random.normal(device, {N}), negative),
               b = columns(random, device, T, G * S), c = columns(random, device, T, G * S), d = random.normal(device, {N}),
               bias = random.normal(device, {N});
    const bool direct = random.chance(), biased = random.chance(), limited = random.chance();
    SCOPED_TRACE(fmt::format("{} tokens, {} heads of {} in {} groups, {} states", T, N, D, G, S));
    test::supported(device, [&] {
      expect_scan(T, random.normal(device, {N, S, D}), [&](auto side, int64_t from, int64_t to, const Tensor& state) {
        const auto rows = [&](const Random::Pair& p) { return side(p).slice(0, from, to); };
        StateSpaceSpec spec{.a = side(a), .groups = G};
        if (direct) spec.d = side(d);
        if (biased) spec.bias = side(bias);
        if (limited) spec.least = 0.5f, spec.most = 0.9f;
        return ops::state_space_scan(rows(x), rows(dt), rows(b), rows(c), spec, state);
      });
    });
  }
}

// A step of 1 and a decay of one half.
BACKEND_TEST(Recurrence, scans_by_hand) {
  const float half = -std::log(2.0f), softplus_of_1 = std::log(std::exp(1.0f) - 1);
  const auto of = [&](const Shape& shape, const Values& values) { return Tensor::from(device, shape, values); };
  test::supported(device, [&] {
    const Tensor state = of({2, 1}, {8, 0}),
                 y = ops::selective_scan(of({2, 1}, {2, 4}), of({2, 1}, {1, 1}), of({2, 1}, {half, half}), of({2, 2}, {1, 3, 1, 0}),
                                         of({2, 2}, {1, 0, 1, 10}), of({1}, {100}), state);
    EXPECT_CLOSE(state, (Values{7, 3}), 1e-6);  // (8/2 + 2)/2 + 4, (0/2 + 6)/2
    EXPECT_CLOSE(y, (Values{6 + 200, 7 + 30 + 400}), 1e-6);
  });
  test::supported(device, [&] {
    const Tensor state = of({2, 1, 1}, {8, 4}),
                 y = ops::state_space_scan(of({1, 2}, {2, 4}), of({1, 2}, {softplus_of_1, 9}), of({1, 2}, {1, 3}), of({1, 2}, {1, 5}),
                                           {.a = of({2}, {half, half}), .groups = 2, .most = 1}, state);
    EXPECT_CLOSE(state, (Values{6, 14}), 1e-6);
    EXPECT_CLOSE(y, (Values{6, 70}), 1e-6);
  });
}

BACKEND_TEST(Recurrence, refuses_invalid_arguments) {
  const auto zeros = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(device, shape, dtype); };
  const Tensor x = zeros({3, 4}), taps = zeros({2, 4}), tail = zeros({1, 4});
  const auto conv = [&](const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& t) {
    return test::refusal([&] { ops::causal_conv(a, b, bias, t); });
  };
  EXPECT_EQ(conv(x, taps, {}, tail), "accepted");
  EXPECT_EQ(conv(zeros({3, 4}, DType::f16), taps, {}, tail), "causal_conv: x is f16 [3, 4], expected f32 [3, 4] with a dense last axis");
  EXPECT_EQ(conv(zeros({4, 3}).permute({1, 0}), taps, {}, tail),
            "causal_conv: x is f32 [3, 4], expected f32 [3, 4] with a dense last axis");
  EXPECT_EQ(conv(x, zeros({2, 5}), {}, tail), "causal_conv: taps is [2, 5], expected [K, 4] for x [3, 4]");
  EXPECT_EQ(conv(x, taps, zeros({3}), tail), "causal_conv: bias is f32 [3], expected f32 [4]");
  EXPECT_EQ(conv(x, taps, {}, {}), "causal_conv: tail is undefined, expected f32 [1, 4]");
  EXPECT_EQ(conv(x, taps, {}, zeros({2, 4})), "causal_conv: tail is f32 [2, 4], expected f32 [1, 4], contiguous");

  const Tensor a = zeros({5, 4}), b = zeros({3, 5}), state = zeros({5, 4});
  const auto selective = [&](const Tensor& dt, const Tensor& own_a, const Tensor& own_b, const Tensor& d, const Tensor& s) {
    return test::refusal([&] { ops::selective_scan(x, dt, own_a, own_b, b, d, s); });
  };
  EXPECT_EQ(selective(x, a, b, {}, state), "accepted");
  EXPECT_EQ(selective({}, a, b, {}, state), "selective_scan: dt is undefined, expected f32 [3, 4]");
  EXPECT_EQ(selective(x, zeros({5, 3}), b, {}, state), "selective_scan: a is [5, 3], expected [S, 4] for x [3, 4]");
  EXPECT_EQ(selective(x, a, zeros({3, 4}), {}, state), "selective_scan: b is f32 [3, 4], expected f32 [3, 5] with a dense last axis");
  EXPECT_EQ(selective(x, a, b, zeros({5}), state), "selective_scan: d is f32 [5], expected f32 [4]");
  EXPECT_EQ(selective(x, a, b, {}, zeros({4, 4})), "selective_scan: state is f32 [4, 4], expected f32 [5, 4], contiguous");

  const Tensor heads = zeros({2, 5, 2}), dt = zeros({3, 2}), one = zeros({2});
  const auto scan = [&](const Tensor& own_dt, const Tensor& own_b, const StateSpaceSpec& spec, const Tensor& s) {
    return test::refusal([&] { ops::state_space_scan(x, own_dt, own_b, b, spec, s); });
  };
  EXPECT_EQ(scan(dt, b, {.a = one}, heads), "accepted");
  EXPECT_EQ(scan(dt, b, {.a = one}, zeros({2, 5, 3})),
            "state_space_scan: state is [2, 5, 3], expected [N, S, D] with N · D = 4 for x [3, 4]");
  EXPECT_EQ(scan(dt, b, {.a = one, .groups = 3}, heads), "state_space_scan: 3 groups do not divide 2 heads of the state [2, 5, 2]");
  EXPECT_EQ(scan(b, b, {.a = one}, heads), "state_space_scan: dt is f32 [3, 5], expected f32 [3, 2] with a dense last axis");
  EXPECT_EQ(scan(dt, dt, {.a = one}, heads), "state_space_scan: b is f32 [3, 2], expected f32 [3, 5] with a dense last axis");
  EXPECT_EQ(scan(dt, b, {}, heads), "state_space_scan: a is undefined, expected f32 [2]");
  EXPECT_EQ(scan(dt, b, {.a = one, .d = zeros({3})}, heads), "state_space_scan: d is f32 [3], expected f32 [2]");
}

// Subnormal and infinite steps, and long texts: decays underflow to zero, and nothing becomes NaN.
BACKEND_TEST(Recurrence, extreme_steps_stay_finite) {
  const auto of = [&](const Shape& shape, const Values& values) { return Tensor::from(device, shape, values); };
  test::supported(device, [&] {
    const Tensor state = of({1, 3}, {1e30f, 1, 1});
    const Tensor y = ops::selective_scan(of({1, 3}, {1, 1, 1}), of({1, 3}, {1e4f, 0, 1e-38f}), of({1, 3}, {-100, -100, -1}),
                                         of({1, 1}, {1}), of({1, 1}, {1}), {}, state);
    EXPECT_CLOSE(y, (Values{1e4f, 1, 1}), 1e-6);
  });
}

}  // namespace
}  // namespace hearth
