// Integer product kernels alone, for each instruction set of this CPU.
#include "backends/cpu/kernels/integers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/processor.h"
#include "core/dtype.h"
#include "core/quantized/blocks.h"

namespace hearth::cpu {
namespace {

struct Set {
  const char* name;
  bool there;
  const IntegerKernels& (*kernels)();
  int64_t panel;
};

class IntegersTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Set all[] = {{"avx2", processor_has_avx2(), avx2_integers, 16},
                       {"avxvnni", processor_has_avxvnni(), avxvnni_integers, 16},
                       {"avx512", processor_has_avx512(), avx512_integers, 32},
                       {"avx512vnni", processor_has_avx512vnni(), avx512vnni_integers, 32}};
    for (const Set& s : all)
      if (std::string(s.name) == GetParam()) set = s;
    if (!set.there) GTEST_SKIP() << "this CPU lacks " << set.name;
    kernels = &set.kernels();
  }
  Set set{};
  const IntegerKernels* kernels = nullptr;
};

INSTANTIATE_TEST_SUITE_P(sets, IntegersTest, ::testing::Values("avx2", "avxvnni", "avx512", "avx512vnni"));

// Random rows of integer values in random blocks, at an unaligned address.
struct Rows {
  Rows(DType type, int64_t count, int64_t values)
      : dtype(type), k(values), bytes(bytes_of(type, values)), memory(size_t(count) * bytes + 1) {
    std::mt19937 engine(uint32_t(values) + uint32_t(type));
    const size_t block = block_of(dtype).bytes;
    for (size_t begin = 1; begin < memory.size(); begin += block) {
      do
        for (size_t i = begin; i < begin + block; ++i) memory[i] = std::byte(engine());
      while (non_finite_in_blocks(dtype, memory.data() + begin, block_of(dtype).values) != 0);
      if (dtype == DType::mxfp4) memory[begin] = std::byte(110 + engine() % 20);
    }
  }
  const std::byte* row(int64_t n) const { return memory.data() + 1 + size_t(n) * bytes; }
  std::vector<float> decoded(int64_t n) const {
    std::vector<float> y(static_cast<size_t>(k));
    decode_blocks(dtype, row(n), k, y.data());
    return y;
  }
  DType dtype;
  int64_t k;
  size_t bytes;
  std::vector<std::byte> memory;
};

std::vector<float> numbers(int64_t n) {
  std::mt19937 engine{uint32_t(n)};
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) v = normal(engine);
  return x;
}

std::vector<float> products(const IntegerKernels& kernels, RowType type, const std::vector<float>& x, const Rows& w, int64_t rows) {
  const size_t padded = x.size() + size_t(integer_stride), units = padded / size_t(integer_unit(type));
  std::vector<int16_t> q(padded);
  std::vector<float> d(units), y(static_cast<size_t>(rows));
  std::vector<int32_t> s(units);
  kernels.quantize_row(type, x.data(), int64_t(x.size()), q.data(), d.data(), s.data());
  kernels.row_dots(type, q.data(), d.data(), s.data(), w.row(0), rows, w.k, y.data(), nullptr);
  return y;
}

// Every number of rows and blocks at the edges, against f64, and bit-identical to the other instructions.
TEST_P(IntegersTest, rows_of_dots_at_every_edge) {
  for (int i = row_q4_0; i <= row_mxfp4; ++i) {
    const auto type = RowType(i);
    const DType dtype = DType(int(DType::q4_0) + i - row_q4_0);
    for (int64_t blocks = 1; blocks <= (block_of(dtype).values == 32 ? 50 : 5); ++blocks) {
      const int64_t k = blocks * block_of(dtype).values, rows = 1 + blocks * 7 % 35;
      const Rows w(dtype, rows, k);
      std::vector<float> x = numbers(k);
      for (int64_t b = 0; b < k; b += 32) {  // integer multiples of 1/8, so that nothing is rounded
        for (int64_t j = b; j < b + 32; ++j) x[size_t(j)] = std::round(x[size_t(j)] * 1000) / 8;
        x[size_t(b + 7)] = 32767.0f / 8;
      }
      const std::vector<float> y = products(*kernels, type, x, w, rows);
      EXPECT_EQ(y, products(avx2_integers(), type, x, w, rows)) << name_of(dtype) << " k " << k;
      for (int64_t n = 0; n < rows; ++n) {
        const std::vector<float> row = w.decoded(n);
        double sum = 0, size = 0;
        for (int64_t j = 0; j < k; ++j) {
          sum += double(row[size_t(j)]) * x[size_t(j)];
          size += std::abs(double(row[size_t(j)]) * x[size_t(j)]);
        }
        ASSERT_NEAR(y[size_t(n)] / size, sum / size, 1e-6) << name_of(dtype) << " k " << k << " row " << n;
      }
    }
  }
}

// Tiles of every height are bit-identical to each row of x alone, whatever part of them is filled.
TEST_P(IntegersTest, tiles_equal_rows) {
  const int64_t panel = set.panel, k = 512, most = kernels->most_rows;
  const auto size = [](int64_t n) { return size_t(n); };
  for (int i = row_q4_0; i <= row_mxfp4; ++i) {
    const auto type = RowType(i);
    const DType dtype = DType(int(DType::q4_0) + i - row_q4_0);
    const int64_t unit = integer_unit(type);
    for (const int64_t columns : {panel, panel / 2 + 1, int64_t(1)}) {
      const Rows w(dtype, columns, k);
      const std::vector<float> x = numbers(most * k);
      std::vector<std::vector<float>> alone;
      for (int64_t r = 0; r < most; ++r)
        alone.push_back(products(*kernels, type, {x.begin() + r * k, x.begin() + (r + 1) * k}, w, columns));
      std::vector<int16_t> codes(size(panel * k));
      std::vector<float> step(size(panel * k / unit)), least(step.size());
      kernels->widen(type, w.row(0), int64_t(w.bytes), columns, k, codes.data(), step.data(), least.data());
      for (int64_t height = kernels->rows_step; height <= most; height += kernels->rows_step) {
        const int64_t rows = columns == panel ? height : height - height / 2;
        std::vector<int16_t> q(size(height * k));
        std::vector<float> d(size(height * k / unit)), s(d.size()), sums(size(height * panel));
        kernels->pack(x.data(), k, rows, height, k, unit, q.data(), d.data(), s.data());
        kernels->tile(type, height, q.data(), d.data(), s.data(), codes.data(), step.data(), least.data(), k / unit, sums.data());
        for (int64_t r = 0; r < height; ++r)
          for (int64_t c = 0; c < panel; ++c)
            ASSERT_EQ(sums[size_t(r * panel + c)], r < rows && c < columns ? alone[size_t(r)][size_t(c)] : 0)
                << name_of(dtype) << ", height " << height << ": " << r << " " << c;
      }
    }
  }
}

// The largest possible sums: all values of x and all codes at the ends of their ranges.
TEST_P(IntegersTest, sums_of_a_unit_do_not_overflow) {
  for (const float sign : {1.0f, -1.0f}) {
    const std::vector<float> x(512, 3 * sign);
    Rows w(DType::q8_0, 3, 512);
    for (size_t i = 1; i < w.memory.size(); i += 34) {
      const uint16_t one = f32_to_f16(1);
      std::memcpy(&w.memory[i], &one, 2);
      std::fill_n(w.memory.begin() + int64_t(i) + 2, 32, std::byte(0x80));
    }
    for (const float y : products(*kernels, row_q8_0, x, w, 3)) EXPECT_FLOAT_EQ(y, -128 * 512 * 3 * sign);
  }
}

}  // namespace
}  // namespace hearth::cpu
