#include "core/offset_allocator.h"

#include <gtest/gtest.h>

#include <random>

namespace hearth {
namespace {

constexpr size_t capacity = size_t(1) << 30;

TEST(OffsetAllocator, takes_the_smallest_hole_and_joins_neighbors) {
  OffsetAllocator a(capacity);
  const size_t x = *a.take(1000), y = *a.take(64), z = *a.take(300), w = *a.take(0);
  EXPECT_EQ(x, 0u);
  EXPECT_EQ(y, 1024u);
  EXPECT_EQ(z, 1088u);
  EXPECT_EQ(w, 1408u);
  EXPECT_EQ(a.in_use(), 1472u);
  a.give(x);
  a.give(z);
  EXPECT_EQ(*a.take(320), z);  // fits exactly, though the lower hole is large enough
  a.give(z);
  EXPECT_EQ(*a.take(321), x);
  a.give(x);
  a.give(y);
  EXPECT_EQ(*a.take(1408), 0u);  // three holes have become one
  EXPECT_EQ(a.reached(), 1472u);
}

TEST(OffsetAllocator, prefers_the_lowest_of_equal_holes) {
  OffsetAllocator a(capacity);
  const size_t first = *a.take(64), wall = *a.take(64), second = *a.take(64), end = *a.take(64);
  a.give(second);
  a.give(first);
  EXPECT_EQ(*a.take(10), first);
  EXPECT_EQ(*a.take(10), second);
  EXPECT_LT(wall, end);
}

TEST(OffsetAllocator, returns_nothing_if_no_hole_is_large_enough) {
  OffsetAllocator a(1000);  // 960 when aligned
  EXPECT_FALSE(a.take(961));
  EXPECT_FALSE(a.take(SIZE_MAX));
  EXPECT_FALSE(a.take(SIZE_MAX - 64));
  EXPECT_EQ(*a.take(960), 0u);
  EXPECT_FALSE(a.take(0));
  a.give(0);
  EXPECT_EQ(*a.take(960), 0u);
}

TEST(OffsetAllocator, trim_returns_the_holes_and_lowers_the_mark) {
  OffsetAllocator a(capacity);
  const size_t x = *a.take(128), y = *a.take(64), z = *a.take(256);
  a.give(x);
  a.give(z);
  EXPECT_EQ(a.reached(), 448u);
  const auto holes = a.trim();
  ASSERT_EQ(holes.size(), 2u);
  EXPECT_EQ(holes[0].begin, 0u);
  EXPECT_EQ(holes[0].end, 128u);
  EXPECT_EQ(holes[1].begin, 192u);
  EXPECT_EQ(holes[1].end, 448u);
  EXPECT_EQ(a.reached(), 192u);
  a.give(y);
  a.trim();
  EXPECT_EQ(a.reached(), 0u);
}

// Against a plain bitmap: blocks never overlap, and every block is where best fit places it.
TEST(OffsetAllocator, is_best_fit_over_any_calls) {
  constexpr size_t cells = 256;
  OffsetAllocator a(cells * 64);
  std::vector<bool> used(cells);
  std::vector<std::pair<size_t, size_t>> blocks;  // cell, count
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 && !blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      for (size_t c = 0; c < blocks.back().second; ++c) used[blocks.back().first + c] = false;
      a.give(blocks.back().first * 64);
      blocks.pop_back();
      continue;
    }
    const size_t count = 1 + random() % 20;
    size_t best = cells, best_size = cells + 1;
    for (size_t c = 0; c < cells;) {
      size_t end = c;
      while (end < cells && !used[end]) ++end;
      if (end - c >= count && end - c < best_size) best = c, best_size = end - c;
      c = end + 1;
    }
    const auto offset = a.take(count * 64 - random() % 64);
    ASSERT_EQ(offset.has_value(), best < cells);
    if (!offset) continue;
    ASSERT_EQ(*offset, best * 64);
    for (size_t c = 0; c < count; ++c) used[best + c] = true;
    blocks.emplace_back(best, count);
    size_t in_use = 0;
    for (const bool cell : used) in_use += cell ? 64 : 0;
    ASSERT_EQ(a.in_use(), in_use);
  }
}

}  // namespace
}  // namespace hearth
