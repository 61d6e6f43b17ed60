#include <algorithm>
#include <vector>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/product.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/shares.h"

// A single row of x meets weights held in place: every token of a language model that is generated. Each weight is read once, from memory,
// and that takes all the time. So several products of the same x are one piece of work: a range of it is rows of each weight, the same
// part of all of them, and while a thread multiplies some rows it fetches those that come next, of whichever weight.
namespace hearth::cpu {
namespace {

constexpr int64_t range_bytes = 32 << 10;  // of weights: work is shared out in so much and more
constexpr int64_t most_ranges = 8;         // taken at once
constexpr int64_t share_of_x = 1024;       // numbers that are made integers at a time

constexpr int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

// x as the products with a type's integers take it (integers.h).
struct IntegerRow {
  IntegerRow(Arena& memory, RowType t, int64_t k) : type(t), unit(integer_unit(t)) {
    const int64_t padded = parts(k, integer_stride) * integer_stride, units = padded / unit;
    store = memory.allocate(size_t(padded) * sizeof(int16_t) + size_t(units) * (sizeof(float) + sizeof(int32_t)));
    q = reinterpret_cast<int16_t*>(store.get());
    d = reinterpret_cast<float*>(q + padded);
    s = reinterpret_cast<int32_t*>(d + units);
  }

  RowType type;
  int64_t unit;
  std::shared_ptr<std::byte> store;
  int16_t* q;
  float* d;
  int32_t* s;
};

// One weight's part in the work, in groups of as many rows as a register has lanes.
struct Product {
  const RowsWeight& w;
  TileStore store;
  int64_t rows, row_bytes, groups;
  uint64_t groups_of_range = 0;   // in 2⁻³²
  const IntegerRow* x = nullptr;  // null: f32 factors

  const std::byte* row(int64_t n) const { return w.rows.raw() + n * row_bytes; }
};

}  // namespace

void CpuBackend::one_row(const Tensor& x, std::span<const LinearCall> calls) {
  const int64_t K = calls.front().w.in(), lanes = kernels_.lanes;
  std::vector<IntegerRow> integers;
  std::vector<Product> products;
  integers.reserve(calls.size()), products.reserve(calls.size());
  int64_t bytes = 0, most_groups = 0;
  for (const LinearCall& c : calls) {
    const auto& w = static_cast<const RowsWeight&>(*c.w.prepared);
    const int64_t N = c.w.out();
    Product& p = products.emplace_back(Product{.w = w,
                                               .store = TileStore(kernels_, N, false, c.bias, c.e, 1, c.y),
                                               .rows = N,
                                               .row_bytes = int64_t(bytes_of(w.rows.dtype(), K)),
                                               .groups = parts(N, lanes)});
    if (w.factors == DType::i16) {
      auto same = std::find_if(integers.begin(), integers.end(), [&](const IntegerRow& r) { return r.type == w.type; });
      if (same == integers.end()) same = integers.emplace(same, *memory_, w.type, K);
      p.x = &*same;
    }
    bytes += N * p.row_bytes;
    most_groups = std::max(most_groups, p.groups);
  }

  const int64_t ranges = std::clamp<int64_t>(bytes / range_bytes, 1, most_groups);
  const Shares shares(pool_, ranges);
  // p.groups · range / ranges as a product, because a division takes longer than half a row.
  for (Product& p : products) p.groups_of_range = (uint64_t(p.groups) << 32) / uint64_t(ranges) + 1;
  const auto begin = [&](const Product& p, int64_t range) {
    return std::min(p.rows, int64_t(uint64_t(range) * p.groups_of_range >> 32) * lanes);
  };
  // The first rows of products i, … in a range, or null.
  const auto first_of = [&](size_t i, int64_t range, int64_t end) -> const std::byte* {
    for (; i < products.size(); ++i)
      if (begin(products[i], range) < begin(products[i], end)) return products[i].row(begin(products[i], range));
    return nullptr;
  };
  const auto after = [&](size_t i, int64_t range, int64_t end, bool last) {
    const std::byte* const next = first_of(i + 1, range, end);
    return next || last ? next : first_of(0, end, end + 1);
  };

  if (!integers.empty()) {
    const int64_t pieces = parts(K, share_of_x);
    pool_.run(shares.count, [&](int64_t own) {
      for (const Product& p : products) {
        if (const int64_t n = begin(p, shares.begin(own)); n < begin(p, shares.begin(own) + 1)) {
          for (int64_t r = 0; r < lanes && n + r < p.rows; ++r)
            for (int64_t byte = 0; byte < std::min<int64_t>(p.row_bytes, 1024); byte += 64) __builtin_prefetch(p.row(n + r) + byte);
          break;
        }
      }
      for (int64_t piece = pieces * own / shares.count; piece < pieces * (own + 1) / shares.count; ++piece)
        for (const IntegerRow& r : integers) {
          const int64_t k0 = piece * share_of_x, count = std::min(share_of_x, K - k0);
          kernels_.integers->quantize_row(r.type, x.data<float>() + k0, count, r.q + k0, r.d + k0 / r.unit, r.s + k0 / r.unit);
        }
    });
  }

  for_shares(pool_, shares, most_ranges, [&](int64_t range, int64_t end, InShare place) {
    for (size_t i = 0; i < products.size(); ++i) {
      const Product& p = products[i];
      const int64_t n0 = begin(p, range), n1 = begin(p, end);
      if (n0 == n1) continue;
      float* const sums = thread_scratch(size_t(parts(n1 - n0, lanes) * lanes));
      if (p.x) {
        kernels_.integers->row_dots(p.w.type, p.x->q, p.x->d, p.x->s, p.row(n0), n1 - n0, K, sums, after(i, range, end, place.last));
      } else {
        kernels_.row_dots(p.w.type, x.data<float>(), p.row(n0), n1 - n0, K, sums);
      }
      p.store.store_row(sums, n0, n1 - n0);
    }
  });
}

}  // namespace hearth::cpu
