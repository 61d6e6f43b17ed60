// Linear attention: the sums over all keys first, then a product with each query. Included once by each instruction set.

namespace hearth::cpu {
namespace {

// Tokens whose sums are added up on their own, so that the rounding error does not grow with the number of all tokens.
constexpr int64_t linear_attention_part = 256;

template <int registers> void linear_attention_columns(const LinearAttention& a) {
  const int64_t row = registers * W, size = a.keys * row;
  float *const sums = a.scratch, *const part = sums + size, *const weights = part + size, *const part_weights = weights + a.keys;
  const auto each = [&](auto f) { unroll<registers>([&](auto i) { f(i, i * W, a.columns - i * W); }); };
  const auto some = [](const float* p, int64_t left) { return left <= 0 ? zero() : load_upto(p, left); };
  for (int64_t i = 0; i < size; i += W) store(sums + i, zero());
  for_lanes(a.keys, [&](int64_t i, int64_t left) { store_upto(weights + i, left, zero()); });
  for (int64_t first = 0; first < a.tokens; first += linear_attention_part) {
    for (int64_t i = 0; i < size; i += W) store(part + i, zero());
    for_lanes(a.keys, [&](int64_t i, int64_t left) { store_upto(part_weights + i, left, zero()); });
    const int64_t end = first + linear_attention_part < a.tokens ? first + linear_attention_part : a.tokens;
    for (int64_t t = first; t < end; ++t) {
      const float* const k = a.k + t * a.k_stride;
      V v[registers];
      each([&](auto i, int64_t at, int64_t left) { v[i] = some(a.v + t * a.v_stride + at, left); });
      float* sum = part;
      for (int64_t j = 0; j < a.keys; ++j, sum += row) {
        const V kj = set(k[j]);
        unroll<registers>([&](auto i) { store(sum + i * W, fma(kj, v[i], load(sum + i * W))); });
      }
      for_lanes(a.keys, [&](int64_t i, int64_t left) {
        store_upto(part_weights + i, left, load_upto(part_weights + i, left) + load_upto(k + i, left));
      });
    }
    for (int64_t i = 0; i < size; i += W) store(sums + i, load(sums + i) + load(part + i));
    for_lanes(a.keys, [&](int64_t i, int64_t left) {
      store_upto(weights + i, left, load_upto(weights + i, left) + load_upto(part_weights + i, left));
    });
  }
  for (int64_t t = 0; t < a.queries; ++t) {
    const float* const q = a.q + t * a.q_stride;
    V weight = zero(), y[registers];
    for_lanes(a.keys, [&](int64_t i, int64_t left) { weight = fma(load_upto(q + i, left), load_upto(weights + i, left), weight); });
    const V divisor = set(sum_lanes(weight) + a.eps);
    unroll<registers>([&](auto i) { y[i] = zero(); });
    const float* sum = sums;
    for (int64_t j = 0; j < a.keys; ++j, sum += row) {
      const V qj = set(q[j]);
      unroll<registers>([&](auto i) { y[i] = fma(qj, load(sum + i * W), y[i]); });
    }
    each([&](auto i, int64_t at, int64_t left) {
      if (left > 0) store_upto(a.y + t * a.y_stride + at, left, y[i] / divisor);
    });
  }
}

void linear_attention(const LinearAttention& a) {
  if (a.columns <= W) return linear_attention_columns<1>(a);
  if (a.columns <= 2 * W) return linear_attention_columns<2>(a);
  return linear_attention_columns<4>(a);
}

}  // namespace
}  // namespace hearth::cpu
