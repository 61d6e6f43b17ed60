// Work that reads memory in order, shared out among threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "core/threads.h"

namespace hearth::cpu {

// Splits [0, n) into ranges of `grain` elements (the last may be shorter): f(begin, end). Each thread begins with a share of its own and
// takes its ranges in order, so that what a kernel fetches ahead of its range is its own next one; then it helps the others.
template <class F> void for_shares(ThreadPool& pool, int64_t n, int64_t grain, const F& f) {
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  std::array<Share, 64> shares;
  const int64_t ranges = (n + grain - 1) / grain, count = std::min<int64_t>({ranges, pool.size(), int64_t(shares.size())});
  for (int64_t i = 0; i < count; ++i) {
    shares[size_t(i)].next = ranges * i / count;
    shares[size_t(i)].end = ranges * (i + 1) / count;
  }
  pool.run(count, [&](int64_t own) {
    for (int64_t i = 0; i < count; ++i) {
      Share& share = shares[size_t((own + i) % count)];
      for (int64_t range; (range = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
        f(range * grain, std::min(n, (range + 1) * grain));
    }
  });
}

}  // namespace hearth::cpu
