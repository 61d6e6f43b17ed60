#include <algorithm>
#include <vector>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/products/product.h"
#include "backends/cpu/products/rows.h"
#include "backends/cpu/shares.h"
#include "backends/cpu/whole_units.h"

// One row of x, or a few, with weights held in place: every token that a language model generates. Each weight is read once from
// memory, which takes most of the time. So several products of the same x are one piece of work: a range of it is the same fraction of the
// rows of each weight, and while a thread multiplies some rows it prefetches as many that it will process next.
namespace hearth::cpu {
namespace {

constexpr int64_t range_bytes = 96 << 10;  // bytes of weights per range, approximately
constexpr int64_t share_of_x = 1024;       // values that are converted to integers at a time

// Rows of x in the form that products with a type's integers expect (integers.h).
class IntegerRows {
 public:
  IntegerRows(Arena& memory, RowType t, int64_t rows, int64_t k)
      : type(t), unit_(integer_unit(t)), padded_(parts(k, integer_stride) * integer_stride), units_(padded_ / unit_) {
    store_ = memory.allocate(size_t(rows * padded_) * sizeof(int16_t) + size_t(rows * units_) * (sizeof(float) + sizeof(int32_t)));
    q_ = reinterpret_cast<int16_t*>(store_.get());
    d_ = reinterpret_cast<float*>(q_ + rows * padded_);
    s_ = reinterpret_cast<int32_t*>(d_ + rows * units_);
  }
  int16_t* q(int64_t row, int64_t k = 0) const { return q_ + row * padded_ + k; }
  float* d(int64_t row, int64_t k = 0) const { return d_ + row * units_ + k / unit_; }
  int32_t* s(int64_t row, int64_t k = 0) const { return s_ + row * units_ + k / unit_; }

  const RowType type;

 private:
  int64_t unit_, padded_, units_;
  std::shared_ptr<std::byte> store_;
  int16_t* q_;
  float* d_;
  int32_t* s_;
};

bool is_f32(const Tensor& t) { return t.dtype() == DType::f32; }

// The share of one weight in the work, in groups of as many rows as a register has lanes.
struct Product {
  const RowsWeight& w;
  TileStore store;
  int64_t rows, row_bytes, groups;
  uint64_t groups_of_range = 0;    // in units of 2⁻³²
  const IntegerRows* x = nullptr;  // null: f32 factors
  bool any_number = true;          // of columns may be stored at once

  const std::byte* row(int64_t n) const { return w.rows.raw() + n * row_bytes; }
};

}  // namespace

void CpuBackend::linear_few(const Tensor& x, std::span<const LinearCall> calls) {
  const int64_t M = x.size(0) * x.size(1), K = x.size(2), lanes = kernels_.lanes, panel = kernels_.panel;
  std::vector<IntegerRows> integers;
  std::vector<Product> products;
  integers.reserve(calls.size()), products.reserve(calls.size());
  int64_t bytes = 0, most_groups = 0;
  for (const LinearCall& c : calls) {
    const RowsWeight& w = rows_of(c.w);
    const int64_t N = c.w.out();
    Product& p = products.emplace_back(Product{.w = w,
                                               .store = TileStore(kernels_, c.w, c.bias, c.e, x.size(1), c.y),
                                               .rows = N,
                                               .row_bytes = int64_t(bytes_of(w.rows.dtype(), K)),
                                               .groups = parts(N, lanes),
                                               .any_number = is_f32(c.y) && (!c.e.residual || is_f32(c.e.residual))});
    if (route_of(c.w, M) == Route::few_integers) {
      const auto same = std::find_if(integers.begin(), integers.end(), [&](const IntegerRows& r) { return r.type == w.type; });
      p.x = same == integers.end() ? &integers.emplace_back(*memory_, w.type, M, K) : &*same;
    }
    bytes += N * p.row_bytes;
    most_groups = std::max(most_groups, p.groups);
  }

  // Ranges are whole groups of the largest weight, and the same fraction of the others: as much is prefetched as is multiplied meanwhile.
  const int64_t in_range = bytes == 0 ? 1 : std::clamp<int64_t>((most_groups * range_bytes + bytes / 2) / bytes, 1, most_groups);
  const int64_t ranges = parts(most_groups, in_range);
  const Shares shares(pool_, ranges);
  // A multiplication gives the groups before a range: a division takes longer than half a row.
  for (Product& p : products)
    if (p.groups > 0) p.groups_of_range = ((uint64_t(p.groups * in_range) << 32) + uint64_t(most_groups) - 1) / uint64_t(most_groups);
  const auto begin = [&](const Product& p, int64_t range) {
    return std::min(p.rows, int64_t(uint64_t(range) * p.groups_of_range >> 32) * lanes);
  };

  pool_.run(integers.empty() ? 0 : parts(K, share_of_x), [&](int64_t piece) {
    const int64_t k = piece * share_of_x, count = std::min(share_of_x, K - k);
    for (const IntegerRows& rows : integers)
      for (int64_t m = 0; m < M; ++m)
        kernels_.integers->quantize_row(rows.type, x.data<float>() + m * K + k, count, rows.q(m, k), rows.d(m, k), rows.s(m, k));
  });

  for_shares(pool_, shares, 1, [&](int64_t range, int64_t end, InShare place) {
    for (const Product& p : products) {
      const int64_t n0 = begin(p, range), n1 = begin(p, end), n2 = place.last ? n1 : begin(p, end + 1);
      if (n0 == n1) continue;
      // Several rows of x are multiplied with a few rows of w, which stay in cache; TileStore rounds only that many.
      const int64_t at_once = M == 1 && p.any_number ? n1 - n0 : lanes;
      float* const sums = thread_scratch(size_t(std::max(parts(at_once, lanes) * lanes, M * panel)));
      for (int64_t n = n0; n < n1; n += at_once) {
        const int64_t count = std::min(at_once, n1 - n);
        const std::byte* const next = n + count < n2 ? p.row(n + count) : nullptr;
        if (!p.x) kernels_.row_dots(p.w.type, x.data<float>(), p.row(n), count, K, sums);
        for (int64_t m = 0; p.x && m < M; ++m)
          kernels_.integers->row_dots(p.w.type, p.x->q(m), p.x->d(m), p.x->s(m), p.row(n), count, K, sums + m * panel,
                                      m == 0 ? next : nullptr);
        p.store.store(sums, 0, M, n, count);
      }
    }
  });
}

}  // namespace hearth::cpu
