// The tile instructions against their emulation in plain loops (bf16_emulated.cpp), bit-identical. docs/performance.md explains how to
// run this without such a CPU.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "backends/cpu/kernels/bf16.h"
#include "backends/cpu/processor.h"

namespace hearth::cpu {
namespace {

// A row or column has factors of one kind, so that sums are normal, subnormal, too large, or of subnormal factors.
uint16_t factor(std::mt19937& engine, int64_t line) {
  const uint32_t draw = engine();
  const auto with_exponent = [&](uint32_t exponent) { return uint16_t((draw & 0x807f) | exponent << 7); };
  switch (line % 5) {
    case 0: return with_exponent(60 + (draw >> 16 & 7));   // product of two: around the smallest normal number
    case 1: return with_exponent(186 + (draw >> 16 & 7));  // product of two: around the largest number
    case 2: return with_exponent(draw >> 16 & 1);          // subnormal, or the smallest normal exponent
    default: return with_exponent(120 + (draw >> 16 & 15));
  }
}

// One block: left rows in three runs, one of them empty, at addresses and strides that are only aligned to an element.
struct Block {
  Block(int64_t rows_, bool wide_, int64_t depth, bool add_, uint32_t seed)
      : rows(rows_), wide(wide_), add(add_), a(size_t(bf16_rows * (depth + 3) + 1)), b(size_t(depth * bf16_panel + 1)) {
    std::mt19937 engine(seed);
    const int64_t stride = depth + 3, first = depth / 64 * 32, columns = wide ? bf16_panel : bf16_panel / 2;
    for (size_t i = 0; i < a.size(); ++i) a[i] = factor(engine, (int64_t(i) - 1) / stride);
    for (size_t i = 0; i < b.size(); ++i) b[i] = factor(engine, (int64_t(i) - 1) / 2 % columns);
    for (size_t i = 0; i < c.size(); ++i) c[i] = std::bit_cast<float>(uint32_t(factor(engine, int64_t(i))) << 16);
    const uint16_t *const top = a.data() + 1, *const bottom = top + 16 * stride;
    runs[0] = {.half = {top, bottom}, .stride = {stride, stride}, .length = first};
    runs[1] = {.half = {top, bottom}, .stride = {0, 0}, .length = 0};
    runs[2] = {.half = {top + first, bottom + first}, .stride = {stride, stride}, .length = depth - first};
  }

  // The bits of all memory around the sums, including what must stay unchanged.
  std::vector<uint32_t> sums(const Bf16Kernels& kernels) const {
    std::vector<float> y = c;
    kernels.begin();
    std::this_thread::yield();  // when another thread runs, the system must preserve the tile configuration
    kernels.block(rows, wide, runs, 3, b.data() + 1, {.c = y.data() + 5, .row_step = 35, .column_step = 17}, add);
    kernels.end();
    std::vector<uint32_t> bits(y.size());
    for (size_t i = 0; i < y.size(); ++i) bits[i] = std::isnan(y[i]) ? 0x7fc00000 : std::bit_cast<uint32_t>(y[i]);
    return bits;
  }

  int64_t rows;
  bool wide, add;
  std::vector<uint16_t> a, b;
  std::vector<float> c = std::vector<float>(size_t(bf16_rows * 35 + 9));
  Bf16Run runs[3];
};

class Amx : public ::testing::Test {
  void SetUp() override {
    if (!processor_has_amx()) GTEST_SKIP() << "this CPU lacks AMX";
  }
};

TEST_F(Amx, is_bit_identical_to_the_emulation) {
  uint32_t seed = 1;
  for (const bool wide : {true, false})
    for (const int64_t rows : {1, 15, 16, 17, 32})
      for (const int64_t depth : {32, 64, 160})
        for (const bool add : {true, false}) {
          const Block block(rows, wide, depth, add, ++seed);
          EXPECT_EQ(block.sums(amx_tiles()), block.sums(emulated_tiles()))
              << rows << " rows, " << (wide ? "wide" : "narrow") << ", depth " << depth;
        }
}

// The system preserves each thread's tiles while another runs.
TEST_F(Amx, threads_have_separate_tiles) {
  constexpr int rounds = 300, most = 6;
  std::vector<Block> blocks;
  std::vector<std::vector<uint32_t>> expected;
  for (int t = 0; t < most; ++t) {
    blocks.emplace_back(32, true, 160, true, uint32_t(100 + t));
    expected.push_back(blocks.back().sums(amx_tiles()));
  }
  std::vector<int> wrong(most);
  std::vector<std::thread> threads;
  for (int t = 0; t < most; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) wrong[size_t(t)] += blocks[size_t(t)].sums(amx_tiles()) != expected[size_t(t)];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(most));
}

}  // namespace
}  // namespace hearth::cpu
