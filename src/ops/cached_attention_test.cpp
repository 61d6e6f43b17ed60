#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ops/attention.h"
#include "ops/refusal_test.h"
#include "ops/shape_ops.h"
#include "ops/spec_test.h"

namespace hearth {
namespace {

using test::Random;

// KV caches of both backends with the same contents in the given dtype.
struct Caches {
  KeyValues device, reference;
};
Caches filled(Random& random, Backend& device, int64_t C, int64_t G, int64_t D, DType dtype, std::optional<int64_t> width_of_v = {}) {
  Caches caches;
  for (Tensor KeyValues::*which : {&KeyValues::k, &KeyValues::v}) {
    const Shape shape{C, G, which == &KeyValues::k ? D : width_of_v.value_or(D)};
    const auto x = random.normal(device, shape);
    caches.device.*which = Tensor::empty(device, shape, dtype);
    caches.reference.*which = Tensor::empty(test::reference_backend(), shape, dtype);
    ops::store(x.device, caches.device.*which);
    ops::store(x.reference, caches.reference.*which);
  }
  return caches;
}

bool same_bits(const Tensor& a, const Tensor& b) { return a.to_vector() == b.to_vector(); }

BACKEND_TEST(CachedAttention, every_type_and_grouping) {
  Random random(51);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0})
    for (const int64_t heads : {1, 2, 3, 8})
      for (const int64_t D : {32, 64, 96, 128}) {
        const int64_t G = random.between(1, 3), first = random.between(0, 300), T = random.chance() ? 1 : random.between(2, 40);
        Caches cache = filled(random, device, first + T + random.between(0, 3), G, D, dtype);
        cache.device.first = cache.reference.first = first;
        const auto q = random.normal(device, {T, G * heads, D});
        SCOPED_TRACE(fmt::format("{} first {} T {} G {} heads {} D {}", name_of(dtype), first, T, G, heads, D));
        EXPECT_CLOSE(ops::cached_attention(q.device, cache.device, {.scale = 0.2f}),
                     ops::cached_attention(q.reference, cache.reference, {.scale = 0.2f}), 2e-6);
      }
}

BACKEND_TEST(CachedAttention, odd_head_sizes) {
  Random random(52);
  for (const int64_t D : {1, 5, 16, 20, 33, 80, 160, 256}) {
    Caches cache = filled(random, device, 70, 2, D, DType::f32);
    cache.device.first = cache.reference.first = 60;
    const auto q = random.normal(device, {7, 6, D});
    EXPECT_CLOSE(ops::cached_attention(q.device, cache.device, {.scale = 0.3f}),
                 ops::cached_attention(q.reference, cache.reference, {.scale = 0.3f}), 2e-6);
  }
}

// A window covers the last keys only, wherever they are in the ring.
BACKEND_TEST(CachedAttention, windows_in_a_ring) {
  Random random(53);
  for (int trial = 0; trial < 20; ++trial) {
    const int64_t window = random.between(1, 80), T = random.between(1, 30), C = window + T - 1 + random.between(0, 5);
    Caches cache = filled(random, device, C, 2, 24, DType::f32);
    for (KeyValues* c : {&cache.device, &cache.reference}) c->first = trial * 37, c->window = window;
    const auto q = random.normal(device, {T, 4, 24});
    SCOPED_TRACE(fmt::format("window {} T {} C {} first {}", window, T, C, cache.device.first));
    EXPECT_CLOSE(ops::cached_attention(q.device, cache.device, {.scale = 0.3f}),
                 ops::cached_attention(q.reference, cache.reference, {.scale = 0.3f}), 2e-6);
  }
}

// Bit-identical: queries one by one, in pieces, or together; in a ring or in consecutive rows.
BACKEND_TEST(CachedAttention, each_query_is_independent) {
  Random random(54);
  for (const DType dtype : {DType::f32, DType::bf16, DType::q8_0}) {
    constexpr int64_t T = 45, first = 490, D = 64;  // beyond position 512, a boundary between blocks of keys
    Caches cache = filled(random, device, first + T, 2, D, dtype);
    const auto q = random.normal(device, {T, 6, D});
    for (const int64_t window : {0, 100}) {
      KeyValues all = cache.device;
      all.first = first, all.window = window;
      const Tensor together = ops::cached_attention(q.device, all, {.scale = 0.1f});
      for (int64_t begin = 0, step = 1; begin < T; begin += step, step = random.between(1, 20)) {
        const int64_t end = std::min(T, begin + step);
        KeyValues part = all;
        part.first = first + begin;
        EXPECT_TRUE(same_bits(ops::cached_attention(q.device.slice(0, begin, end), part, {.scale = 0.1f}), together.slice(0, begin, end)))
            << begin;
      }
      if (window == 0) continue;
      const int64_t C = window + T;  // the last C rows, each at its position mod C
      KeyValues ring{Tensor::empty(device, {C, 2, D}, dtype), Tensor::empty(device, {C, 2, D}, dtype), first, window};
      for (int64_t p = first + T - C; p < first + T; ++p)
        for (Tensor KeyValues::*which : {&KeyValues::k, &KeyValues::v}) {
          const Tensor from = (all.*which).slice(0, p, p + 1);
          Tensor to = (ring.*which).slice(0, p % C, p % C + 1);
          device.copy(from, to);
        }
      EXPECT_TRUE(same_bits(ops::cached_attention(q.device, ring, {.scale = 0.1f}), together));
    }
  }
}

// A query ignores what is behind its own position and what has left its window, infinite or not.
BACKEND_TEST(CachedAttention, hidden_values_are_ignored) {
  Random random(55);
  for (const int64_t window : {0, 30}) {
    constexpr int64_t T = 60, first = 10, D = 40;
    Caches cache = filled(random, device, first + T, 1, D, DType::f32);
    const auto q = random.normal(device, {T, 2, D});
    KeyValues all = cache.device;
    all.first = first, all.window = window;
    const std::vector<float> plain = ops::cached_attention(q.device, all, {.scale = 0.1f}).to_vector();
    const int64_t p = first + 25;  // position of the key and value that become infinite
    all.v = test::edited(all.v, [&](float* v) { std::fill_n(v + p * D, D, INFINITY); });
    all.k = test::edited(all.k, [&](float* k) { std::fill_n(k + p * D, D, NAN); });
    const std::vector<float> y = ops::cached_attention(q.device, all, {.scale = 0.1f}).to_vector();
    for (int64_t t = 0; t < T; ++t) {
      const bool sees = t >= 25 && (window == 0 || t < 25 + window);
      for (int64_t i = t * 2 * D; i < (t + 1) * 2 * D; ++i) {
        if (sees) EXPECT_FALSE(std::isfinite(y[size_t(i)])) << "query " << t;
        else EXPECT_EQ(y[size_t(i)], plain[size_t(i)]) << "query " << t;
      }
    }
  }
}

BACKEND_TEST(CachedAttention, soft_caps_sinks_and_widths_of_v) {
  Random random(56);
  for (int round = 0; round < 60; ++round) {
    const DType dtype = std::array{DType::f32, DType::f16, DType::bf16, DType::q8_0}[size_t(round % 4)];
    const int64_t step = dtype == DType::q8_0 ? 32 : 1, D = step * random.between(1, 64 / step), Dv = step * random.between(1, 64 / step),
                  G = random.between(1, 3), heads = random.between(1, 4), T = random.chance() ? 1 : random.between(2, 20),
                  window = random.chance() ? random.between(1, 50) : 0, first = random.between(0, 300);
    Caches cache = filled(random, device, window ? window + T : first + T, G, D, dtype, random.chance() ? Dv : D);
    for (KeyValues* c : {&cache.device, &cache.reference}) {
      c->first = first, c->window = window;
      if (round % 5 == 0 && Dv < D) c->v = c->k.slice(2, 0, Dv);  // as in latent attention
    }
    const auto q = random.normal(device, {T, G * heads, D}), sinks = random.normal(device, {G * heads}, DType::f32, 3);
    CachedAttentionSpec spec{.scale = 0.4f}, reference = spec;
    if (random.chance()) spec.soft_cap = reference.soft_cap = float(random.between(1, 8)) / 2;
    if (random.chance()) spec.sinks = sinks.device, reference.sinks = sinks.reference;
    SCOPED_TRACE(fmt::format("{} first {} T {} G {} heads {} D {} Dv {} window {} cap {} sinks {}", name_of(dtype), first, T, G, heads, D,
                             cache.device.v.size(2), window, spec.soft_cap, bool(spec.sinks)));
    test::supported(device, [&] {
      const Tensor y = ops::cached_attention(q.device, cache.device, spec);
      EXPECT_CLOSE(y, ops::cached_attention(q.reference, cache.reference, reference), 2e-6);
      for (int64_t t = 0; t < T; ++t) {  // bit-identical when alone
        KeyValues alone = cache.device;
        alone.first += t;
        EXPECT_TRUE(same_bits(ops::cached_attention(q.device.slice(0, t, t + 1), alone, spec), y.slice(0, t, t + 1))) << t;
      }
    });
  }
}

// Pages in any order hold the same text as consecutive rows; several texts of one call, long and short, have the bits of each alone.
BACKEND_TEST(CachedAttention, pages_and_texts_do_not_change_the_bits) {
  Random random(57);
  for (const DType dtype : {DType::f32, DType::bf16, DType::q8_0})
    for (const int64_t window : {0, 70}) {
      constexpr int64_t D = 32, G = 2, N = 6, P = 200;
      const int64_t page = random.between(1, 20);
      KeyValues pool{Tensor::empty(device, {P * page, G, D}, dtype), Tensor::empty(device, {P * page, G, D}, dtype)};
      std::vector<int32_t> unused(P);
      std::iota(unused.begin(), unused.end(), 0);
      std::vector<KeyValues> texts;
      std::vector<Tensor> qs, alone;
      for (const int64_t queries : {1, 5, 40, 1, 0, 3}) {
        const int64_t first = random.between(0, 15 * page), length = first + queries, pages = (length + page - 1) / page;
        Caches rows = filled(random, device, std::max<int64_t>(1, length), G, D, dtype);
        std::vector<int32_t> table;
        for (int64_t i = 0; i < pages; ++i) {
          const auto at = unused.begin() + random.between(0, std::ssize(unused) - 1);
          table.push_back(*at);
          unused.erase(at);
          for (Tensor KeyValues::*which : {&KeyValues::k, &KeyValues::v}) {
            const int64_t end = std::min(length, (i + 1) * page);
            Tensor to = (pool.*which).slice(0, table.back() * page, table.back() * page + end - i * page);
            device.copy((rows.device.*which).slice(0, i * page, end), to);
          }
          if (window && (i + 1) * page <= first - window + 1) table.back() = -1;  // what has left the window is not read
        }
        qs.push_back(random.normal(device, {queries, N, D}).device);
        rows.device.first = first, rows.device.window = window;
        KeyValues text = pool;
        text.first = first, text.window = window, text.page = page, text.queries = queries;
        text.pages = Tensor::from(device, {std::ssize(table)}, table);
        texts.push_back(text);
        if (queries == 0) continue;
        alone.push_back(ops::cached_attention(qs.back(), rows.device, {.scale = 0.2f}));
        EXPECT_TRUE(same_bits(ops::cached_attention(qs.back(), text, {.scale = 0.2f}), alone.back()));
      }
      SCOPED_TRACE(fmt::format("{} window {} page {}", name_of(dtype), window, page));
      EXPECT_TRUE(same_bits(ops::cached_attention(ops::concat(qs, 0), texts, {.scale = 0.2f}), ops::concat(alone, 0)));
    }
}

// Scores 0 and 40 become 0 and 2·tanh(20) = 2; a sink takes its share of the softmax and adds nothing.
BACKEND_TEST(CachedAttention, known_answers) {
  const auto vector = [&](const Shape& shape, const std::vector<float>& values) { return Tensor::from(device, shape, values); };
  const Tensor q = vector({1, 1, 1}, {1}), k = vector({2, 1, 1}, {0, 10}), v = vector({2, 1, 2}, {0, 1, 1, 1});
  const auto check = [&](const CachedAttentionSpec& spec, float sum) {
    test::supported(device, [&] {
      const float weight = std::exp(2.0f);
      EXPECT_CLOSE(ops::cached_attention(q, {.k = k, .v = v, .first = 1}, spec), (std::vector<float>{weight / sum, (1 + weight) / sum}),
                   1e-6);
    });
  };
  const float sum = 1 + std::exp(2.0f);
  check({.scale = 4, .soft_cap = 2}, sum);
  check({.scale = 0.2f}, sum);
  check({.scale = 0.2f, .sinks = vector({1}, {std::log(3.0f)})}, sum + 3);
  check({.scale = 4, .soft_cap = 2, .sinks = vector({1}, {5})}, sum + std::exp(5.0f));
}

BACKEND_TEST(CachedAttention, refusals) {
  const Tensor q = Tensor::zeros(device, {2, 4, 8}), k = Tensor::zeros(device, {5, 2, 8});
  EXPECT_EQ(test::refusal([&] { ops::cached_attention(q, {.k = k, .v = k, .first = 4}, {.scale = 1}); }),
            "cached_attention: positions 4 to 5 with a window of 0 (0: none) exceed a KV cache of 5");
  EXPECT_EQ(test::refusal([&] { ops::cached_attention(q, {.k = k, .v = k, .first = 9, .window = 5}, {.scale = 1}); }),
            "cached_attention: positions 9 to 10 with a window of 5 (0: none) exceed a KV cache of 5");
  const auto refusal = [&](const CachedAttentionSpec& spec) {
    return test::refusal([&] { ops::cached_attention(q, {.k = k, .v = k}, spec); });
  };
  EXPECT_EQ(refusal({.soft_cap = -1}), "cached_attention: soft cap is -1, expected a positive number, or 0 for none");
  EXPECT_EQ(refusal({.sinks = Tensor::zeros(device, {2})}), "cached_attention: sinks is f32 [2], expected f32 [4]");
  EXPECT_EQ(refusal({.sinks = Tensor::zeros(test::reference_backend(), {4})}),
            fmt::format("cached_attention: x is on the backend {}, another operand [4] on reference; expected all on one", device.name()));
  const Tensor six = Tensor::zeros(device, {6, 2, 8}), table = Tensor::from(device, {2}, std::vector<int32_t>{1, 0});
  EXPECT_EQ(test::refusal([&] { ops::cached_attention(q, {.k = six, .v = six, .first = 3, .pages = table, .page = 2}, {}); }),
            "cached_attention: positions 3 to 4 with a window of 0 (0: none) exceed a KV cache of 4");
  EXPECT_EQ(test::refusal([&] { ops::cached_attention(q, {.k = six, .v = six, .pages = table, .page = 4}, {}); }),
            "cached_attention: pages i32 [2] of 4 positions do not divide k [6, 2, 8], expected i32 [P]");
  const std::vector<KeyValues> texts{{.k = k, .v = k, .queries = 1}};
  EXPECT_EQ(test::refusal([&] { ops::cached_attention(q, texts, {}); }),
            "cached_attention: the texts have 1 queries, expected the 2 of q [2, 4, 8]");
  const Tensor three = Tensor::zeros(device, {5, 3, 8});
  EXPECT_EQ(
      test::refusal([&] { ops::cached_attention(q, {.k = three, .v = three}, {.scale = 1}); }),
      "cached_attention: q f32 [2, 4, 8], k f32 [5, 3, 8] and v f32 [5, 3, 8] are incompatible, expected q [T, N, D] f32, k [C, G, 8] and "
      "v [C, G, "
      "Dv], N a multiple of G");
}

}  // namespace
}  // namespace hearth
