#include "ops/delta_rule.h"

#include <cmath>

#include "ops/random_test.h"
#include "ops/refusal_test.h"
#include "support/supported.h"

namespace hearth {
namespace {

using test::Random;
using Values = std::vector<float>;

struct Sizes {
  int64_t T, G, H, Dk, Dv;
};

// All of a rule's tensors for one kind: 0 plain, 1 beta, 2 a and b; on the device and on the reference.
std::pair<DeltaRule, DeltaRule> random_rule(Random& random, Backend& device, const Sizes& n, int kind, bool each, bool before) {
  std::pair<DeltaRule, DeltaRule> rules;
  const auto give = [&](Tensor DeltaRule::*member, const Shape& shape, float scale, bool negative = false) {
    Random::Pair x = random.normal(device, shape, DType::f32, scale);
    const auto minus = [](float* values, int64_t count) {
      for (int64_t i = 0; i < count; ++i) values[i] = -std::abs(values[i]);
    };
    if (negative) {
      x.device = test::edited(x.device, [&](float* values) { minus(values, shape.numel()); });
      x.reference = test::edited(x.reference, [&](float* values) { minus(values, shape.numel()); });
    }
    rules.first.*member = x.device, rules.second.*member = x.reference;
  };
  const float unit = 1 / std::sqrt(float(n.Dk));
  give(&DeltaRule::q, {n.T, n.G, n.Dk}, unit);
  give(&DeltaRule::k, {n.T, n.G, n.Dk}, unit);
  give(&DeltaRule::v, {n.T, n.H, n.Dv}, 1);
  give(&DeltaRule::decay, each ? Shape{n.T, n.H, n.Dk} : Shape{n.T, n.H}, 0.5f, true);
  if (kind == 1) give(&DeltaRule::beta, {n.T, n.H}, 0.5f);
  if (kind == 2) give(&DeltaRule::a, {n.T, n.H, n.Dk}, unit), give(&DeltaRule::b, {n.T, n.H, n.Dk}, unit);
  rules.first.reads_before = rules.second.reads_before = before;
  rules.first.by_rate = rules.second.by_rate = random.chance();
  return rules;
}

DeltaRule tokens(const DeltaRule& rule, int64_t begin, int64_t end) {
  DeltaRule part = rule;
  for (Tensor* x : {&part.q, &part.k, &part.v, &part.decay, &part.beta, &part.a, &part.b})
    if (*x) *x = x->slice(0, begin, end);
  return part;
}

Tensor copy_of(const Tensor& x) { return Tensor::from(x.backend(), x.shape(), x.to_vector()); }

BACKEND_TEST(DeltaRule, equals_the_reference_in_any_pieces) {
  Random random(81);
  for (int round = 0; round < 48; ++round) {
    Sizes n{.T = random.between(1, 9), .G = random.between(1, 3), .H = 0, .Dk = random.between(1, 40), .Dv = random.between(1, 150)};
    n.H = n.G * random.between(1, 3);
    const int kind = round % 3;
    const bool each = random.chance(), before = random.chance();
    SCOPED_TRACE(fmt::format("kind {}, T {}, heads {} {}, sizes {} {}", kind, n.T, n.G, n.H, n.Dk, n.Dv));
    const auto rules = random_rule(random, device, n, kind, each, before);
    const DeltaRule &rule = rules.first, &right = rules.second;
    const auto start = random.normal(device, {n.H, n.Dk, n.Dv});
    test::supported(device, [&] {
      const Tensor whole = copy_of(start.device), expected = copy_of(start.reference);
      const Tensor y = ops::delta_rule(rule, whole), z = ops::delta_rule(right, expected);
      EXPECT_CLOSE(y, z.to_vector(), 3e-6);  // observed 6e-7
      EXPECT_CLOSE(whole, expected.to_vector(), 3e-6);
      const Tensor part = copy_of(start.device);
      Values in_pieces;
      for (int64_t t = 0, end; t < n.T; t = end) {
        end = std::min(n.T, t + random.between(1, 3));
        const Values values = ops::delta_rule(tokens(rule, t, end), part).to_vector();
        in_pieces.insert(in_pieces.end(), values.begin(), values.end());
      }
      EXPECT_EQ(in_pieces, y.to_vector());
      EXPECT_EQ(part.to_vector(), whole.to_vector());
    });
  }
}

BACKEND_TEST(DeltaRule, known_answers) {
  // One head, keys of 2, values of 1; the decay halves.
  const auto vector = [&](const Shape& shape, const Values& values) { return Tensor::from(device, shape, values); };
  const float half = std::log(0.5f);
  DeltaRule rule{
      .q = vector({1, 1, 2}, {1, 10}), .k = vector({1, 1, 2}, {2, 3}), .v = vector({1, 1, 1}, {5}), .decay = vector({1, 1}, {half})};
  test::supported(device, [&] {
    Tensor state = vector({1, 2, 1}, {4, 8});
    EXPECT_CLOSE(ops::delta_rule(rule, state), (Values{12 + 190}), 1e-6);  // state: 4/2 + 2·5, 8/2 + 3·5
    EXPECT_CLOSE(state, (Values{12, 19}), 1e-6);
    rule.reads_before = true;
    state = vector({1, 2, 1}, {4, 8});
    EXPECT_CLOSE(ops::delta_rule(rule, state), (Values{84}), 1e-6);
    rule.reads_before = false;
    rule.by_rate = true;
    rule.decay = vector({1, 1}, {std::log(-half)});
    state = vector({1, 2, 1}, {4, 8});
    EXPECT_CLOSE(ops::delta_rule(rule, state), (Values{12 + 190}), 1e-6);
    rule.by_rate = false;
    rule.decay = vector({1, 1}, {half});
    rule.beta = vector({1, 1}, {0.5});
    state = vector({1, 2, 1}, {4, 8});
    ops::delta_rule(rule, state);  // sees 2·2 + 4·3 = 16; 0.5 · (5 − 16) = −5.5
    EXPECT_CLOSE(state, (Values{2 - 11, 4 - 16.5}), 1e-6);
    rule.beta = {};
    rule.a = vector({1, 1, 2}, {1, -1}), rule.b = vector({1, 1, 2}, {10, 100});
    rule.decay = vector({1, 1, 2}, {half, 0});
    state = vector({1, 2, 1}, {4, 8});
    ops::delta_rule(rule, state);  // sees −4
    EXPECT_CLOSE(state, (Values{2 - 40 + 10, 8 - 400 + 15}), 1e-6);
  });
}

BACKEND_TEST(DeltaRule, refuses_other_shapes) {
  Random random(82);
  const DeltaRule rule = random_rule(random, device, {.T = 2, .G = 1, .H = 2, .Dk = 3, .Dv = 4}, 0, false, false).first;
  const Tensor state = Tensor::zeros(device, {2, 3, 4});
  const auto refusal = [&](const DeltaRule& r, const Tensor& s) { return test::refusal([&] { ops::delta_rule(r, s); }); };
  DeltaRule other = rule;
  other.k = rule.v;
  EXPECT_EQ(refusal(other, state), "delta_rule: k is f32 [2, 2, 4], expected f32 [2, 1, 3]");
  other = rule, other.decay = {};
  EXPECT_EQ(refusal(other, state), "delta_rule: decay is undefined, expected f32 [2, 2]");
  other = rule, other.a = Tensor::zeros(device, {2, 2, 3});
  EXPECT_EQ(refusal(other, state), "delta_rule: only one of a and b is defined, expected both or none");
  other.b = other.a, other.beta = Tensor::zeros(device, {2, 2});
  EXPECT_EQ(refusal(other, state), "delta_rule: a, b and beta are defined, expected a and b, or beta");
  EXPECT_EQ(refusal(rule, Tensor::zeros(device, {2, 4, 3})), "delta_rule: state is f32 [2, 4, 3], expected f32 [2, 3, 4]");
  other = rule, other.q = Tensor::zeros(device, {2, 4, 3});
  EXPECT_EQ(refusal(other, state), "delta_rule: 4 heads of q do not divide 2 of v");
}

BACKEND_TEST(AddWeighted, equals_the_reference) {
  Random random(83);
  for (int round = 0; round < 12; ++round) {
    const int64_t T = random.between(1, 5), H = random.between(1, 4), Dk = random.between(1, 70), Dv = random.between(1, 70);
    const auto q = random.normal(device, {T, H, Dk}), k = random.normal(device, {T, H, Dk}), u = random.normal(device, {H, Dk}),
               v = random.normal(device, {T, H, Dv}), base = random.normal(device, {T, H, Dv});
    test::supported(device, [&] {
      EXPECT_CLOSE(ops::add_weighted(base.device, q.device, k.device, u.device, v.device),
                   ops::add_weighted(base.reference, q.reference, k.reference, u.reference, v.reference).to_vector(), 2e-6);
    });
  }
  const Tensor x = Tensor::zeros(device, {1, 2, 3});
  EXPECT_EQ(test::refusal([&] { ops::add_weighted(x, x, x, x, x); }), "add_weighted: u is f32 [1, 2, 3], expected f32 [2, 3]");
}

BACKEND_TEST(GatedScan, equals_the_reference_in_any_pieces) {
  Random random(84);
  for (int round = 0; round < 16; ++round) {
    const int64_t T = random.between(1, 9), C = random.between(1, 300);
    const bool starts = random.chance();
    const auto x = random.normal(device, {T, C}), g = random.normal(device, {T, C}, DType::f32, round % 2 ? 1e-3f : 3),
               start = random.normal(device, {C});
    const auto negative = [&](const Tensor& t) {
      return test::edited(t, [&](float* values) {
        for (int64_t i = 0; i < T * C; ++i) values[i] = -std::abs(values[i]);
      });
    };
    const Tensor log_a = negative(g.device), log_right = negative(g.reference);
    test::supported(device, [&] {
      const Tensor state = copy_of(start.device), right = copy_of(start.reference), part = copy_of(start.device);
      const Tensor y = ops::gated_scan(x.device, log_a, state, starts);
      EXPECT_CLOSE(y, ops::gated_scan(x.reference, log_right, right, starts).to_vector(), 2e-6);
      EXPECT_CLOSE(state, right.to_vector(), 2e-6);
      Values in_pieces;
      for (int64_t t = 0; t < T; ++t) {
        const Values values = ops::gated_scan(x.device.slice(0, t, t + 1), log_a.slice(0, t, t + 1), part, starts && t == 0).to_vector();
        in_pieces.insert(in_pieces.end(), values.begin(), values.end());
      }
      EXPECT_EQ(in_pieces, y.to_vector());
      EXPECT_EQ(part.to_vector(), state.to_vector());
    });
  }
  test::supported(device, [&] {  // a = 0.6: a factor of 0.8
    const Tensor state = Tensor::from(device, {1}, Values{10});
    EXPECT_CLOSE(
        ops::gated_scan(Tensor::from(device, {1, 1}, Values{5}), Tensor::from(device, {1, 1}, Values{std::log(0.6f)}), state, false),
        (Values{10}), 1e-6);
    EXPECT_CLOSE(
        ops::gated_scan(Tensor::from(device, {1, 1}, Values{5}), Tensor::from(device, {1, 1}, Values{std::log(0.6f)}), state, true),
        (Values{11}), 1e-6);
  });
  EXPECT_EQ(test::refusal([&] {
              ops::gated_scan(Tensor::zeros(device, {2, 3}), Tensor::zeros(device, {2, 3}), Tensor::zeros(device, {2}), true);
            }),
            "gated_scan: state is f32 [2], expected f32 [3]");
}

}  // namespace
}  // namespace hearth
