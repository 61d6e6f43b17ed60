#include <algorithm>
#include <array>

#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/self_check_values.h"
#include "core/dtype.h"
#include "core/quantized/blocks.h"

namespace hearth::cpu {
namespace {

// Rows of each type, one row of x alone, in a tile and in a tile of transposed rows: correct and bit-identical. The bytes 0x20 … 0x3f are
// small positive numbers in f16.
void check_rows(const Kernels& kernel) {
  constexpr DType numbers[] = {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2};
  const int64_t columns = kernel.dot_columns, K = 256 + (kernel.lanes - 1);
  const auto x = values(kernel.dot_rows * K);
  for (int type = row_f32; type <= row_iq1_m; ++type) {
    const DType dtype = type < row_q4_0 ? numbers[type] : DType(int(DType::q4_0) + type - row_q4_0);
    const int64_t n = is_blocked(dtype) ? 256 : K, steps = (n + kernel.lanes - 1) / kernel.lanes, stride = steps * kernel.lanes;
    const size_t row = bytes_of(dtype, n);
    std::vector<std::byte> w(size_t(kernel.panel) * row);
    for (size_t i = 0; i < w.size(); ++i) w[i] = std::byte(0x20 + i * 7 % 32);
    if (dtype == DType::mxfp4)
      for (size_t i = 0; i < w.size(); i += 17) w[i] = std::byte(127);

    std::vector<float> right(size_t(columns * stride)), alone(static_cast<size_t>(kernel.panel)), widened(static_cast<size_t>(n)),
        left(static_cast<size_t>(kernel.dot_rows * stride));
    for (int64_t c = 0; c < columns; ++c) {
      float* to = right.data() + c * stride;
      kernel.widen_row(RowType(type), w.data() + size_t(c) * row, n, to);
      if (is_blocked(dtype)) decode_blocks(dtype, w.data() + size_t(c) * row, n, widened.data());
      for (int64_t k = 0; is_blocked(dtype) && k < n; ++k) expect("widened row", to[k], widened[size_t(k)], 0);
      for (int64_t k = 0; is_8bit_float(dtype) && k < n; ++k)
        expect("widened row", to[k], f8_to_f32(dtype, uint8_t(w[size_t(c) * row + size_t(k)])), 0);
    }
    kernel.row_dots(RowType(type), x.data(), w.data(), kernel.panel, n, alone.data());
    kernel.pack_left(x.data(), n, kernel.dot_rows, n, left.data());
    std::array<float, most_dots> sums;
    std::vector<float> lanes(size_t(kernel.dot_rows * kernel.dot_columns * kernel.lanes));
    const int64_t half = steps / 2;
    kernel.dot_tile(left.data(), right.data(), stride, half, lanes.data(), {.first = true, .last = false, .first_chunk = true}, nullptr);
    kernel.dot_tile(left.data() + half * kernel.dot_rows * kernel.lanes, right.data() + half * kernel.lanes, stride, steps - half,
                    lanes.data(), {.first = false, .last = true, .first_chunk = true}, sums.data());
    std::vector<float> turned_left(size_t(kernel.tile_rows * stride)), turned_sums(size_t(kernel.dot_rows * kernel.panel)),
        turned_right(size_t(kernel.panel * stride + kernel.lanes * turned_gap));
    kernel.turn_left(x.data(), n, kernel.dot_rows, n, turned_left.data());
    kernel.turn_right(RowType(type), w.data(), int64_t(row), kernel.panel, n, turned_right.data());
    kernel.turned_tile(kernel.dot_rows, turned_left.data(), turned_right.data(), steps, turned_sums.data(), false, nullptr, 0);
    for (int64_t c = 0; c < kernel.panel; ++c) expect("tile of turned rows", turned_sums[size_t(c)], alone[size_t(c)], 0);
    for (int64_t r = 0; r < kernel.dot_rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < n; ++k) {
          const double term = double(x[size_t(r * n + k)]) * right[size_t(c * stride + k)];
          sum += term, size += std::abs(term);
        }
        const float got = sums[size_t(r * columns + c)];
        expect("dot tile", got / (1 + size), sum / (1 + size), 1e-6);
        if (r == 0) expect("row of dots", alone[size_t(c)], got, 0);
        expect("tile of turned rows", turned_sums[size_t(r * kernel.panel + c)], got, 0);
      }
  }
}

// Rows of each block type, one row of x alone and in a tile: correct and bit-identical.
void check_integers(const Kernels& kernel) {
  const IntegerKernels& integers = *kernel.integers;
  const int64_t columns = kernel.panel - 3, rows = integers.most_rows;
  for (int type = row_q4_0; type <= row_iq1_m; ++type) {
    const DType dtype = DType(int(DType::q4_0) + type - row_q4_0);
    const int64_t n = block_of(dtype).values == 256 ? 768 : 608, unit = integer_unit(RowType(type));
    const size_t row = bytes_of(dtype, n);
    auto x = values(rows * n);  // 32767 in each block of 32: then d is 1 / 16, and q is the value times 16
    for (int64_t i = 0; i < rows * n; i += 32) x[size_t(i)] = 32767.0f / 16;
    std::vector<std::byte> w(size_t(columns) * row);
    for (size_t i = 0; i < w.size(); ++i) w[i] = std::byte(0x20 + i * 7 % 32);
    if (dtype == DType::mxfp4)
      for (size_t i = 0; i < w.size(); i += 17) w[i] = std::byte(127);

    const auto size = [](int64_t count) { return size_t(count); };
    std::vector<int16_t> q(size(1024)), left(size(rows * n)), codes(size(kernel.panel * n));
    std::vector<int32_t> sums_of_q(size(1024 / unit));
    std::vector<float> d(size(1024 / unit)), alone(size(columns)), left_d(size(rows * n / unit)), left_s(left_d.size()),
        step(size(kernel.panel * n / unit)), least(step.size()), sums(size(rows * kernel.panel)), widened(size(n));
    integers.quantize_row(RowType(type), x.data(), n, q.data(), d.data(), sums_of_q.data());
    integers.row_dots(RowType(type), q.data(), d.data(), sums_of_q.data(), w.data(), columns, n, alone.data(), nullptr);
    integers.pack(x.data(), n, rows, rows, n, unit, left.data(), left_d.data(), left_s.data());
    integers.widen(RowType(type), w.data(), int64_t(row), columns, n, codes.data(), step.data(), least.data());
    integers.tile(RowType(type), rows, left.data(), left_d.data(), left_s.data(), codes.data(), step.data(), least.data(), n / unit,
                  sums.data());
    for (int64_t c = 0; c < columns; ++c) {
      decode_blocks(dtype, w.data() + size_t(c) * row, n, widened.data());
      for (int64_t r = 0; r < rows; ++r) {
        double sum = 0, all = 0;
        for (int64_t k = 0; k < n; ++k) {
          const double term = double(x[size_t(r * n + k)]) * widened[size_t(k)];
          sum += term, all += std::abs(term);
        }
        const float got = sums[size_t(r * kernel.panel + c)];
        expect("integer tile", got / (1 + all), sum / (1 + all), 1e-6);
        if (r == 0) expect("row of integer dots", alone[size_t(c)], got, 0);
      }
    }
  }
}

// A panel of rows with one missing, as columns and as panels of columns. A q8_0 panel has scales of 0x2020 … 0x3f3f in f16.
void check_packing(const Kernels& kernel) {
  const int64_t panel = kernel.panel;
  for (const RowType type : {row_f32, row_f16, row_bf16, row_q8_0}) {
    const int64_t n = type == row_q8_0 ? 32 : kernel.lanes + 3, columns = (n + panel - 1) / panel, row_bytes = n * 4;
    std::vector<std::byte> memory(static_cast<size_t>(panel * row_bytes));
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = std::byte(0x20 + i * 7 % 32);
    std::vector<const void*> rows;
    for (int64_t r = 0; r < panel; ++r) rows.push_back(r == 2 ? nullptr : memory.data() + r * row_bytes);
    std::vector<float> turned(static_cast<size_t>(n * panel)), beside(static_cast<size_t>(columns * panel * panel)),
        row(static_cast<size_t>(n));
    kernel.pack_keys(type, rows.data(), n, turned.data());
    kernel.pack_values(type, rows.data(), n, beside.data(), panel * panel);
    for (int64_t r = 0; r < panel; ++r) {
      if (rows[size_t(r)]) kernel.widen_row(type, rows[size_t(r)], n, row.data());
      else std::fill(row.begin(), row.end(), 0.0f);
      for (int64_t d = 0; d < n; ++d) {
        expect("packed key", turned[size_t(d * panel + r)], row[size_t(d)], 0);
        expect("packed value", beside[size_t(d / panel * panel * panel + r * panel + d % panel)], row[size_t(d)], 0);
      }
    }
  }
}

// Two parts of a row's keys, and both merged.
void check_parts(const Kernels& kernel) {
  const int64_t panel = kernel.panel, keys = 2 * panel, first = 3, middle = panel + 1, last = keys - 2, columns = kernel.lanes + 3;
  const auto scores = values(keys), left = values(columns, 9), right = values(columns, 4);
  auto s = scores, t = scores, o = left;
  float m, l, further_m, further_l;
  kernel.softmax_part(s.data(), panel, first, middle, 2, &m, &l);
  kernel.softmax_part(t.data(), panel, middle, last, 2, &further_m, &further_l);
  double high = -1e9, sum = 0;
  for (int64_t k = first; k < middle; ++k) high = std::max(high, double(scores[size_t(k)]));
  for (int64_t k = 0; k < keys; ++k) {
    const double weight = first <= k && k < middle ? std::exp(scores[size_t(k)] - high) : 0;
    expect("weights of a part", s[size_t(k)], weight);
    sum += weight;
  }
  expect("sum of a part", l, sum);
  const double above = std::max(m, further_m), keep = std::exp(m - above), take = std::exp(further_m - above), before = l;
  kernel.merge_part(&m, &l, o.data(), further_m, further_l, right.data(), columns);
  expect("merged maximum", m, above);
  expect("merged sum", l, before * keep + further_l * take);
  for (int64_t i = 0; i < columns; ++i) expect("merged output", o[size_t(i)], left[size_t(i)] * keep + right[size_t(i)] * take);
}

// The rotation of a position, with both kinds of pairs, and a block of a KV cache.
void check_positions(const Kernels& kernel) {
  const int64_t half = kernel.lanes + 3;
  const auto x = values(2 * half), cosine = values(half, 3), sine = values(half, 5);
  std::vector<float> y(static_cast<size_t>(2 * half));
  for (const bool halves : {true, false}) {
    (halves ? kernel.turn_halves : kernel.turn_neighbors)(x.data(), cosine.data(), sine.data(), half, y.data());
    for (int64_t i = 0; i < half; ++i) {
      const size_t j = size_t(i), a = halves ? j : 2 * j, b = halves ? j + size_t(half) : 2 * j + 1;
      expect("rotated value", y[a], double(x[a]) * cosine[j] - double(x[b]) * sine[j]);
      expect("rotated value", y[b], double(x[b]) * cosine[j] + double(x[a]) * sine[j]);
    }
  }
  auto block = values(32);
  block[7] = -127.0f / 16;  // so that the step is 1 / 16
  std::array<std::byte, 34> made;
  std::array<float, 32> back;
  kernel.encode_q8_0(block.data(), 32, made.data());
  decode_blocks(DType::q8_0, made.data(), 32, back.data());
  for (size_t i = 0; i < 32; ++i) expect("block of a cache", back[i], block[i], 0);
}

}  // namespace

void check_language_kernels(const Kernels& kernel) {
  check_rows(kernel);
  check_integers(kernel);
  check_packing(kernel);
  check_parts(kernel);
  check_positions(kernel);
}

}  // namespace hearth::cpu
