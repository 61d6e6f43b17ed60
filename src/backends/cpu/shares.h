// Work that reads memory in order, shared out among threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "core/threads.h"

namespace hearth::cpu {

// [0, n) in as many contiguous shares as there are threads.
struct Shares {
  Shares(const ThreadPool& pool, int64_t n_) : n(n_), count(std::min<int64_t>({n, pool.size(), 64})) {}
  int64_t begin(int64_t share) const { return n * share / count; }

  int64_t n, count;
};

struct InShare {
  bool first, last;
};

// f(begin, end, InShare) for ranges of at most `most` elements of [0, n), shorter ones towards the end of a share. Each thread begins with
// a share of its own and takes it in order, so that it can fetch ahead what it takes next, unless the range is the last of the share; then
// it helps the others.
template <class F> void for_shares(ThreadPool& pool, const Shares& all, int64_t most, const F& f) {
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  std::array<Share, 64> shares;
  for (int64_t i = 0; i < all.count; ++i) {
    shares[size_t(i)].next = all.begin(i);
    shares[size_t(i)].end = all.begin(i + 1);
  }
  pool.run(all.count, [&](int64_t own) {
    for (int64_t k = 0; k < all.count; ++k) {
      const int64_t whose = (own + k) % all.count, first = all.begin(whose);
      Share& share = shares[size_t(whose)];
      for (;;) {
        const int64_t size = std::clamp<int64_t>((share.end - share.next.load(std::memory_order_relaxed)) / 4, 1, most);
        const int64_t begin = share.next.fetch_add(size, std::memory_order_relaxed), end = std::min(begin + size, share.end);
        if (begin >= share.end) break;
        f(begin, end, InShare{.first = begin == first, .last = end == share.end});
      }
    }
  });
}

// The same in ranges of `grain` elements (the last may be shorter): f(begin, end).
template <class F> void for_shares(ThreadPool& pool, int64_t n, int64_t grain, const F& f) {
  for_shares(pool, Shares(pool, (n + grain - 1) / grain), 1,
             [&](int64_t range, int64_t, InShare) { f(range * grain, std::min(n, (range + 1) * grain)); });
}

}  // namespace hearth::cpu
