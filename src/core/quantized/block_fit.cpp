#include "core/quantized/block_fit.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/dtype.h"

namespace hearth::blocks {

// Not in the unnamed namespace, because templates with external linkage have members of these types.
struct ScaleAndOffset {
  float d = 0, m = 0;
};

// A table of 16 ascending values, and the middles between neighbors.
struct Table {
  explicit Table(const int8_t (&values)[16]) {
    for (size_t k = 0; k < 16; ++k) value[k] = float(values[k]);
    for (size_t k = 0; k < 15; ++k) middle[k] = (value[k] + value[k + 1]) / 2;
  }
  int code(float x) const {
    return int(std::ranges::count_if(middle, [x](float m) { return x > m; }));
  }
  // The values nearest to x · by. The sign of middle − x · by counts, so that no branch depends on a value.
  std::array<float, 32> nearest(const float* x, float by) const {
    std::array<uint32_t, 32> codes{};
    for (const float m : middle)
      for (size_t i = 0; i < 32; ++i) codes[i] += std::bit_cast<uint32_t>(m - x[i] * by) >> 31;
    std::array<float, 32> y;
    for (size_t i = 0; i < 32; ++i) y[i] = value[codes[i]];
    return y;
  }

  std::array<float, 16> value;
  std::array<float, 15> middle;
};

namespace {

// Rounds to the nearest integer, ties to even; |x| < 2²². Unlike std::nearbyint it is not a function call.
float rounded(float x) { return (x + 12582912.0f) - 12582912.0f; }

int clamped(float x, int low, int high) { return std::clamp(int(rounded(std::clamp(x, float(low), float(high)))), low, high); }

// 1/d, so that each value is multiplied instead of divided; 0 if it overflows f32.
template <int run> using Weights = std::array<float, run>;

template <int run> Weights<run> weights(const float* x, const Cost& cost, int first) {
  x += first;
  float square = cost.square;
  if (!cost.importance) {
    float squares = 0;
    for (int i = 0; i < run; ++i) squares += x[i] * x[i];
    square = squares / run;
  }
  Weights<run> w;
  for (int i = 0; i < run; ++i) {
    const float root = cost.alone ? 1.0f : std::sqrt(square + x[i] * x[i]);
    w[size_t(i)] = root * (cost.importance ? cost.importance[first + i] : 1.0f);
  }
  return w;
}

// Σ w (d · code − m − x)² with the best codes in [low, high].
template <int run> float error_of(const float* x, const Weights<run>& w, float d, float m, float low, float high) {
  const float by = inverse(d);
  float error = 0;
  for (int i = 0; i < run; ++i) {
    const float code = rounded(std::clamp((x[i] + m) * by, low, high));
    const float e = d * code - m - x[i];
    error += w[size_t(i)] * e * e;
  }
  return error;
}

// The best scale d for the codes in [−most, most) that x·by rounds to.
template <int run> float refitted(const float* x, const Weights<run>& w, float by, int most) {
  float xq = 0, qq = 0;
  for (int i = 0; i < run; ++i) {
    const float q = rounded(std::clamp(x[i] * by, float(-most), float(most - 1)));
    xq += w[size_t(i)] * x[i] * q;
    qq += w[size_t(i)] * q * q;
  }
  return qq > 0 ? xq / qq : 0;
}

template <int run> float best_scale(const float* x, const Weights<run>& w, int most) {
  const float largest = *std::max_element(x, x + run, [](float a, float b) { return std::abs(a) < std::abs(b); });
  float best = 0, least = error_of<run>(x, w, 0, 0, float(-most), float(most - 1));
  const auto offer = [&](float d) {
    const float error = error_of<run>(x, w, d, 0, float(-most), float(most - 1));
    if (!(error < least)) return false;
    least = error;
    best = d;
    return true;
  };
  for (int step = -9; step <= 9; ++step) offer(refitted<run>(x, w, -(float(most) + 0.1f * float(step)) * inverse(largest), most));
  for (int again = 0; again < 4 && offer(refitted<run>(x, w, inverse(best), most)); ++again) {}
  return best;
}

// The same with a minimum −m, which is at most 0 unless it is `free`.
template <int run> ScaleAndOffset refitted(const float* x, const Weights<run>& w, float by, float m, int most, bool free) {
  float n = 0, sx = 0, sq = 0, qq = 0, xq = 0;
  for (int i = 0; i < run; ++i) {
    const float q = rounded(std::clamp((x[i] + m) * by, 0.0f, float(most))), wi = w[size_t(i)];
    n += wi;
    sx += wi * x[i];
    sq += wi * q;
    qq += wi * q * q;
    xq += wi * x[i] * q;
  }
  const float determinant = n * qq - sq * sq;
  if (!(determinant > 0)) return {0, free ? -sx / n : std::max(0.0f, -sx / n)};
  const ScaleAndOffset fit{(n * xq - sx * sq) / determinant, -(qq * sx - sq * xq) / determinant};
  return free || fit.m >= 0 ? fit : ScaleAndOffset{xq / qq, 0};
}

template <int run> ScaleAndOffset best_offset(const float* x, const Weights<run>& w, int most, bool free = false) {
  float lowest = *std::min_element(x, x + run), highest = *std::max_element(x, x + run);
  if (!free) lowest = std::min(0.0f, lowest), highest = std::max(0.0f, highest);
  ScaleAndOffset best{0, free ? -lowest : 0};
  if (highest == lowest) return best;
  float least = error_of<run>(x, w, 0, best.m, 0, float(most));
  const auto offer = [&](ScaleAndOffset fit) {
    if (!(fit.d >= 0)) return false;
    const float error = error_of<run>(x, w, fit.d, fit.m, 0, float(most));
    if (!(error < least)) return false;
    least = error;
    best = fit;
    return true;
  };
  for (int step = -10; step <= 10; ++step)
    offer(refitted<run>(x, w, (float(most) + 0.1f * float(step)) * inverse(highest - lowest), -lowest, most, free));
  for (int again = 0; again < 6 && offer(refitted<run>(x, w, inverse(best.d), best.m, most, free)); ++again) {}
  return best;
}

float table_error(const float* x, const Weights<32>& w, float d, const Table& table) {
  const Weights<32> q = table.nearest(x, inverse(d));
  float error = 0;
  for (size_t i = 0; i < 32; ++i) {
    const float e = d * q[i] - x[i];
    error += w[i] * e * e;
  }
  return error;
}

// The best scale d for the codes that the scale 1/by gives.
float table_refitted(const float* x, const Weights<32>& w, float by, const Table& table) {
  const Weights<32> q = table.nearest(x, by);
  float xq = 0, qq = 0;
  for (size_t i = 0; i < 32; ++i) {
    xq += w[i] * x[i] * q[i];
    qq += w[i] * q[i] * q[i];
  }
  return qq > 0 ? xq / qq : 0;
}

// Tries both signs, because the table extends further below zero than above.
float best_table_scale(const float* x, const Weights<32>& w, const Table& table) {
  const float largest = *std::max_element(x, x + 32, [](float a, float b) { return std::abs(a) < std::abs(b); });
  if (largest == 0) return 0;
  float best = 0, least = INFINITY;
  const auto offer = [&](float d) {
    const float error = table_error(x, w, d, table);
    if (!(error < least)) return false;
    least = error;
    best = d;
    return true;
  };
  for (const float end : {table.value[0], table.value[15]})
    for (int step = -7; step <= 7; ++step) offer(table_refitted(x, w, end * (1 + 0.02f * float(step)) * inverse(largest), table));
  for (int again = 0; again < 4 && offer(table_refitted(x, w, inverse(best), table)); ++again) {}
  return best;
}

// Values that no binary16 scale reaches, and whose squares would overflow.
bool too_large(const float* x, int values = 256) {
  return std::any_of(x, x + values, [](float v) { return std::abs(v) > 1e10f; });
}
constexpr uint16_t infinite = 0x7c00;

}  // namespace

// Chooses scales and codes for a d, and then the best d for those, while the error shrinks. `fitted` is {fit, error} of a d; `better` is
// the best d for a fit.
template <class D, class Fitted, class Better> auto refined(D d, Fitted fitted, Better better) {
  auto [best, least] = fitted(d);
  for (int again = 0; again < 3; ++again) {
    const D next = better(best);
    if (next == d) break;
    d = next;
    auto [fit, error] = fitted(d);
    if (!(error < least)) break;
    best = fit;
    least = error;
  }
  return best;
}

template <int run> ScaledFit<run> fit_scaled(const float* x, int most, int most_scale, const Cost& cost) {
  if (too_large(x)) return {.d = infinite};
  constexpr int runs = 256 / run;
  std::array<float, runs> ideal;
  std::array<Weights<run>, runs> w;
  for (int j = 0; j < runs; ++j) {
    w[size_t(j)] = weights<run>(x, cost, j * run);
    ideal[size_t(j)] = best_scale<run>(x + j * run, w[size_t(j)], most);
  }
  const auto fitted = [&](uint16_t half) {
    ScaledFit<run> fit{.d = half};
    const float d = f16_to_f32(half);
    float total = 0;
    for (int j = 0; j < runs; ++j) {
      const int middle = clamped(ideal[size_t(j)] * inverse(d), -most_scale, most_scale - 1);
      float least = INFINITY;
      for (int s = std::max(middle - 1, -most_scale); s <= std::min(middle + 1, most_scale - 1); ++s) {
        const float error = error_of<run>(x + j * run, w[size_t(j)], d * float(s), 0, float(-most), float(most - 1));
        if (error >= least) continue;
        least = error;
        fit.scales[size_t(j)] = s;
      }
      total += least;
      const float by = inverse(d * float(fit.scales[size_t(j)]));
      for (int i = j * run; i < (j + 1) * run; ++i) fit.codes[size_t(i)] = int8_t(clamped(x[i] * by, -most, most - 1));
    }
    return std::pair(fit, total);
  };
  const auto better = [&](const ScaledFit<run>& fit) {
    float xq = 0, qq = 0;
    for (int i = 0; i < 256; ++i) {
      const float q = float(fit.scales[size_t(i / run)] * fit.codes[size_t(i)]), wi = w[size_t(i / run)][size_t(i % run)];
      xq += wi * x[i] * q;
      qq += wi * q * q;
    }
    return qq > 0 ? f32_to_f16(xq / qq) : fit.d;
  };
  const float largest = *std::ranges::max_element(ideal, {}, [](float s) { return std::abs(s); });
  return refined(f32_to_f16(-largest / float(most_scale)), fitted, better);
}

template <int run> OffsetFit<run> fit_offset(const float* x, int most, int most_scale, const Cost& cost) {
  if (too_large(x)) return {.d = infinite};
  constexpr int runs = 256 / run;
  std::array<ScaleAndOffset, runs> ideal;
  std::array<Weights<run>, runs> w;
  float largest_d = 0, largest_m = 0;
  for (int j = 0; j < runs; ++j) {
    w[size_t(j)] = weights<run>(x, cost, j * run);
    ideal[size_t(j)] = best_offset<run>(x + j * run, w[size_t(j)], most);
    largest_d = std::max(largest_d, ideal[size_t(j)].d);
    largest_m = std::max(largest_m, ideal[size_t(j)].m);
  }
  using Halves = std::pair<uint16_t, uint16_t>;  // d, dmin
  const auto fitted = [&](Halves halves) {
    OffsetFit<run> fit{.d = halves.first, .dmin = halves.second};
    const float d = f16_to_f32(fit.d), dmin = f16_to_f32(fit.dmin);
    float total = 0;
    for (int j = 0; j < runs; ++j) {
      const int scale = clamped(ideal[size_t(j)].d * inverse(d), 0, most_scale),
                minimum = clamped(ideal[size_t(j)].m * inverse(dmin), 0, most_scale);
      float least = INFINITY;
      for (int s = std::max(scale - 1, 0); s <= std::min(scale + 1, most_scale); ++s)
        for (int m = std::max(minimum - 1, 0); m <= std::min(minimum + 1, most_scale); ++m) {
          const float error = error_of<run>(x + j * run, w[size_t(j)], d * float(s), dmin * float(m), 0, float(most));
          if (error >= least) continue;
          least = error;
          fit.scales[size_t(j)] = s;
          fit.minima[size_t(j)] = m;
        }
      total += least;
      const float by = inverse(d * float(fit.scales[size_t(j)])), m = dmin * float(fit.minima[size_t(j)]);
      for (int i = j * run; i < (j + 1) * run; ++i) fit.codes[size_t(i)] = uint8_t(clamped((x[i] + m) * by, 0, most));
    }
    return std::pair(fit, total);
  };
  // The best factors d of p = scale · code and dmin of −minimum.
  const auto better = [&](const OffsetFit<run>& fit) {
    double pp = 0, pm = 0, mm = 0, xp = 0, xm = 0;
    for (int i = 0; i < 256; ++i) {
      const double p = fit.scales[size_t(i / run)] * fit.codes[size_t(i)], m = -fit.minima[size_t(i / run)],
                   wi = double(w[size_t(i / run)][size_t(i % run)]), xi = double(x[i]);
      pp += wi * p * p;
      pm += wi * p * m;
      mm += wi * m * m;
      xp += wi * xi * p;
      xm += wi * xi * m;
    }
    const double determinant = pp * mm - pm * pm;
    if (!(determinant > 1e-9 * pp * mm)) return pp > 0 && mm == 0 ? Halves{f32_to_f16(float(xp / pp)), fit.dmin} : Halves{fit.d, fit.dmin};
    const double d = (xp * mm - xm * pm) / determinant, dmin = (pp * xm - pm * xp) / determinant;
    return d > 0 && dmin > 0 ? Halves{f32_to_f16(float(d)), f32_to_f16(float(dmin))} : Halves{fit.d, fit.dmin};
  };
  return refined(Halves{f32_to_f16(largest_d / float(most_scale)), f32_to_f16(largest_m / float(most_scale))}, fitted, better);
}

template <int runs> TableFit<runs> fit_table(const float* x, const int8_t (&values)[16], int most_scale, const Cost& cost) {
  if (too_large(x, 32 * runs)) return {.d = infinite};
  const Table table(values);
  std::array<float, runs> ideal;
  std::array<Weights<32>, runs> w;
  for (int j = 0; j < runs; ++j) {
    w[size_t(j)] = weights<32>(x, cost, j * 32);
    ideal[size_t(j)] = best_table_scale(x + j * 32, w[size_t(j)], table);
  }
  const auto fitted = [&](uint16_t half) {
    TableFit<runs> fit{.d = half};
    const float d = f16_to_f32(half);
    float total = 0;
    for (int j = 0; j < runs; ++j) {
      int& scale = fit.scales[size_t(j)];
      scale = runs == 1 ? 1 : clamped(ideal[size_t(j)] * inverse(d), -most_scale, most_scale - 1);
      if (runs > 1) {
        float least = INFINITY;
        for (int s = std::max(scale - 1, -most_scale), last = std::min(scale + 1, most_scale - 1); s <= last; ++s) {
          const float error = table_error(x + j * 32, w[size_t(j)], d * float(s), table);
          if (error >= least) continue;
          least = error;
          scale = s;
        }
        total += least;
      }
      const float by = inverse(d * float(scale));
      for (int i = j * 32; i < (j + 1) * 32; ++i) fit.codes[size_t(i)] = uint8_t(table.code(x[i] * by));
    }
    return std::pair(fit, total);
  };
  if (runs == 1) return fitted(f32_to_f16(ideal[0])).first;
  const auto better = [&](const TableFit<runs>& fit) {
    float xq = 0, qq = 0;
    for (int i = 0; i < 32 * runs; ++i) {
      const float q = float(fit.scales[size_t(i / 32)] * values[fit.codes[size_t(i)]]), wi = w[size_t(i / 32)][size_t(i % 32)];
      xq += wi * x[i] * q;
      qq += wi * q * q;
    }
    return qq > 0 ? f32_to_f16(xq / qq) : fit.d;
  };
  const float largest = *std::ranges::max_element(ideal, {}, [](float s) { return std::abs(s); });
  return refined(f32_to_f16(-largest / float(most_scale)), fitted, better);
}

PlainFit fit_plain(const float* x, int most, const Cost& cost) {
  if (too_large(x, 32)) return {.d = infinite};
  PlainFit fit;
  fit.d = f32_to_f16(best_scale<32>(x, weights<32>(x, cost, 0), most));
  const float by = inverse(f16_to_f32(fit.d));
  for (int i = 0; i < 32; ++i) fit.codes[size_t(i)] = int8_t(clamped(x[i] * by, -most, most - 1));
  return fit;
}

ShiftedFit fit_shifted(const float* x, int most, const Cost& cost) {
  if (too_large(x, 32)) return {.d = infinite};
  const ScaleAndOffset best = best_offset<32>(x, weights<32>(x, cost, 0), most, true);
  ShiftedFit fit;
  fit.d = f32_to_f16(best.d);
  fit.m = f32_to_f16(-best.m);
  const float by = inverse(f16_to_f32(fit.d)), m = f16_to_f32(fit.m);
  for (int i = 0; i < 32; ++i) fit.codes[size_t(i)] = uint8_t(clamped((x[i] - m) * by, 0, most));
  return fit;
}

template TableFit<1> fit_table<1>(const float*, const int8_t (&)[16], int, const Cost&);
template TableFit<8> fit_table<8>(const float*, const int8_t (&)[16], int, const Cost&);
template ScaledFit<16> fit_scaled<16>(const float*, int, int, const Cost&);
template OffsetFit<16> fit_offset<16>(const float*, int, int, const Cost&);
template OffsetFit<32> fit_offset<32>(const float*, int, int, const Cost&);

}  // namespace hearth::blocks
