#include "backends/cpu/shares.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hearth::cpu {
namespace {

TEST(Shares, cover_without_overlap) {
  for (int threads : {1, 2, 3, 100})
    for (int64_t n : {0, 1, 9, 10, 31, 1003}) {
      ThreadPool pool(threads);
      std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
      for_shares(pool, n, 10, [&](int64_t begin, int64_t end) {
        EXPECT_TRUE(begin % 10 == 0 && begin < end && (end == begin + 10 || end == n)) << begin << " … " << end << " of " << n;
        for (int64_t i = begin; i < end; ++i) ++seen[size_t(i)];
      });
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(seen[size_t(i)], 1) << i << " of " << n << " with " << threads << " threads";
    }
}

TEST(Shares, mark_the_first_and_last_range) {
  ThreadPool pool(1);
  std::string ranges;
  for_shares(pool, Shares(pool, 12), 2, [&](int64_t begin, int64_t end, InShare in) {
    ranges += fmt::format("{}{}-{}{} ", in.first ? "(" : "", begin, end, in.last ? ")" : "");
  });
  EXPECT_EQ(ranges, "(0-2 2-4 4-6 6-7 7-8 8-9 9-10 10-11 11-12) ");
}

// A thread processes its own share in order, and then, from the end, what a waiting thread has left of its share.
TEST(Shares, are_processed_in_order_and_by_helpers_from_the_end) {
  ThreadPool pool(2);
  std::vector<int64_t> taken, right;
  std::atomic<bool> done = false;
  for (int64_t i = 20; i < 40; ++i) right.push_back(i);
  for (int64_t i = 19; i > 0; --i) right.push_back(i);
  for_shares(pool, Shares(pool, 40), 1, [&](int64_t i, int64_t end, InShare in) {
    EXPECT_EQ(end, i + 1);
    if (i == 0) {
      const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (!done && std::chrono::steady_clock::now() < soon) std::this_thread::yield();
      return;
    }
    EXPECT_EQ(in.first, i <= 20) << i;
    EXPECT_EQ(in.last, i < 20 || i == 39) << i;
    taken.push_back(i);
    done = taken.size() == 39;
  });
  EXPECT_EQ(taken, right);
}

TEST(Shares, rethrow_exceptions) {
  ThreadPool pool(2);
  const auto run = [&] {
    for_shares(pool, 100, 1, [](int64_t begin, int64_t) {
      if (begin == 57) throw std::runtime_error("57");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
}

}  // namespace
}  // namespace hearth::cpu
