#include "backends/cpu/shares.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hearth::cpu {
namespace {

TEST(shares, cover_without_overlap) {
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

TEST(shares, tell_their_first_and_last) {
  for (int threads : {1, 2, 3, 7})
    for (int64_t n : {1, 2, 5, 64}) {
      ThreadPool pool(threads);
      const Shares shares(pool, n);
      std::vector<std::string> told(static_cast<size_t>(n)), right(static_cast<size_t>(n));
      for (int64_t i = 0; i < shares.count; ++i)
        right[size_t(shares.begin(i))] += "first ", right[size_t(shares.begin(i + 1)) - 1] += "last ";
      for_shares(pool, shares, 1, [&](int64_t i, int64_t, InShare in) {
        if (in.first) told[size_t(i)] += "first ";
        if (in.last) told[size_t(i)] += "last ";
      });
      EXPECT_EQ(told, right) << n << " with " << threads << " threads";
    }
}

// Each share's ranges begin in their order, and a thread that waits leaves the rest of its own to the others.
TEST(shares, are_taken_in_order_and_by_others_where_a_thread_is_slow) {
  ThreadPool pool(2);
  std::vector<std::thread::id> taken(40);
  std::atomic<int> first_half = 0, second_half = 20, others = 0;
  for_shares(pool, 40, 1, [&](int64_t begin, int64_t) {
    EXPECT_EQ((begin < 20 ? first_half : second_half)++, begin);
    taken[size_t(begin)] = std::this_thread::get_id();
    const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    if (begin != 0) ++others;
    else
      while (others < 39 && std::chrono::steady_clock::now() < soon) std::this_thread::yield();
  });
  for (size_t i = 1; i < 40; ++i) EXPECT_NE(taken[i], taken[0]) << i;
}

TEST(shares, pass_an_exception_on) {
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
