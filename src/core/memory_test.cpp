#include "core/memory.h"

#include <gtest/gtest.h>

#include <thread>

namespace hearth {
namespace {

TEST(Memory, a_watch_records_the_peak_since_its_start) {
  MemoryLedger ledger;
  ledger.add(100);
  ledger.add(-60);
  const MemoryWatch outer(ledger);
  EXPECT_EQ(outer.peak(), 40);
  ledger.add(30);
  ledger.add(-50);
  {
    const MemoryWatch inner(ledger), twin(ledger);
    EXPECT_EQ(inner.peak(), 20);
    ledger.add(15);
    EXPECT_EQ(inner.peak(), 35);
    EXPECT_EQ(twin.peak(), 35);
    EXPECT_EQ(outer.peak(), 70);
    ledger.add(90);
    EXPECT_EQ(inner.peak(), 125);
  }
  ledger.add(-125);
  EXPECT_EQ(outer.peak(), 125);
  EXPECT_EQ(ledger.use().now, 0);
  EXPECT_EQ(ledger.use().peak, 125);
}

TEST(Memory, the_whole_counts_its_parts) {
  MemoryLedger process, one(&process), other(&process);
  const MemoryWatch all(process), first(one), second(other);
  one.add(100);
  other.add(50);
  one.add(-100);
  other.add(30);
  EXPECT_EQ(first.peak(), 100);
  EXPECT_EQ(second.peak(), 80);
  EXPECT_EQ(all.peak(), 150);
  EXPECT_EQ(process.use().now, 80);
  EXPECT_EQ(one.use().now, 0);
}

// Watches start and end while other threads allocate and free: no watch misses bytes, and all freed bytes are subtracted.
TEST(Memory, counts_and_is_watched_from_many_threads) {
  MemoryLedger process;
  const MemoryWatch all(process);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&process, t] {
      MemoryLedger own(&process);
      for (int64_t i = 1; i <= 500; ++i) {
        const MemoryWatch watch(own);
        own.add(10 * i + t);
        own.add(-10 * i - t);
        EXPECT_EQ(watch.peak(), 10 * i + t);
        EXPECT_GE(MemoryWatch(process).peak(), 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(process.use().now, 0);
  EXPECT_GE(all.peak(), 5003);
  EXPECT_LE(all.peak(), 4 * 5003);
}

}  // namespace
}  // namespace hearth
