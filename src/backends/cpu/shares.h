// Work that reads memory in order, divided among threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "backends/cpu/whole_units.h"
#include "core/threads.h"

namespace hearth::cpu {

// [0, n) in one contiguous share per thread.
struct Shares {
  Shares(const ThreadPool& pool, int64_t n_) : n(n_), count(std::min<int64_t>({n, pool.size(), 64})) {}
  int64_t begin(int64_t share) const { return n * share / count; }

  int64_t n, count;
};

struct InShare {
  bool first, last;
};

// f(begin, end, InShare) for ranges of at most `most` elements of [0, n), shorter towards the end of a share. Each thread starts with its
// own share and processes it in order, so that it can prefetch its next range, unless the share has none left. Then it helps the others
// from the ends of their shares, which they have not prefetched.
template <class F> void for_shares(ThreadPool& pool, const Shares& all, int64_t most, const F& f) {
  struct alignas(64) Share {
    std::atomic<uint64_t> left;  // begin · 2³² | end
  };
  std::array<Share, 64> shares;
  for (int64_t i = 0; i < all.count; ++i) shares[size_t(i)].left = uint64_t(all.begin(i)) << 32 | uint64_t(all.begin(i + 1));
  pool.run(all.count, [&](int64_t own) {
    for (int64_t k = 0; k < all.count; ++k) {
      const int64_t whose = (own + k) % all.count;
      std::atomic<uint64_t>& left = shares[size_t(whose)].left;
      for (uint64_t now = left.load(std::memory_order_relaxed);;) {
        const auto begin = int64_t(now >> 32), end = int64_t(now & 0xffffffff), size = std::clamp<int64_t>((end - begin) / 4, 1, most);
        if (begin == end) break;
        const int64_t first = k == 0 ? begin + size : begin, last = k == 0 ? end : end - size;
        if (!left.compare_exchange_weak(now, uint64_t(first) << 32 | uint64_t(last), std::memory_order_relaxed)) continue;
        if (k == 0) f(begin, first, InShare{.first = begin == all.begin(whose), .last = first == end});
        else f(last, end, InShare{.first = true, .last = true});
        now = left.load(std::memory_order_relaxed);
      }
    }
  });
}

// The same in ranges of `grain` elements (the last may be shorter): f(begin, end).
template <class F> void for_shares(ThreadPool& pool, int64_t n, int64_t grain, const F& f) {
  for_shares(pool, Shares(pool, parts(n, grain)), 1,
             [&](int64_t range, int64_t, InShare) { f(range * grain, std::min(n, (range + 1) * grain)); });
}

}  // namespace hearth::cpu
