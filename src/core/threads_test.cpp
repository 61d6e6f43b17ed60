#include "core/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/error.h"

namespace hearth {
namespace {

TEST(Threads, every_piece_runs_once) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> count(size_t(1 + round * 7 % 50));
      pool.run(int64_t(count.size()), [&](int64_t i) { ++count[size_t(i)]; });
      for (const auto& c : count) ASSERT_EQ(c, 1);
    }
  }
}

TEST(Threads, ranges_cover_without_overlap) {
  ThreadPool pool(3);
  std::vector<int> seen(1003, 0);
  pool.for_ranges(1003, 10, [&](int64_t begin, int64_t end) {
    EXPECT_LE(end - begin, 10);
    for (int64_t i = begin; i < end; ++i) ++seen[size_t(i)];
  });
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), 1003);
  pool.for_ranges(0, 10, [](int64_t, int64_t) { FAIL(); });
}

TEST(Threads, rethrows_the_first_exception_and_stays_usable) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run(100,
                        [](int64_t i) {
                          if (i == 57) throw std::runtime_error("57");
                        }),
               std::runtime_error);
  std::atomic<int> ran = 0;
  pool.run(100, [&](int64_t) { ++ran; });
  EXPECT_EQ(ran, 100);
}

TEST(Threads, a_piece_may_use_the_pool) {
  ThreadPool pool(2);
  std::atomic<int> ran = 0;
  pool.run(10, [&](int64_t) { pool.run(10, [&](int64_t) { ++ran; }); });
  EXPECT_EQ(ran, 100);
}

TEST(Threads, a_scope_selects_other_threads_for_its_caller) {
  ThreadPool pool(2), other(3);
  const auto run_by = [&](ThreadPool& called) {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    called.run(200, [&](int64_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    ids.erase(std::this_thread::get_id());
    return ids;
  };
  const auto of_pool = run_by(pool), of_other = run_by(other);
  {
    const ThreadPool::Scope with(other);
    const auto ids = run_by(pool);
    EXPECT_TRUE(std::includes(of_other.begin(), of_other.end(), ids.begin(), ids.end()));
    std::thread elsewhere([&] {
      const auto own = run_by(pool);
      EXPECT_TRUE(std::includes(of_pool.begin(), of_pool.end(), own.begin(), own.end()));
    });
    elsewhere.join();
  }
  const auto again = run_by(pool);
  EXPECT_TRUE(std::includes(of_pool.begin(), of_pool.end(), again.begin(), again.end()));
}

TEST(Threads, works_after_sleeping_and_from_several_callers) {
  ThreadPool pool(2);
  std::atomic<int> ran = 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) pool.run(8, [&](int64_t) { ++ran; });
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(ran, 3 * 50 * 8);
}

TEST(Threads, subnormals_are_flushed_on_every_thread_and_restored) {
  for (int threads : {1, 2}) {
    ThreadPool pool(threads);
    volatile float tiny = std::numeric_limits<float>::min();
    std::atomic<int> kept = 0;
    pool.run(64, [&](int64_t) {
      if (tiny * 0.5f != 0.0f) ++kept;
    });
    EXPECT_EQ(kept, 0);
    EXPECT_NE(tiny * 0.5f, 0.0f);
  }
}

TEST(Threads, impossible_counts_are_refused) {
  EXPECT_THROW(ThreadPool(-1), UsageError);
  EXPECT_THROW(ThreadPool(100000), UsageError);
  EXPECT_GE(ThreadPool(0).size(), 1);
}

// The CPUs that the thread may run on.
cpu_set_t processors() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(Threads, pinned_only_on_request_each_to_its_own_cpu) {
  const cpu_set_t before = processors();
  const int count = CPU_COUNT(&before);
  {
    ThreadPool pool;
    const auto sets = [&] {  // one per thread: each takes one piece and waits for the others
      std::vector<cpu_set_t> all(size_t(pool.size()));
      std::atomic<int> arrived{0};
      pool.run(pool.size(), [&](int64_t i) {
        all[size_t(i)] = processors();
        ++arrived;
        while (arrived < pool.size()) std::this_thread::yield();
      });
      return all;
    };
    for (const cpu_set_t& set : sets()) EXPECT_EQ(CPU_COUNT(&set), count);
    pool.pin();
    cpu_set_t together;
    CPU_ZERO(&together);
    for (const cpu_set_t& set : sets()) {
      EXPECT_EQ(CPU_COUNT(&set), 1);
      CPU_OR(&together, &together, &set);
    }
    EXPECT_TRUE(CPU_EQUAL(&together, &before));
  }
  const cpu_set_t after = processors();
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
  ThreadPool many(count + 1);
  EXPECT_THROW(many.pin(), UsageError);
}

}  // namespace
}  // namespace hearth
