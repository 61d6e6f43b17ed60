// Single kernels at every edge size: each path that this CPU supports, against plain loops.
#include "backends/cpu/kernels/kernels_test.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/dtype.h"
#include "core/quantized/blocks.h"

namespace hearth::cpu {
namespace {

INSTANTIATE_TEST_SUITE_P(paths, KernelsTest, ::testing::Values("avx2", "avx512", "avx512bf16"));

// Every bit pattern of a scale except NaN and infinity, and every code.
TEST_P(KernelsTest, rows_widen_as_blocks_decode) {
  for (DType dtype = DType::q4_0; dtype <= DType::mxfp4; dtype = DType(int(dtype) + 1)) {
    const RowType type = RowType(row_q4_0 + (int(dtype) - int(DType::q4_0)));
    const Block block = block_of(dtype);
    std::mt19937 engine(3);
    for (int trial = 0; trial < 300; ++trial) {
      const int64_t blocks = 1 + trial % 3;
      std::vector<std::byte> bytes(size_t(blocks) * block.bytes + 1);  // not aligned
      for (std::byte& b : bytes) b = std::byte(engine());
      if (non_finite_in_blocks(dtype, bytes.data() + 1, blocks * block.values) != 0) continue;
      std::vector<float> got(size_t(blocks * block.values)), right(got.size());
      kernel->widen_row(type, bytes.data() + 1, blocks * block.values, got.data());
      decode_blocks(dtype, bytes.data() + 1, blocks * block.values, right.data());
      ASSERT_EQ(got, right) << name_of(dtype) << " trial " << trial;
    }
  }
}

// Every bit pattern, at every place in a register.
TEST_P(KernelsTest, rows_of_8_bit_floats_widen_exactly) {
  for (const auto& [type, dtype] : {std::pair(row_f8_e4m3, DType::f8_e4m3), std::pair(row_f8_e5m2, DType::f8_e5m2)})
    for (int shift = 0; shift < 37; ++shift) {
      std::vector<uint8_t> bytes(256 + size_t(shift));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i - size_t(shift));
      std::vector<float> got(bytes.size());
      kernel->widen_row(type, bytes.data(), int64_t(bytes.size()), got.data());
      for (size_t i = 0; i < bytes.size(); ++i) {
        const float right = f8_to_f32(dtype, bytes[i]);
        if (std::isnan(right)) ASSERT_TRUE(std::isnan(got[i])) << int(bytes[i]);
        else ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(right)) << int(bytes[i]);
      }
    }
}

// Bit-identical for any tile height, panel width, chunk length and dtype.
TEST_P(KernelsTest, transposed_rows_equal_single_rows) {
  const std::pair<RowType, DType> types[] = {{row_f32, DType::f32}, {row_f16, DType::f16}, {row_bf16, DType::bf16}};
  for (const auto& [type, dtype] : types)
    for (int64_t rows = 1; rows <= kernel->tile_rows; ++rows)
      for (const int64_t n : {1, 7, 16, 33, 100, 255, 257, 304, 1024, 2048}) {
        const int64_t columns = kernel->panel - (rows * 7 + n) % (kernel->panel + 3) % kernel->panel;
        const int64_t steps = (n + kernel->lanes - 1) / kernel->lanes, row_bytes = int64_t(bytes_of(dtype, n));
        Odd x(rows * n), numbers(columns * n, 2), sums(rows * kernel->panel, 3);
        const Odd before = sums;
        std::vector<std::byte> w(size_t(columns * row_bytes) + 1);  // not aligned
        for (int64_t i = 0; i < columns * n; ++i) {
          const float number = numbers[i];
          const uint16_t half = type == row_f16 ? f32_to_f16(number) : f32_to_bf16(number);
          if (type == row_f32) std::memcpy(w.data() + 1 + i * 4, &number, 4);
          else std::memcpy(w.data() + 1 + i * 2, &half, 2);
        }
        std::vector<float> left(size_t(steps * kernel->lanes * kernel->tile_rows)), alone(static_cast<size_t>(columns)),
            right(size_t(kernel->lanes * (steps * kernel->panel + turned_gap)));
        kernel->turn_left(x.data(), n, rows, n, left.data());
        kernel->turn_right(type, w.data() + 1, row_bytes, columns, n, right.data());
        for (const bool add : {true, false}) {
          kernel->turned_tile(rows, left.data(), right.data(), steps, sums.data(), add, w.data(), columns * row_bytes);
          for (int64_t r = 0; r < rows; ++r) {
            kernel->row_dots(type, x.data() + r * n, w.data() + 1, columns, n, alone.data());
            for (int64_t c = 0; c < columns; ++c) {
              const int64_t at = r * kernel->panel + c;
              ASSERT_EQ(sums[at], add ? before[at] + alone[size_t(c)] : alone[size_t(c)])
                  << name_of(dtype) << ", " << rows << " rows, " << n << " numbers, " << c;
            }
          }
        }
      }
}

TEST_P(KernelsTest, tile_is_right_at_every_height_width_and_depth) {
  for (const bool wide : {true, false})
    for (int64_t rows = 1; rows <= kernel->tile_rows; ++rows)
      for (const int64_t depth : {1, 2, 3, 17, 64}) {
        const int64_t width = wide ? kernel->panel : kernel->lanes;
        Odd a(rows * depth), b(depth * width, 2), c(rows * kernel->panel, 3);
        const Odd before = c;
        // Three runs, one of them empty.
        Segment segments[3];
        for (int64_t r = 0; r < rows; ++r) {
          segments[0].row[r] = segments[1].row[r] = a.data() + r * depth;
          segments[2].row[r] = a.data() + r * depth + depth / 3;
        }
        segments[0].length = depth / 3, segments[1].length = 0, segments[2].length = depth - depth / 3;
        for (const bool add : {true, false}) {
          kernel->tile(rows, wide, segments, 3, b.data(), c.data(), add);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t n = 0; n < kernel->panel; ++n) {
              double sum = add ? before[r * kernel->panel + n] : 0, size = std::abs(sum);
              for (int64_t k = 0; k < depth && n < width; ++k) {
                sum += double(a[r * depth + k]) * b[k * width + n];
                size += std::abs(double(a[r * depth + k]) * b[k * width + n]);
              }
              if (n >= width) sum = before[r * kernel->panel + n];  // columns beyond a narrow tile stay unchanged
              ASSERT_NEAR(c[r * kernel->panel + n], sum, 3e-7 * size) << rows << " rows, depth " << depth << ", at " << r << ", " << n;
            }
          c = before;
        }
      }
}

TEST_P(KernelsTest, a_row_has_the_same_bits_in_a_tile_of_any_height) {
  constexpr int64_t depth = 77;
  Odd a(kernel->tile_rows * depth), b(depth * kernel->panel, 2);
  std::vector<float> alone(size_t(kernel->panel)), tile(size_t(kernel->tile_rows * kernel->panel));
  Segment segment;
  segment.length = depth;
  for (int64_t rows = 1; rows <= kernel->tile_rows; ++rows) {
    for (int64_t r = 0; r < rows; ++r) segment.row[r] = a.data() + r * depth;
    kernel->tile(rows, true, &segment, 1, b.data(), tile.data(), false);
    for (int64_t r = 0; r < rows; ++r) {
      segment.row[0] = a.data() + r * depth;
      kernel->tile(1, true, &segment, 1, b.data(), alone.data(), false);
      ASSERT_EQ(std::memcmp(alone.data(), tile.data() + r * kernel->panel, size_t(kernel->panel) * 4), 0) << r << " of " << rows;
    }
  }
}

TEST_P(KernelsTest, epilogue_writes_its_columns_and_no_others) {
  constexpr int64_t rows = 3;
  for (int64_t columns = 1; columns <= kernel->panel; ++columns) {
    const int64_t stride = columns + 2;
    Odd acc(rows * kernel->panel), bias(columns, 2), image(rows * columns, 3), residual(rows * stride, 4), y(rows * stride, 5);
    const Odd before = y;
    const float* images[rows] = {image.data(), image.data() + columns, image.data() + 2 * columns};
    kernel->epilogue(acc.data(), rows, columns,
                     {.alpha = 0.5f,
                      .activation = Act::relu,
                      .bias = bias.data(),
                      .per_image = images,
                      .residual = residual.data(),
                      .residual_stride = stride,
                      .y = y.data(),
                      .y_stride = stride});
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t n = 0; n < stride; ++n) {
        const double sum = n < columns ? 0.5 * acc[r * kernel->panel + n] + bias[n] + image[r * columns + n] : 0;
        const double right = n < columns ? std::max(sum, 0.0) + residual[r * stride + n] : before[r * stride + n];
        ASSERT_NEAR(y[r * stride + n], right, 1e-6) << columns << " columns, at " << r << ", " << n;
      }
  }
}

TEST_P(KernelsTest, every_16_bit_pattern_is_widened_exactly) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = uint16_t(i);
  std::vector<float> half(bits.size()), brain(bits.size());
  kernel->widen_f16(bits.data(), 65536, half.data());
  kernel->widen_bf16(bits.data(), 65536, brain.data());
  for (size_t i = 0; i < bits.size(); ++i) {
    const float h = f16_to_f32(bits[i]), b = bf16_to_f32(bits[i]);
    if (std::isnan(h)) ASSERT_TRUE(std::isnan(half[i])) << i;
    else ASSERT_EQ(std::bit_cast<uint32_t>(half[i]), std::bit_cast<uint32_t>(h)) << i;
    if (std::isnan(b)) ASSERT_TRUE(std::isnan(brain[i])) << i;
    else ASSERT_EQ(std::bit_cast<uint32_t>(brain[i]), std::bit_cast<uint32_t>(b)) << i;
  }
}

TEST_P(KernelsTest, narrowing_rounds_as_the_scalar_code_does) {
  std::mt19937 engine(7);
  std::vector<float> x;
  for (int i = 0; i < 100000; ++i) x.push_back(std::bit_cast<float>(uint32_t(engine())));
  for (uint32_t h = 0; h < 0x7c00; h += 3) {  // halfway between two f16, and its neighbors
    const float middle = (f16_to_f32(uint16_t(h)) + f16_to_f32(uint16_t(h + 1))) / 2;
    for (float v : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f), -middle}) x.push_back(v);
  }
  for (uint32_t b = 0; b < 0x7f80; b += 7)
    x.push_back(std::bit_cast<float>(b << 16 | 0x8000)), x.push_back(std::bit_cast<float>(b << 16 | 0x18000));
  std::vector<uint16_t> half(x.size()), brain(x.size());
  kernel->narrow_f16(x.data(), int64_t(x.size()), half.data());
  kernel->narrow_bf16(x.data(), int64_t(x.size()), brain.data());
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      ASSERT_TRUE(std::isnan(f16_to_f32(half[i])) && std::isnan(bf16_to_f32(brain[i]))) << i;
    } else {
      ASSERT_EQ(half[i], f32_to_f16(x[i])) << x[i];
      ASSERT_EQ(brain[i], f32_to_bf16(x[i])) << x[i];
    }
  }
}

TEST_P(KernelsTest, conversions_of_any_length_at_any_byte) {
  for (int64_t n = 0; n <= 3 * kernel->lanes + 1; ++n) {
    Odd x(n + 1), back(n + 1, 9);
    const Odd before = back;
    std::vector<char> bytes(size_t(2 * n + 3), 'x');
    char* odd = bytes.data() + 1;
    const auto check = [&](auto narrow, auto widen, auto right) {
      narrow(x.data(), n, odd);
      EXPECT_EQ(odd[2 * n], 'x') << n;
      widen(odd, n, back.data());
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(back[i], right(x[i])) << i << " of " << n;
      ASSERT_EQ(back[n], before[n]) << n;
    };
    check(kernel->narrow_f16, kernel->widen_f16, [](float v) { return f16_to_f32(f32_to_f16(v)); });
    check(kernel->narrow_bf16, kernel->widen_bf16, [](float v) { return bf16_to_f32(f32_to_bf16(v)); });
  }
}

TEST_P(KernelsTest, transposes_of_bits_keep_them) {
  const auto check = [&]<class T>(void (*transpose)(const T*, int64_t, int64_t, int64_t, T*, int64_t)) {
    for (int64_t rows = 1; rows <= 33; rows += rows < 18 ? 1 : 15)
      for (int64_t columns = 1; columns <= 35; columns += columns < 18 ? 1 : 16) {
        const int64_t x_stride = columns + 3, y_stride = rows + 5;
        std::vector<T> x(size_t(rows * x_stride)), y(size_t(columns * y_stride), T(0x5a5a));
        for (size_t i = 0; i < x.size(); ++i) x[i] = T((i + 1) * 2654435761u);  // any bits: NaN, subnormal numbers
        transpose(x.data(), x_stride, rows, columns, y.data(), y_stride);
        for (int64_t c = 0; c < columns; ++c)
          for (int64_t r = 0; r < y_stride; ++r)
            ASSERT_EQ(y[size_t(c * y_stride + r)], r < rows ? x[size_t(r * x_stride + c)] : T(0x5a5a)) << rows << "×" << columns;
      }
  };
  check(kernel->transpose_16);
  check(kernel->transpose_32);
}

TEST_P(KernelsTest, transpose_of_every_small_size) {
  for (int64_t rows = 1; rows <= 19; ++rows)
    for (int64_t columns = 1; columns <= 19; ++columns) {
      const int64_t x_stride = columns + 3, y_stride = rows + 2;
      Odd x(rows * x_stride), y(columns * y_stride, 2);
      const Odd before = y;
      kernel->transpose(x.data(), x_stride, rows, columns, -2, y.data(), y_stride);
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < y_stride; ++r)
          ASSERT_EQ(y[c * y_stride + r], r < rows ? -2 * x[r * x_stride + c] : before[c * y_stride + r]) << rows << " × " << columns;
    }
}

TEST_P(KernelsTest, rows_are_paired_at_every_edge) {
  std::mt19937 engine(5);
  for (const int64_t width : {16, 32})
    for (int64_t rows = 1; rows <= width; rows += 5)
      for (const int64_t n : {1, 2, 15, 31, 32, 33, 95, 1024}) {
        const int64_t depth = (n + 31) / 32 * 32, stride = n + 3;
        std::vector<uint16_t> w(static_cast<size_t>(rows * stride)), pairs(size_t(depth * width), 7);
        for (uint16_t& word : w) word = uint16_t(engine());
        kernel->pair_rows(w.data(), stride, rows, n, width, depth, pairs.data());
        for (int64_t k = 0; k < depth; ++k)
          for (int64_t r = 0; r < width; ++r)
            ASSERT_EQ(pairs[size_t((k / 2 * width + r) * 2 + k % 2)], r < rows && k < n ? w[size_t(r * stride + k)] : 0)
                << rows << " of " << width << " × " << n << " at " << r << ", " << k;
      }
}

// G-80: a large mean against a small spread; the one-pass formula gives a negative variance here.
TEST_P(KernelsTest, moments_of_any_length_far_from_zero) {
  for (int64_t n = 1; n <= 5 * kernel->lanes + 2; ++n) {
    Odd x(4 * n);
    for (float& v : x.memory) v += 4000;
    const auto moments = [&](int64_t step, int64_t count) {
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < count; ++i) mean += x[i * step] / double(count);
      for (int64_t i = 0; i < count; ++i) squares += (x[i * step] - mean) * (x[i * step] - mean);
      return std::pair(mean, squares);
    };
    float mean, squares;
    kernel->moments(x.data(), n, &mean, &squares);
    const auto [right_mean, right_squares] = moments(1, n);
    ASSERT_NEAR(mean, right_mean, 3e-4) << n;  // half an ulp of 4000 is 1.2e-4
    ASSERT_NEAR(squares, right_squares, 1e-5 * right_squares + 1e-6) << n;
    const Odd near(n, 3), gamma(n, 4);
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += double(near[i]) * near[i];
    ASSERT_NEAR(kernel->squares(near.memory.data() + 1, n), sum, 1e-6 * sum) << n;
    Odd scaled(n + 1, 5), unscaled(n + 1, 5);
    const float end = scaled[n];
    kernel->normalize(near.memory.data() + 1, n, 0, 3, {.gamma = gamma.memory.data() + 1}, scaled.data());
    kernel->normalize(near.memory.data() + 1, n, 0, 3, {}, unscaled.data());
    for (int64_t i = 0; i < n; ++i) ASSERT_TRUE(scaled[i] == near[i] * 3 * gamma[i] && unscaled[i] == near[i] * 3) << i << " of " << n;
    ASSERT_TRUE(scaled[n] == end && unscaled[n] == end) << n;
    std::vector<float> means(size_t(n) + 1, -1), all(size_t(n) + 1, -1);
    kernel->column_moments(x.data(), 4, n, means.data(), all.data());
    const auto column = moments(n, 4);
    ASSERT_NEAR(means[0], column.first, 3e-4) << n;
    ASSERT_NEAR(all[0], column.second, 1e-5 * column.second + 1e-6) << n;
    ASSERT_EQ(means[size_t(n)], -1);
  }
}

// The sums of a long column are themselves rounded; the second pass corrects mean and squares by the remaining deviation.
TEST_P(KernelsTest, moments_of_long_columns_very_far_from_zero) {
  const int64_t rows = 256, columns = kernel->lanes + 3;
  Odd x(rows * columns);
  for (float& v : x.memory) v += 30000;
  std::vector<float> means(static_cast<size_t>(columns)), all(static_cast<size_t>(columns));
  kernel->column_moments(x.data(), rows, columns, means.data(), all.data());
  for (int64_t c = 0; c < columns; ++c) {
    double mean = 0, squares = 0;
    for (int64_t r = 0; r < rows; ++r) mean += x[r * columns + c] / double(rows);
    for (int64_t r = 0; r < rows; ++r) squares += (x[r * columns + c] - mean) * (x[r * columns + c] - mean);
    EXPECT_NEAR(means[size_t(c)], mean, 1e-3) << c;             // half an ulp of 30000
    EXPECT_NEAR(all[size_t(c)], squares, 1e-5 * squares) << c;  // observed: 3e-6; without the correction 1e-4
  }
}

}  // namespace
}  // namespace hearth::cpu
