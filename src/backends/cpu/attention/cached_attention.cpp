#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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

// Walks the rows in which consecutive positions are stored: a division for each key would take longer than the work on the key.
class Walk {
 public:
  Walk(const KeyValues& text, int64_t position) : page_(text.pages ? text.page : text.k.size(0)) {
    if (text.pages) table_ = text.pages.data<int32_t>(), pages_ = text.pages.numel();
    index_ = table_ ? position / page_ : 0;
    within_ = position % page_;
    base_ = base();
  }
  int64_t row() const { return base_ + within_; }
  void next() {
    if (++within_ < page_) return;
    within_ = 0, ++index_, base_ = base();
  }

 private:
  int64_t base() const { return table_ && index_ < pages_ ? int64_t(table_[index_]) * page_ : 0; }

  int64_t page_;  // a ring is one page that follows itself
  const int32_t* table_ = nullptr;
  int64_t pages_ = 0, index_ = 0, within_ = 0, base_ = 0;
};

// The sizes of one text, whose first query is row `begin` of q, and the work on one block of keys for some rows of queries.
class Blocks {
 public:
  Blocks(const Kernels& kernels, const Tensor& q, int64_t begin, const KeyValues& cache, const CachedAttentionSpec& spec)
      : kernel_(kernels),
        q_(q),
        begin_(begin),
        cache_(cache),
        spec_(spec),
        D(q.size(2)),
        Dv(cache.v.size(2)),
        G(cache.k.size(1)),
        heads(q.size(1) / G),
        rows(cache.queries * heads),
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
  int64_t index(int64_t row, int64_t g) const { return (begin_ + row / heads) * q_.size(1) + head(row, g); }  // in [T, N]
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
    for (Walk at(cache_, position); count > 0; --count, at.next())
      lines(key(at.row(), g), bytes_of(cache_.k.dtype(), D)), lines(value(at.row(), g), bytes_of(cache_.v.dtype(), Dv));
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
    Walk at(cache_, block * size + first);
    for (int64_t p = first; p < seen.last; p += panel) {
      for (int64_t i = 0; i < panel; ++i, at.next()) {
        const bool there = seen.first <= p + i && p + i < seen.last;
        rows_of_k[size_t(i)] = there ? key(at.row(), g) : nullptr;
        rows_of_v[size_t(i)] = there ? value(at.row(), g) : nullptr;
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
  const std::byte* key(int64_t row, int64_t g) const { return cache_.k.raw() + size_t(row * G + g) * bytes_of(cache_.k.dtype(), D); }
  const std::byte* value(int64_t row, int64_t g) const {
    return cache_.v.raw() + bytes_of(cache_.v.dtype(), row * cache_.v.stride(0) + g * cache_.v.stride(1));
  }

  float values_squared(const Keys& seen) const {
    float sum = 0;
    for (int64_t c = 0; c < Dv; c += kernel_.panel)
      sum += kernel_.squares(v_ + c * size + seen.first * kernel_.panel, (seen.last - seen.first) * kernel_.panel);
    return sum;
  }

  const Kernels& kernel_;
  const Tensor& q_;
  const int64_t begin_;
  const KeyValues& cache_;
  const CachedAttentionSpec& spec_;

 public:
  const int64_t D, Dv, G, heads, rows, size;

 private:
  const int64_t width_;  // the larger of D and Dv in whole panels
  float *k_ = nullptr, *v_ = nullptr, *scores_ = nullptr, *sums_ = nullptr, *queries_ = nullptr;
  bool apart_ = false;
};

// The result of a row, from the sums over its blocks.
void finish(const Kernels& kernel, const Blocks& text, int64_t row, int64_t g, float l, const float* o, Tensor& y) {
  kernel.scale(o, 1 / l, text.Dv, y.data<float>() + text.index(row, g) * text.Dv);
}

// A text with few queries.
struct FewQueries {
  int64_t text, begin;          // its index in the call, and the row of q where its queries begin
  int64_t first_block, blocks;  // that they attend to
  int64_t parts;                // where the results of its blocks begin, in rows
};
struct Piece {
  int32_t few, g, block;  // index of FewQueries, group of heads, block counted from the first
};

// Threads divide the blocks of keys of all texts with few queries; then each row's blocks are merged.
class FewAttention {
 public:
  FewAttention(const Kernels& kernel, ThreadPool& pool, Arena& memory, const Tensor& q, std::span<const KeyValues> texts,
               const CachedAttentionSpec& spec)
      : kernel_(kernel), pool_(pool), memory_(memory), q_(q), texts_(texts), spec_(spec), few_(texts.size()) {}

  void add(int64_t text, int64_t begin) {
    const Blocks all(kernel_, q_, begin, texts_[size_t(text)], spec_);
    const int64_t first = all.first_block(0), blocks = all.last_block(all.rows - 1) - first;
    few_[size_t(count_++)] = {text, begin, first, blocks, parts_};
    parts_ += all.G * blocks * all.rows;
    pieces_ += all.G * blocks;
  }

  void run(Tensor& y) {
    if (count_ == 0) return;
    const int64_t Dv = texts_[0].v.size(2), G = texts_[0].k.size(1);
    std::vector<Piece> pieces(static_cast<size_t>(pieces_));
    const auto part_store = memory_.allocate(size_t(parts_) * sizeof(PartialSoftmax));
    const auto o_store = memory_.allocate(size_t(parts_ * Dv) * sizeof(float));
    auto* const parts = reinterpret_cast<PartialSoftmax*>(part_store.get());
    auto* const os = reinterpret_cast<float*>(o_store.get());
    size_t filled = 0;
    for (int64_t i = 0; i < count_; ++i)
      for (int64_t block = 0; block < few(i).blocks; ++block)
        for (int64_t g = 0; g < G; ++g) pieces[filled++] = {int32_t(i), int32_t(g), int32_t(block)};

    const auto place = [&](const Piece& p, int64_t row, const Blocks& all) {
      return few(p.few).parts + (p.g * few(p.few).blocks + p.block) * all.rows + row;
    };
    const auto merge = [&](int64_t i, int64_t g) {
      const Blocks all = blocks_of(i);
      float* o = thread_scratch(size_t(Dv));
      for (int64_t row = 0; row < all.rows; ++row) {
        PartialSoftmax sum = all.start(row, g);
        std::fill_n(o, Dv, 0.0f);
        for (int64_t block = all.first_block(row); block < all.last_block(row); ++block) {
          const int64_t at = place({int32_t(i), int32_t(g), int32_t(block - few(i).first_block)}, row, all);
          kernel_.merge_part(&sum.m, &sum.l, o, parts[at].m, parts[at].l, os + at * Dv, Dv);
        }
        finish(kernel_, all, row, g, sum.l, o, y);
      }
    };
    bool merged = true;
    for (int64_t i = 0; i < count_; ++i) merged = merged && few(i).blocks == 1;
    for_shares(pool_, Shares(pool_, pieces_), 1, [&](int64_t piece, int64_t, InShare share) {
      const Piece& own = pieces[size_t(piece)];
      Blocks work = blocks_of(own.few);
      const int64_t tile = kernel_.tile_rows, block = few(own.few).first_block + own.block;
      if (share.first) work.fetch(own.g, block, 0, work.rows);
      if (!share.last) {
        const Piece& next = pieces[size_t(piece + 1)];
        const Blocks then = blocks_of(next.few);
        then.fetch(next.g, few(next.few).first_block + next.block, 0, then.rows);
      }
      work.pack(own.g, block, 0, work.rows, thread_scratch(size_t(work.scratch())));
      for (int64_t row = 0; row < work.rows; row += tile)
        work.attend(own.g, block, row, std::min(tile, work.rows - row), [&](int64_t r, const PartialSoftmax& part, const float* o) {
          const int64_t at = place(own, row + r, work);
          parts[at] = part;
          std::copy_n(o, Dv, os + at * Dv);
        });
      if (few(own.few).blocks == 1) merge(own.few, own.g);
    });
    if (merged) return;
    pool_.run(count_ * G, [&](int64_t at) {
      if (few(at / G).blocks > 1) merge(at / G, at % G);
    });
  }

 private:
  const FewQueries& few(int64_t i) const { return few_[size_t(i)]; }
  Blocks blocks_of(int64_t i) const { return {kernel_, q_, few(i).begin, texts_[size_t(few(i).text)], spec_}; }

  const Kernels& kernel_;
  ThreadPool& pool_;
  Arena& memory_;
  const Tensor& q_;
  std::span<const KeyValues> texts_;
  const CachedAttentionSpec& spec_;
  std::vector<FewQueries> few_;
  int64_t count_ = 0, pieces_ = 0, parts_ = 0;
};

// Threads divide the queries of one text.
void attend_many(const Kernels& kernel, ThreadPool& pool, const Blocks& all, Tensor& y) {
  const int64_t Dv = all.Dv, G = all.G, rows = all.rows, tile = kernel.tile_rows;
  int64_t share = most_rows;
  while (share > 2 * tile && G * ((rows + share - 1) / share) < 4 * pool.size()) share /= 2;
  const int64_t shares = (rows + share - 1) / share;
  pool.run(G * shares, [&](int64_t piece) {
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
    for (int64_t row = row0; row < row1; ++row) finish(kernel, all, row, g, sums[size_t(row - row0)].l, os + (row - row0) * Dv, y);
  });
}

}  // namespace

void CpuBackend::cached_attention(const Tensor& q, std::span<const KeyValues> texts, const CachedAttentionSpec& spec, Tensor& y) {
  FewAttention few(kernels_, pool_, *memory_, q, texts, spec);
  int64_t begin = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Blocks all(kernels_, q, begin, texts[i], spec);
    if (all.rows > few_rows) attend_many(kernels_, pool_, all, y);
    else if (all.rows > 0) few.add(int64_t(i), begin);
    begin += texts[i].queries;
  }
  few.run(y);
}

}  // namespace hearth::cpu
