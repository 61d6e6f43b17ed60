#include "core/quantized/block_fit.h"

#include <algorithm>
#include <cmath>

#include "core/dtype.h"

namespace hearth::blocks {
namespace {

// Rounds to the nearest integer, ties to even; |x| < 2²². Unlike std::nearbyint it is not a function call.
float rounded(float x) { return (x + 12582912.0f) - 12582912.0f; }

int clamped(float x, int low, int high) { return std::clamp(int(rounded(std::clamp(x, float(low), float(high)))), low, high); }

// 1/d, so that each value is multiplied instead of divided; 0 if it overflows f32.
template <int run> using Weights = std::array<float, run>;

template <int run> Weights<run> weights(const float* x, const float* importance) {
  float squares = 0;
  for (int i = 0; i < run; ++i) squares += x[i] * x[i];
  Weights<run> w;
  for (int i = 0; i < run; ++i) w[size_t(i)] = std::sqrt(squares / run + x[i] * x[i]) * (importance ? importance[i] : 1.0f);
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

struct ScaleAndOffset {
  float d = 0, m = 0;
};

// The same with a minimum −m ≤ 0.
template <int run> ScaleAndOffset refitted(const float* x, const Weights<run>& w, float by, float m, int most) {
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
  if (!(determinant > 0)) return {0, std::max(0.0f, -sx / n)};
  const ScaleAndOffset free{(n * xq - sx * sq) / determinant, -(qq * sx - sq * xq) / determinant};
  return free.m >= 0 ? free : ScaleAndOffset{xq / qq, 0};
}

template <int run> ScaleAndOffset best_offset(const float* x, const Weights<run>& w, int most) {
  const float lowest = std::min(0.0f, *std::min_element(x, x + run)), highest = std::max(0.0f, *std::max_element(x, x + run));
  if (highest == lowest) return {};
  ScaleAndOffset best{0, 0};
  float least = error_of<run>(x, w, 0, 0, 0, float(most));
  const auto offer = [&](ScaleAndOffset fit) {
    if (!(fit.d >= 0)) return false;
    const float error = error_of<run>(x, w, fit.d, fit.m, 0, float(most));
    if (!(error < least)) return false;
    least = error;
    best = fit;
    return true;
  };
  for (int step = -10; step <= 10; ++step)
    offer(refitted<run>(x, w, (float(most) + 0.1f * float(step)) * inverse(highest - lowest), -lowest, most));
  for (int again = 0; again < 6 && offer(refitted<run>(x, w, inverse(best.d), best.m, most)); ++again) {}
  return best;
}

// The code of the table value nearest to x.
int nearest(float x, const int8_t (&table)[16]) {
  int low = 0, high = 15;
  while (high - low > 1) (x < float(table[(low + high) / 2]) ? high : low) = (low + high) / 2;
  return x - float(table[low]) <= float(table[high]) - x ? low : high;
}

float table_error(const float* x, const Weights<32>& w, float d, const int8_t (&table)[16]) {
  const float by = inverse(d);
  float error = 0;
  for (int i = 0; i < 32; ++i) {
    const float e = d * float(table[nearest(x[i] * by, table)]) - x[i];
    error += w[size_t(i)] * e * e;
  }
  return error;
}

// The best scale d for the codes that the scale 1/by gives.
float table_refitted(const float* x, const Weights<32>& w, float by, const int8_t (&table)[16]) {
  float xq = 0, qq = 0;
  for (int i = 0; i < 32; ++i) {
    const auto q = float(table[nearest(x[i] * by, table)]);
    xq += w[size_t(i)] * x[i] * q;
    qq += w[size_t(i)] * q * q;
  }
  return qq > 0 ? xq / qq : 0;
}

// Tries both signs, because the table extends further below zero than above.
float best_table_scale(const float* x, const Weights<32>& w, const int8_t (&table)[16]) {
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
  for (const float end : {float(table[0]), float(table[15])})
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

template <int run> ScaledFit<run> fit_scaled(const float* x, int most, int most_scale, const float* importance) {
  if (too_large(x)) return {.d = infinite};
  constexpr int runs = 256 / run;
  std::array<float, runs> ideal;
  std::array<Weights<run>, runs> w;
  for (int j = 0; j < runs; ++j) {
    w[size_t(j)] = weights<run>(x + j * run, importance ? importance + j * run : nullptr);
    ideal[size_t(j)] = best_scale<run>(x + j * run, w[size_t(j)], most);
  }
  const float largest = *std::ranges::max_element(ideal, {}, [](float s) { return std::abs(s); });
  ScaledFit<run> fit;
  fit.d = f32_to_f16(-largest / float(most_scale));
  const float d = f16_to_f32(fit.d);
  for (int j = 0; j < runs; ++j) {
    const int middle = clamped(ideal[size_t(j)] * inverse(d), -most_scale, most_scale - 1);
    float least = INFINITY;
    for (int s = std::max(middle - 1, -most_scale); s <= std::min(middle + 1, most_scale - 1); ++s) {
      const float error = error_of<run>(x + j * run, w[size_t(j)], d * float(s), 0, float(-most), float(most - 1));
      if (error >= least) continue;
      least = error;
      fit.scales[size_t(j)] = s;
    }
    const float by = inverse(d * float(fit.scales[size_t(j)]));
    for (int i = j * run; i < (j + 1) * run; ++i) fit.codes[size_t(i)] = int8_t(clamped(x[i] * by, -most, most - 1));
  }
  return fit;
}

template <int run> OffsetFit<run> fit_offset(const float* x, int most, int most_scale, const float* importance) {
  if (too_large(x)) return {.d = infinite};
  constexpr int runs = 256 / run;
  std::array<ScaleAndOffset, runs> ideal;
  std::array<Weights<run>, runs> w;
  float largest_d = 0, largest_m = 0;
  for (int j = 0; j < runs; ++j) {
    w[size_t(j)] = weights<run>(x + j * run, importance ? importance + j * run : nullptr);
    ideal[size_t(j)] = best_offset<run>(x + j * run, w[size_t(j)], most);
    largest_d = std::max(largest_d, ideal[size_t(j)].d);
    largest_m = std::max(largest_m, ideal[size_t(j)].m);
  }
  OffsetFit<run> fit;
  fit.d = f32_to_f16(largest_d / float(most_scale));
  fit.dmin = f32_to_f16(largest_m / float(most_scale));
  const float d = f16_to_f32(fit.d), dmin = f16_to_f32(fit.dmin);
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
    const float by = inverse(d * float(fit.scales[size_t(j)])), m = dmin * float(fit.minima[size_t(j)]);
    for (int i = j * run; i < (j + 1) * run; ++i) fit.codes[size_t(i)] = uint8_t(clamped((x[i] + m) * by, 0, most));
  }
  return fit;
}

template <int runs> TableFit<runs> fit_table(const float* x, const int8_t (&table)[16], int most_scale, const float* importance) {
  if (too_large(x, 32 * runs)) return {.d = infinite};
  std::array<float, runs> ideal;
  std::array<Weights<32>, runs> w;
  for (int j = 0; j < runs; ++j) {
    w[size_t(j)] = weights<32>(x + j * 32, importance ? importance + j * 32 : nullptr);
    ideal[size_t(j)] = best_table_scale(x + j * 32, w[size_t(j)], table);
  }
  const float largest = *std::ranges::max_element(ideal, {}, [](float s) { return std::abs(s); });
  TableFit<runs> fit;
  fit.d = f32_to_f16(runs == 1 ? ideal[0] : -largest / float(most_scale));
  const float d = f16_to_f32(fit.d);
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
    }
    const float by = inverse(d * float(scale));
    for (int i = j * 32; i < (j + 1) * 32; ++i) fit.codes[size_t(i)] = uint8_t(nearest(x[i] * by, table));
  }
  return fit;
}

template TableFit<1> fit_table<1>(const float*, const int8_t (&)[16], int, const float*);
template TableFit<8> fit_table<8>(const float*, const int8_t (&)[16], int, const float*);
template ScaledFit<16> fit_scaled<16>(const float*, int, int, const float*);
template OffsetFit<16> fit_offset<16>(const float*, int, int, const float*);
template OffsetFit<32> fit_offset<32>(const float*, int, int, const float*);

}  // namespace hearth::blocks
