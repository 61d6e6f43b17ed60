#include <algorithm>
#include <array>
#include <cmath>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/products/rows.h"
#include "backends/cpu/shares.h"

// Keys are processed in blocks at fixed positions. Each block has its own softmax, and these are merged in order, so that a query's
// result depends only on its own keys, not on the other queries, and the blocks of a single query can be divided among threads.
// A block of one group of heads is packed for the product tiles: k transposed in panels of keys, v in panels of columns. The rows of a
// tile are queries, one per token and head of the group.
namespace hearth::cpu {
namespace {

constexpr int64_t few_rows = 32;    // up to this number, threads divide the blocks of keys
constexpr int64_t most_rows = 256;  // of a piece of work: a block is packed once for all of them

// Keys of a block, a multiple of every panel. A function of the head size only.
int64_t block_of(int64_t D) { return std::clamp<int64_t>(32768 / D / 32 * 32, 32, 256); }

struct PartialSoftmax {  // running maximum and sum of a query's softmax over some keys
  float m = -INFINITY, l = 0;
};

struct Keys {  // range of keys of a block, counted from its first position
  int64_t first, last;
  bool any() const { return first < last; }
};

// The sizes of one call, and the work on one block of keys for some rows of queries.
class Blocks {
 public:
  Blocks(const Kernels& kernels, const Tensor& q, const KeyValues& cache, const CachedAttentionSpec& spec)
      : kernel_(kernels),
        q_(q),
        cache_(cache),
        spec_(spec),
        D(q.size(2)),
        Dv(cache.v.size(2)),
        C(cache.k.size(0)),
        G(cache.k.size(1)),
        heads(q.size(1) / G),
        rows(q.size(0) * heads),
        size(block_of(std::max(D, Dv))),
        width_((std::max(D, Dv) + kernels.panel - 1) / kernels.panel * kernels.panel) {}

  int64_t position(int64_t row) const { return cache_.first + row / heads; }
  int64_t oldest(int64_t row) const { return cache_.window ? std::max<int64_t>(0, position(row) - cache_.window + 1) : 0; }
  int64_t first_block(int64_t row) const { return oldest(row) / size; }       // that the row attends to
  int64_t last_block(int64_t row) const { return position(row) / size + 1; }  // end of the blocks that the row attends to
  Keys keys(int64_t row, int64_t block) const {
    return {std::max<int64_t>(0, oldest(row) - block * size), std::min(size, position(row) + 1 - block * size)};
  }
  int64_t head(int64_t row, int64_t g) const { return g * heads + row % heads; }
  int64_t index(int64_t row, int64_t g) const { return row / heads * q_.size(1) + head(row, g); }  // in [T, N]
  // The initial state of a row's softmax: its head's sink.
  PartialSoftmax start(int64_t row, int64_t g) const {
    const float sink = spec_.sinks ? spec_.sinks.data<float>()[head(row, g)] : -INFINITY;
    return {sink, sink == -INFINITY ? 0.0f : 1.0f};
  }

  int64_t scratch() const { return 2 * size * width_ + kernel_.tile_rows * (size + 2 * width_); }

  // Prefetches `count` keys and values of a group of heads from a position on.
  void fetch(int64_t g, int64_t position, int64_t count) const {
    const auto lines = [](const std::byte* row, size_t bytes) {
      for (size_t line = 0; line < bytes; line += 64) __builtin_prefetch(row + line);
    };
    for (int64_t slot = position % C; count > 0; --count, slot = following(slot))
      lines(key(slot, g), bytes_of(cache_.k.dtype(), D)), lines(value(slot, g), bytes_of(cache_.v.dtype(), Dv));
  }
  // Prefetches the first panel of a block that rows row0 … row1 − 1 attend to.
  void fetch(int64_t g, int64_t block, int64_t row0, int64_t row1) const {
    const Keys seen{keys(row0, block).first, keys(row1 - 1, block).last};
    if (seen.any()) fetch(g, block * size + seen.first, std::min(kernel_.panel - seen.first % kernel_.panel, seen.last - seen.first));
  }

  // Packs the keys and values of a block that rows row0 … row1 − 1 attend to.
  void pack(int64_t g, int64_t block, int64_t row0, int64_t row1, float* scratch) {
    const int64_t panel = kernel_.panel;
    k_ = scratch, v_ = k_ + size * width_, scores_ = v_ + size * width_, sums_ = scores_ + kernel_.tile_rows * size;
    queries_ = sums_ + kernel_.tile_rows * width_;
    const Keys seen{keys(row0, block).first, keys(row1 - 1, block).last}, all{keys(row1 - 1, block).first, keys(row0, block).last};
    const RowType type = *row_type(cache_.k.dtype());
    std::array<const void*, 32> rows_of_k, rows_of_v;
    const int64_t first = seen.first / panel * panel;
    int64_t slot = (block * size + first) % C;
    for (int64_t p = first; p < seen.last; p += panel) {
      for (int64_t i = 0; i < panel; ++i, slot = following(slot)) {
        const bool there = seen.first <= p + i && p + i < seen.last;
        rows_of_k[size_t(i)] = there ? key(slot, g) : nullptr;
        rows_of_v[size_t(i)] = there ? value(slot, g) : nullptr;
      }
      if (p + panel < seen.last) fetch(g, block * size + p + panel, std::min(panel, seen.last - p - panel));
      kernel_.pack_keys(type, rows_of_k.data(), D, k_ + p * D);
      kernel_.pack_values(type, rows_of_v.data(), Dv, v_ + p * panel, size * panel);
    }
    // A weight of zero must not be multiplied with an infinite value, so rows that attend to different keys are then summed apart.
    apart_ = (seen.first != all.first || seen.last != all.last) && !std::isfinite(values_squared(seen));
  }

  // For up to tile_rows rows from `row` on: the softmax over this block's keys alone. done(r, part, o) for rows that attend to any.
  template <class Done> void attend(int64_t g, int64_t block, int64_t row, int64_t count, const Done& done) {
    const int64_t panel = kernel_.panel, height = kernel_.tile_rows;
    const Keys seen{keys(row, block).first, keys(row + count - 1, block).last};
    if (!seen.any()) return;
    const int64_t p0 = seen.first / panel, p1 = (seen.last + panel - 1) / panel;
    Segment query;
    query.length = D;
    for (int64_t r = 0; r < count; ++r) {
      kernel_.scale(q_.data<float>() + index(row + r, g) * D, spec_.scale, D, queries_ + r * width_);
      query.row[r] = queries_ + r * width_;
    }
    for (int64_t p = p0; p < p1; ++p) {
      kernel_.tile(count, true, &query, 1, k_ + p * panel * D, scores_ + p * height * panel, false);
      if (spec_.soft_cap > 0) kernel_.soft_cap(scores_ + p * height * panel, count * panel, spec_.soft_cap);
    }

    std::array<PartialSoftmax, max_tile_rows> parts;
    for (int64_t r = 0; r < count; ++r) {
      float* weights = scores_ + p0 * height * panel + r * panel;
      const Keys own = keys(row + r, block);
      const Keys here{own.first - p0 * panel, own.last - p0 * panel};
      if (here.any()) {
        kernel_.softmax_part(weights, height * panel, here.first, here.last, p1 - p0, &parts[size_t(r)].m, &parts[size_t(r)].l);
      } else {
        for (int64_t p = p0; p < p1; ++p) std::fill_n(weights + (p - p0) * height * panel, panel, 0.0f);
      }
    }

    std::array<Segment, 16> weights;
    const auto weigh = [&](int64_t r0, int64_t some, Keys range) {
      int64_t runs = 0;
      for (int64_t s = range.first, end; s < range.last; s = end, ++runs) {
        end = std::min(s / panel * panel + panel, range.last);
        for (int64_t r = 0; r < some; ++r)
          weights[size_t(runs)].row[r] = scores_ + s / panel * height * panel + (r0 + r) * panel + s % panel;
        weights[size_t(runs)].length = end - s;
      }
      for (int64_t c = 0; c < Dv; c += panel)
        kernel_.tile(some, true, weights.data(), runs, v_ + c * size + range.first * panel, sums_ + c * height + r0 * panel, false);
    };
    if (!apart_) weigh(0, count, seen);
    for (int64_t r = 0; r < count; ++r) {
      const Keys own = keys(row + r, block);
      if (!own.any()) continue;
      if (apart_) weigh(r, 1, own);
      for (int64_t c = 0; c < Dv; c += panel) std::copy_n(sums_ + c * height + r * panel, std::min(panel, Dv - c), queries_ + c);
      done(r, parts[size_t(r)], queries_);
    }
  }

 private:
  const std::byte* key(int64_t slot, int64_t g) const { return cache_.k.raw() + size_t(slot * G + g) * bytes_of(cache_.k.dtype(), D); }
  const std::byte* value(int64_t slot, int64_t g) const {
    return cache_.v.raw() + bytes_of(cache_.v.dtype(), slot * cache_.v.stride(0) + g * cache_.v.stride(1));
  }
  // Slots of the ring are incremented: a division per key would take longer than the work on the key.
  int64_t following(int64_t slot) const { return slot + 1 == C ? 0 : slot + 1; }

  float values_squared(const Keys& seen) const {
    float sum = 0;
    for (int64_t c = 0; c < Dv; c += kernel_.panel)
      sum += kernel_.squares(v_ + c * size + seen.first * kernel_.panel, (seen.last - seen.first) * kernel_.panel);
    return sum;
  }

  const Kernels& kernel_;
  const Tensor& q_;
  const KeyValues& cache_;
  const CachedAttentionSpec& spec_;

 public:
  const int64_t D, Dv, C, G, heads, rows, size;

 private:
  const int64_t width_;  // the larger of D and Dv in whole panels
  float *k_ = nullptr, *v_ = nullptr, *scores_ = nullptr, *sums_ = nullptr, *queries_ = nullptr;
  bool apart_ = false;
};

}  // namespace

void CpuBackend::cached_attention(const Tensor& q, const KeyValues& cache, const CachedAttentionSpec& spec, Tensor& y) {
  const Kernels& kernel = kernels_;
  const Blocks all(kernel, q, cache, spec);
  const int64_t Dv = all.Dv, G = all.G, rows = all.rows, tile = kernel.tile_rows;
  const auto finish = [&](int64_t row, int64_t g, float l, const float* o) {
    kernel.scale(o, 1 / l, Dv, y.data<float>() + all.index(row, g) * Dv);
  };

  if (rows <= few_rows) {
    const int64_t begin = all.first_block(0), blocks = all.last_block(rows - 1) - begin;
    const auto part_store = memory_->allocate(size_t(G * blocks * rows) * sizeof(PartialSoftmax));
    const auto o_store = memory_->allocate(size_t(G * blocks * rows * Dv) * sizeof(float));
    auto* const parts = reinterpret_cast<PartialSoftmax*>(part_store.get());
    auto* const os = reinterpret_cast<float*>(o_store.get());
    const auto merge = [&](int64_t g) {
      float* o = thread_scratch(size_t(Dv));
      for (int64_t row = 0; row < rows; ++row) {
        PartialSoftmax sum = all.start(row, g);
        std::fill_n(o, Dv, 0.0f);
        for (int64_t block = all.first_block(row); block < all.last_block(row); ++block) {
          const int64_t at = (g * blocks + block - begin) * rows + row;
          kernel.merge_part(&sum.m, &sum.l, o, parts[at].m, parts[at].l, os + at * Dv, Dv);
        }
        finish(row, g, sum.l, o);
      }
    };
    for_shares(pool_, Shares(pool_, G * blocks), 1, [&](int64_t piece, int64_t, InShare place) {
      const int64_t g = piece % G, block = begin + piece / G;
      Blocks work = all;
      if (place.first) work.fetch(g, block, 0, rows);
      if (!place.last) work.fetch((piece + 1) % G, begin + (piece + 1) / G, 0, rows);
      work.pack(g, block, 0, rows, thread_scratch(size_t(all.scratch())));
      for (int64_t row = 0; row < rows; row += tile)
        work.attend(g, block, row, std::min(tile, rows - row), [&](int64_t r, const PartialSoftmax& part, const float* o) {
          const int64_t at = (g * blocks + block - begin) * rows + row + r;
          parts[at] = part;
          std::copy_n(o, Dv, os + at * Dv);
        });
      if (blocks == 1) merge(g);
    });
    if (blocks > 1) pool_.run(G, merge);
    return;
  }

  int64_t share = most_rows;
  while (share > 2 * tile && G * ((rows + share - 1) / share) < 4 * pool_.size()) share /= 2;
  const int64_t shares = (rows + share - 1) / share;
  pool_.run(G * shares, [&](int64_t piece) {
    const int64_t g = piece % G, row0 = rows * (piece / G) / shares, row1 = rows * (piece / G + 1) / shares;
    float* os = thread_scratch(size_t(all.scratch() + (row1 - row0) * Dv));  // [rows][Dv], then the scratch of blocks
    float* rest = os + (row1 - row0) * Dv;
    std::array<PartialSoftmax, most_rows> sums;
    for (int64_t row = row0; row < row1; ++row) sums[size_t(row - row0)] = all.start(row, g);
    std::fill_n(os, (row1 - row0) * Dv, 0.0f);
    Blocks work = all;
    for (int64_t block = all.first_block(row0); block < all.last_block(row1 - 1); ++block) {
      work.pack(g, block, row0, row1, rest);
      for (int64_t row = row0; row < row1; row += tile)
        work.attend(g, block, row, std::min(tile, row1 - row), [&](int64_t r, const PartialSoftmax& part, const float* o) {
          const int64_t i = row - row0 + r;
          PartialSoftmax& sum = sums[size_t(i)];
          kernel.merge_part(&sum.m, &sum.l, os + i * Dv, part.m, part.l, o, Dv);
        });
    }
    for (int64_t row = row0; row < row1; ++row) finish(row, g, sums[size_t(row - row0)].l, os + (row - row0) * Dv);
  });
}

}  // namespace hearth::cpu
