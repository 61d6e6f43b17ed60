#include "sampling/tokens/exponentials.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace hearth::sampling {
namespace {

// For x ≤ 0: 2ⁿ·eʳ with |r| ≤ ln(2)/2 and eʳ by its series, whose ninth term is below half a unit in the last place.
inline float exp_of_negative(float x) {
  const uint32_t mask = -uint32_t(x >= -87.0f);  // a branch would prevent vectorization of the loop
  const auto masked = [=](float v) { return std::bit_cast<float>(std::bit_cast<uint32_t>(v) & mask); };
  const float bounded = masked(x);
  const float shift = 0x1.8p23f;  // adding it rounds to an integer
  const float n = (bounded * 1.44269504f + shift) - shift;
  const float r = (bounded - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;  // ln 2 in two parts, the first short enough to be exact
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * (r * r) + r + 1.0f;
  const float power = std::bit_cast<float>((int32_t(n) + 127) << 23);
  return masked(series * power);
}

constexpr size_t lanes = 8, block = 512;

// Σ x in f64: lane i mod 8 takes value i.
struct Sum {
  double lane[lanes] = {};

  void add(const float* x, size_t count) {
    size_t i = 0;
    for (; i + lanes <= count; i += lanes)
      for (size_t k = 0; k < lanes; ++k) lane[k] += double(x[i + k]);
    for (; i < count; ++i) lane[i % lanes] += double(x[i]);
  }
  double total() const { return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7])); }
};

// Calls store(i, e, n) with the exponentials of values i … i + n − 1, block by block.
template <class Store> double by_blocks(std::span<const float> x, float max, Store store) {
  Sum sum;
  float e[block];
  for (size_t i = 0; i < x.size(); i += block) {
    const size_t n = std::min(block, x.size() - i);
    const float* from = x.data() + i;
    for (size_t k = 0; k < n; ++k) e[k] = exp_of_negative(from[k] - max);
    sum.add(e, n);
    store(i, e, n);
  }
  return sum.total();
}

}  // namespace

double exponentials(std::span<const float> x, float max, std::span<float> out) {
  return by_blocks(x, max, [&](size_t i, const float* e, size_t n) { std::copy_n(e, n, out.data() + i); });
}

double sum_of_exponentials(std::span<const float> x, float max) {
  return by_blocks(x, max, [](size_t, const float*, size_t) {});
}

double sum_of(std::span<const float> x) {
  Sum sum;
  sum.add(x.data(), x.size());
  return sum.total();
}

float largest(std::span<const float> x) {
  float max[lanes];
  std::fill_n(max, lanes, -std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + lanes <= x.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane) max[lane] = std::max(max[lane], x[i + lane]);
  for (; i < x.size(); ++i) max[0] = std::max(max[0], x[i]);
  return *std::max_element(max, max + lanes);
}

int64_t count_non_finite(std::span<const float> x) {
  int64_t count = 0;
  for (const float v : x) count += (std::bit_cast<uint32_t>(v) & 0x7f800000u) == 0x7f800000u;
  return count;
}

void check_logits(std::span<const float> logits) {
  if (logits.empty()) fail<ShapeError>("logits: empty row, expected one value per token");
  const int64_t bad = count_non_finite(logits);
  if (bad == 0) return;
  const auto first = std::find_if(logits.begin(), logits.end(), [](float v) { return !std::isfinite(v); });
  fail<NonFiniteError>("logits: {} of {} values {} not finite, the first is {} at token {}, expected finite values", bad, logits.size(),
                       bad == 1 ? "is" : "are", *first, first - logits.begin());
}

}  // namespace hearth::sampling
