// Scales and codes for the block types whose 256 values have quantized scales, for those with a table of values, and for blocks of 32
// values with a scale of their own. A search minimizes squared errors weighted by what each value's error costs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace hearth::blocks {

// 1 / d, or 0 if that is not finite.
inline float inverse(float d) {
  const float i = 1 / d;
  return std::isfinite(i) ? i : 0;
}

// What an error costs: √(σ² + x²) of each value, because large weights matter more. Without importance σ² is the mean square of the run.
// With importance of each value's column (finite, above 0) it is importance · √(σ² + x²), where σ² is of more values than a run: what the
// columns tell decides, and the size of a weight says less.
struct Cost {
  const float* importance = nullptr;
  float square = 0;    // σ²
  bool alone = false;  // the importance without the root
};

// value = d · scale · code, for runs of `run` values.
template <int run> struct ScaledFit {
  uint16_t d = 0;  // binary16
  std::array<int, 256 / run> scales{};
  std::array<int8_t, 256> codes{};
};
// code in [−most, most), scale in [−most_scale, most_scale).
template <int run> ScaledFit<run> fit_scaled(const float* x, int most, int most_scale, const Cost& cost = {});

// value = d · scale · code − dmin · minimum, for runs of `run` values.
template <int run> struct OffsetFit {
  uint16_t d = 0, dmin = 0;  // binary16
  std::array<int, 256 / run> scales{}, minima{};
  std::array<uint8_t, 256> codes{};
};
// code in [0, most], scale and minimum in [0, most_scale].
template <int run> OffsetFit<run> fit_offset(const float* x, int most, int most_scale, const Cost& cost = {});

// value = d · scale · table[code], for runs of 32 values.
template <int runs> struct TableFit {
  uint16_t d = 0;  // binary16
  std::array<int, runs> scales{};
  std::array<uint8_t, 32 * runs> codes{};
};
// The table is ascending; scale in [−most_scale, most_scale). A single run has scale 1.
template <int runs> TableFit<runs> fit_table(const float* x, const int8_t (&table)[16], int most_scale, const Cost& cost = {});

// value = d · code of 32 values; code in [−most, most).
struct PlainFit {
  uint16_t d = 0;  // binary16
  std::array<int8_t, 32> codes{};
};
PlainFit fit_plain(const float* x, int most, const Cost& cost);

// value = d · code + m of 32 values; code in [0, most].
struct ShiftedFit {
  uint16_t d = 0, m = 0;  // binary16
  std::array<uint8_t, 32> codes{};
};
ShiftedFit fit_shifted(const float* x, int most, const Cost& cost);

extern template TableFit<1> fit_table<1>(const float*, const int8_t (&)[16], int, const Cost&);
extern template TableFit<8> fit_table<8>(const float*, const int8_t (&)[16], int, const Cost&);
extern template ScaledFit<16> fit_scaled<16>(const float*, int, int, const Cost&);
extern template OffsetFit<16> fit_offset<16>(const float*, int, int, const Cost&);
extern template OffsetFit<32> fit_offset<32>(const float*, int, int, const Cost&);

}  // namespace hearth::blocks
