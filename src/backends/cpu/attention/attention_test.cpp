// Attention with random combinations of the spec's fields, against the reference backend.
#include "ops/attention.h"

#include <cmath>
#include <cstring>

#include "ops/random_test.h"
#include "ops/shape_ops.h"

namespace hearth {
namespace {

using test::Random;

struct Inputs {
  Random::Pair q, k, v, bias, sinks;
};

AttentionSpec with(AttentionSpec spec, const Inputs& in, const Tensor Random::Pair::*of) {
  spec.bias = in.bias.*of, spec.sinks = in.sinks.*of;
  return spec;
}

HOST_TEST(CpuAttention, grouped_heads_with_all_fields) {
  Random random(51);
  for (int round = 0; round < 150; ++round) {
    const DType type = random.dtype();
    const int64_t B = random.between(1, 3), G = random.between(1, 3), N = G * random.between(1, 3), D = random.between(1, 50),
                  Dv = random.chance() ? D : random.between(1, 70), T = random.between(1, round % 6 == 0 ? 300 : 70),
                  S = random.chance() ? T : random.between(1, round % 6 == 1 ? 600 : 90);
    AttentionSpec spec{.scale = 1 / std::sqrt(float(D))};
    if (T == S && random.chance()) spec.mask = Mask::causal;
    if (random.chance()) spec.window = random.between(1, 80);
    if (random.chance()) spec.soft_cap = 0.7f;
    if (random.chance())
      for (int64_t b = 0; b < B; ++b) spec.key_lengths.push_back(random.between(0, S));
    if (device.multiplies_bf16() && random.chance()) spec.factors = DType::bf16;
    SCOPED_TRACE(fmt::format("{} B {} N {} G {} D {} Dv {} T {} S {} causal {} window {} cap {} lengths {} factors {}", name_of(type), B, N,
                             G, D, Dv, T, S, spec.mask == Mask::causal, spec.window, spec.soft_cap, !spec.key_lengths.empty(),
                             name_of(spec.factors)));
    Inputs in{.q = random.normal(device, {B, T, N, D}, type),
              .k = random.normal(device, {B, S, G, D}, type),
              .v = random.normal(device, {B, S, G, Dv}, type),
              .bias = {},
              .sinks = {}};
    if (random.chance()) {
      in.bias = random.normal(device, {random.chance() ? 1 : B, random.chance() ? 1 : N, random.chance() ? 1 : T, S});
      const auto hide = [n = in.bias.device.numel()](float* bias) {
        std::replace_if(
            bias, bias + n, [](float b) { return b > 1; }, -INFINITY);
      };
      in.bias = {test::edited(in.bias.device, hide), test::edited(in.bias.reference, hide)};
    }
    if (random.chance()) in.sinks = random.normal(device, {N});
    const Tensor right = ops::attention(in.q.reference, in.k.reference, in.v.reference, with(spec, in, &Random::Pair::reference));
    EXPECT_CLOSE(ops::attention(in.q.device, in.k.device, in.v.device, with(spec, in, &Random::Pair::device)), right,
                 spec.factors == DType::bf16 ? 5e-3 : test::op_tolerance(type));
  }
}

// A query that attends to no key gets zeros, and hidden keys may have any value.
HOST_TEST(CpuAttention, hidden_keys_are_ignored) {
  Random random(52);
  const auto q = random.normal(device, {2, 40, 4, 8});
  auto k = random.normal(device, {2, 40, 2, 8}), v = random.normal(device, {2, 40, 2, 8});
  const Tensor right = ops::attention(q.reference, k.reference, v.reference, {.key_lengths = {25, 0}});
  v.device =
      test::edited(v.device, [](float* x) { std::fill(x + 25 * 16, x + 40 * 16, INFINITY), std::fill(x + 65 * 16, x + 80 * 16, NAN); });
  k.device = test::edited(k.device, [](float* x) { std::fill(x + 25 * 16, x + 40 * 16, NAN); });
  EXPECT_CLOSE(ops::attention(q.device, k.device, v.device, {.key_lengths = {25, 0}}), right, 1e-6);
  if (device.multiplies_bf16()) {
    EXPECT_CLOSE(ops::attention(q.device, k.device, v.device, {.factors = DType::bf16, .key_lengths = {25, 0}}), right, 1e-2);
  }
  // … if a bias hides them.
  std::vector<float> hiding(40, 0.0f);
  for (size_t s = 25; s < 40; ++s) hiding[s] = -INFINITY;
  k.device = test::edited(k.device, [](float* x) { std::fill(x + 25 * 16, x + 40 * 16, 1.0f); });
  const Tensor first = v.device.slice(0, 0, 1);
  EXPECT_CLOSE(
      ops::attention(q.device.slice(0, 0, 1), k.device.slice(0, 0, 1), first, {.bias = Tensor::from(device, {1, 1, 1, 40}, hiding)}),
      right.slice(0, 0, 1), 1e-6);
}

HOST_TEST(CpuAttention, a_key_hidden_from_some_queries_may_be_infinite) {
  Random random(55);
  const auto q = random.normal(device, {1, 300, 2, 8}), k = random.normal(device, {1, 300, 2, 8});
  auto v = random.normal(device, {1, 300, 2, 8});
  for (Tensor* t : {&v.device, &v.reference})
    *t = test::edited(*t, [](float* x) { std::fill_n(x + 40 * 16, 16, INFINITY), std::fill_n(x + 270 * 16, 16, NAN); });
  for (const DType factors : {DType::f32, DType::bf16}) {
    if (factors == DType::bf16 && !device.multiplies_bf16()) continue;
    const AttentionSpec spec{.mask = Mask::causal, .factors = factors, .window = 30};
    const std::vector<float> got = ops::attention(q.device, k.device, v.device, spec).to_vector(),
                             right = ops::attention(q.reference, k.reference, v.reference, spec).to_vector();
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(std::isfinite(right[i]) ? std::abs(got[i] - right[i]) < 2e-2f : !std::isfinite(got[i])) << i << ": " << got[i];
  }
}

// Bit-identical: heads of a group and heads with separate keys; an image in a batch and alone.
HOST_TEST(CpuAttention, independent_of_groups_and_batches) {
  Random random(53);
  for (const DType factors : {DType::f32, DType::bf16}) {
    if (factors == DType::bf16 && !device.multiplies_bf16()) continue;
    const Tensor q = random.normal(device, {2, 70, 6, 24}).device, k = random.normal(device, {2, 300, 2, 24}).device,
                 v = random.normal(device, {2, 300, 2, 24}).device;
    const auto repeated = [&](const Tensor& x) {
      std::vector<Tensor> heads;
      for (int64_t n = 0; n < 6; ++n) heads.push_back(x.slice(2, n / 3, n / 3 + 1));
      return ops::concat(heads, 2);
    };
    AttentionSpec spec{.scale = 0.2f, .factors = factors, .key_lengths = {300, 280}};
    const std::vector<float> grouped = ops::attention(q, k, v, spec).to_vector();
    EXPECT_EQ(grouped, ops::attention(q, repeated(k), repeated(v), spec).to_vector());
    spec.key_lengths = {};
    const std::vector<float> alone =
        ops::attention(q.slice(0, 1, 2), k.slice(0, 1, 2).slice(1, 0, 280), v.slice(0, 1, 2).slice(1, 0, 280), spec).to_vector();
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), grouped.begin() + int64_t(grouped.size() / 2)));
  }
}

HOST_TEST(CpuAttention, cached_with_sinks_caps_and_widths_of_v) {
  Random random(54);
  for (int round = 0; round < 60; ++round) {
    const int64_t G = random.between(1, 3), N = G * random.between(1, 4), D = 32 * random.between(1, 3), Dv = 32 * random.between(1, 4),
                  T = random.between(1, round % 4 == 0 ? 120 : 8), window = random.chance() ? 0 : random.between(1, 90),
                  first = random.between(0, 300), C = window ? T + window + random.between(0, 9) : first + T;
    const DType type = std::array{DType::f32, DType::f16, DType::bf16}[size_t(random.between(0, 2))];
    const auto q = random.normal(device, {T, N, D}), k = random.normal(device, {C, G, D}, type),
               v = random.normal(device, {C, G, Dv}, type), sinks = random.normal(device, {N});
    const bool sinking = random.chance();
    const auto spec = [&](const Tensor& own) {
      return CachedAttentionSpec{.scale = 0.3f, .soft_cap = round % 2 ? 0.8f : 0, .sinks = sinking ? own : Tensor()};
    };
    SCOPED_TRACE(fmt::format("N {} G {} D {} Dv {} T {} window {} first {} C {} {}", N, G, D, Dv, T, window, first, C, name_of(type)));
    EXPECT_CLOSE(
        ops::cached_attention(q.device, {.k = k.device, .v = v.device, .first = first, .window = window}, spec(sinks.device)),
        ops::cached_attention(q.reference, {.k = k.reference, .v = v.reference, .first = first, .window = window}, spec(sinks.reference)),
        3e-6);
  }
}

}  // namespace
}  // namespace hearth
