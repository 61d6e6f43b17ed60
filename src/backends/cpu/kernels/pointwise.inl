// Elementwise functions, conversions and the transpose. Included once by each instruction set.

namespace hearth::cpu {
namespace {

template <class F> HEARTH_INLINE void map(const float* x, int64_t n, float* y, const F& f) {
  for_lanes(n, [&](int64_t i, int64_t left) { store_upto(y + i, left, f(load_upto(x + i, left))); });
}

void activate(const float* x, int64_t n, Act activation, float* y) {
  with_activation(activation, [&](auto act) { map(x, n, y, [](V v) { return activated<decltype(act)::value>(v); }); });
}

void scale(const float* x, float factor, int64_t n, float* y) {
  map(x, n, y, [f = set(factor)](V v) { return v * f; });
}

void add_scaled(const float* x, float factor, int64_t n, float* y) {
  const V f = set(factor);
  for_lanes(n, [&](int64_t i, int64_t left) { store_upto(y + i, left, load_upto(y + i, left) + load_upto(x + i, left) * f); });
}

void keep_larger(const float* x, int64_t n, float* y) {
  for_lanes(n, [&](int64_t i, int64_t left) {
    const V a = load_upto(x + i, left), b = load_upto(y + i, left), larger = select(less(b, a), a, b);
    store_upto(y + i, left, select(is_nan(a), a, larger));
  });
}

void multiply(const float* a, const float* b, int64_t n, float* y) {
  for_lanes(n, [&](int64_t i, int64_t left) { store_upto(y + i, left, load_upto(a + i, left) * load_upto(b + i, left)); });
}

void affine(const float* x, int64_t n, const float* factor, const float* added, float* y) {
  with_flags(factor, added, [&](auto scaled, auto shifted) {
    for_lanes(n, [&](int64_t i, int64_t left) {
      const auto at = [&](const float* p) { return load_upto(p + i, left); };
      store_upto(y + i, left,
                 adjusted<scaled, shifted>(
                     at(x), [&] { return at(factor); }, [&] { return at(added); }));
    });
  });
}

void soft_cap(float* x, int64_t n, float cap) {
  map(x, n, x, [size = set(cap), inverse = set(1 / cap)](V v) { return size * tanh(v * inverse); });
}

void exponential(const float* x, int64_t n, float* y) {
  map(x, n, y, [](V v) { return exp(v); });
}

template <class Load> HEARTH_INLINE void widen(const void* from, int64_t n, float* y, const Load& load16) {
  const auto* x = static_cast<const char*>(from);  // may be unaligned in a mapped file
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, load16(reinterpret_cast<const uint16_t*>(x + 2 * i)));
  if (i < n) {
    uint16_t last[W] = {};
    __builtin_memcpy(last, x + 2 * i, size_t(n - i) * 2);
    store_n(y + i, n - i, load16(last));
  }
}
void widen_f16(const void* x, int64_t n, float* y) {
  widen(x, n, y, [](const uint16_t* p) { return load_f16(p); });
}
void widen_bf16(const void* x, int64_t n, float* y) {
  widen(x, n, y, [](const uint16_t* p) { return load_bf16(p); });
}

template <class Store> HEARTH_INLINE void narrow(const float* x, int64_t n, void* to, const Store& store16) {
  auto* y = static_cast<char*>(to);
  int64_t i = 0;
  for (; i + W <= n; i += W) store16(reinterpret_cast<uint16_t*>(y + 2 * i), load(x + i));
  if (i < n) {
    uint16_t last[W];
    store16(last, load_n(x + i, n - i));
    __builtin_memcpy(y + 2 * i, last, size_t(n - i) * 2);
  }
}
void narrow_f16(const float* x, int64_t n, void* y) {
  narrow(x, n, y, [](uint16_t* p, V v) { store_f16(p, v); });
}
void narrow_bf16(const float* x, int64_t n, void* y) {
  narrow(x, n, y, [](uint16_t* p, V v) { store_bf16(p, v); });
}

void round_bf16(const float* x, int64_t n, uint16_t* y) {
  narrow(x, n, y, [](uint16_t* p, V v) { store_factor(p, v); });
}

// Eight by eight with 256-bit registers, which both instruction sets have.
HEARTH_INLINE void transpose_8x8(const float* x, int64_t x_stride, __m256 factor, float* y, int64_t y_stride) {
  __m256 r[8], s[8];
  unroll<8>([&](auto i) { r[i] = _mm256_mul_ps(_mm256_loadu_ps(x + i * x_stride), factor); });
  unroll<4>([&](auto i) {
    s[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    s[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  });
  unroll<2>([&](auto i) {
    r[4 * i + 0] = _mm256_shuffle_ps(s[4 * i], s[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(s[4 * i], s[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(s[4 * i + 1], s[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(s[4 * i + 1], s[4 * i + 3], 0xee);
  });
  unroll<4>([&](auto i) {
    _mm256_storeu_ps(y + i * y_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(y + (i + 4) * y_stride, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  });
}

void transpose(const float* x, int64_t x_stride, int64_t rows, int64_t columns, float factor, float* y, int64_t y_stride) {
  const __m256 f = _mm256_set1_ps(factor);
  const auto plain = [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    for (int64_t c = c0; c < c1; ++c)
      for (int64_t r = r0; r < r1; ++r) y[c * y_stride + r] = factor * x[r * x_stride + c];
  };
  const int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
  for (int64_t r = 0; r < whole_rows; r += 8) {
    for (int64_t c = 0; c < whole_columns; c += 8) transpose_8x8(x + r * x_stride + c, x_stride, f, y + c * y_stride + r, y_stride);
    plain(r, r + 8, whole_columns, columns);
  }
  plain(whole_rows, rows, 0, columns);
}

HEARTH_INLINE void transpose_8x8(const uint32_t* x, int64_t x_stride, uint32_t* y, int64_t y_stride) {
  __m256i r[8], s[8];
  unroll<8>([&](auto i) { r[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i * x_stride)); });
  unroll<4>([&](auto i) {
    s[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    s[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  });
  unroll<4>([&](auto i) {
    constexpr int from = i / 2 * 4 + i % 2, to = i / 2 * 4 + i % 2 * 2;
    r[to] = _mm256_unpacklo_epi64(s[from], s[from + 2]);
    r[to + 1] = _mm256_unpackhi_epi64(s[from], s[from + 2]);
  });
  unroll<4>([&](auto i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i * y_stride), _mm256_permute2x128_si256(r[i], r[i + 4], 0x20));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + (i + 4) * y_stride), _mm256_permute2x128_si256(r[i], r[i + 4], 0x31));
  });
}

HEARTH_INLINE void transpose_8x8(const uint16_t* x, int64_t x_stride, uint16_t* y, int64_t y_stride) {
  __m128i r[8], s[8];
  unroll<8>([&](auto i) { r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i * x_stride)); });
  unroll<4>([&](auto i) {  // pairs of rows
    s[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
    s[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
  });
  unroll<4>([&](auto i) {  // four rows, two columns in each
    constexpr int from = i / 2 * 4 + i % 2, to = i / 2 * 4 + i % 2 * 2;
    r[to] = _mm_unpacklo_epi32(s[from], s[from + 2]);
    r[to + 1] = _mm_unpackhi_epi32(s[from], s[from + 2]);
  });
  unroll<4>([&](auto i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + 2 * i * y_stride), _mm_unpacklo_epi64(r[i], r[i + 4]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + (2 * i + 1) * y_stride), _mm_unpackhi_epi64(r[i], r[i + 4]));
  });
}

template <class T> void transpose_bits(const T* x, int64_t x_stride, int64_t rows, int64_t columns, T* y, int64_t y_stride) {
  const auto plain = [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    for (int64_t c = c0; c < c1; ++c)
      for (int64_t r = r0; r < r1; ++r) y[c * y_stride + r] = x[r * x_stride + c];
  };
  const int64_t whole_rows = rows / 8 * 8, whole_columns = columns / 8 * 8;
  for (int64_t c = 0; c < whole_columns; c += 8)
    for (int64_t r = 0; r < whole_rows; r += 8) transpose_8x8(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
  plain(0, whole_rows, whole_columns, columns);
  plain(whole_rows, rows, 0, columns);
}

// Products are rounded before they are added, as everywhere except in sums.
void turn_halves(const float* x, const float* cosine, const float* sine, int64_t half, float* y) {
  for_lanes(half, [&](int64_t i, int64_t left) {
    const V a = load_upto(x + i, left), b = load_upto(x + half + i, left), c = load_upto(cosine + i, left), s = load_upto(sine + i, left);
    store_upto(y + i, left, a * c - b * s);
    store_upto(y + half + i, left, b * c + a * s);
  });
}

void turn_neighbors(const float* x, const float* cosine, const float* sine, int64_t half, float* y) {
  for_lanes(half, [&](int64_t i, int64_t left) {
    V c[2], s[2];
    doubled_lanes(load_upto(cosine + i, left), c, c + 1);
    doubled_lanes(load_upto(sine + i, left), s, s + 1);
    unroll<2>([&](auto j) {
      const int64_t at = 2 * i + j * W, rest = 2 * half - at;
      if (rest <= 0) return;
      const V pairs = load_upto(x + at, rest);
      store_upto(y + at, rest, pairs * c[j] + swapped_pairs(pairs) * first_of_pairs_negated(s[j]));
    });
  });
}

// As in encode_blocks (core/quantized/blocks.h), halves round away from zero; a block that contains NaN or infinity becomes NaN.
void encode_q8_0(const float* x, int64_t n, void* to) {
  constexpr int pieces = 32 / W;
  auto* y = static_cast<char*>(to);
  for (; n > 0; n -= 32, x += 32, y += 34) {
    V v[pieces];
    int bits = 0;
    unroll<pieces>([&](auto i) { v[i] = load(x + i * W); });
    unroll<pieces / 2>([&](auto i) {
      const int lane = largest_lane(as_integers(abs(v[2 * i])), as_integers(abs(v[2 * i + 1])));
      bits = lane > bits ? lane : bits;
    });
    if (bits >= 0x7f800000) {  // infinity or NaN
      bits = 0x7fc00000;
      unroll<pieces>([&](auto i) { v[i] = zero(); });
    }
    float largest;
    __builtin_memcpy(&largest, &bits, sizeof largest);
    const float d = largest / 127, inverse = 1 / d, by = inverse - inverse == 0 ? inverse : 0;  // 0 in place of infinity or NaN
    const unsigned short half = _cvtss_sh(d, _MM_FROUND_TO_NEAREST_INT);
    __builtin_memcpy(y, &half, sizeof half);
    unroll<pieces>([&](auto i) {
      const V scaled = v[i] * set(by), size = abs(scaled), even = round(size);
      const V whole = select(less(size - even, set(0.5f)), even, even + set(1.0f));
      store_bytes(y + 2 + i * W, to_whole(select(less(scaled, zero()), zero() - whole, whole)));
    });
  }
}

}  // namespace
}  // namespace hearth::cpu
