#include "nn/kv_pages.h"

#include <algorithm>
#include <cstring>

#include "core/on_host.h"
#include "ops/shape_ops.h"

namespace hearth::nn {
namespace {

// f(row, t, count): positions first + t … are in `count` rows of the pool from `row` on.
template <class F> void each_run(const PageTable& table, int64_t first, int64_t end, const F& f) {
  const int64_t size = table.size();
  for (int64_t p = first; p < end;) {
    const int64_t i = p / size, within = p % size;
    int64_t pages = 1;  // that follow each other
    while ((i + pages) * size < end && table.pages()[size_t(i + pages)] == table.pages()[size_t(i)] + pages) ++pages;
    const int64_t count = std::min(end - p, pages * size - within);
    f(int64_t(table.pages()[size_t(i)]) * size + within, p - first, count);
    p += count;
  }
}

}  // namespace

KvPages::KvPages(Backend& backend, int64_t pages, int64_t page, const KvLayout& c, DType dtype) : layout_(c), page_(page) {
  if (pages < 1 || page < 1 || c.groups < 1 || c.head < 1)
    fail<ShapeError>("KV cache: the shape is [{}, {}, {}], expected positive sizes", pages * page, c.groups, c.head);
  if (c.head % block_of(dtype).values != 0)
    fail<UnsupportedError>("KV cache: a head has {} values, expected for {} a multiple of {}", c.head, name_of(dtype),
                           block_of(dtype).values);
  if (c.latent < 0 || c.latent > c.head || c.latent % block_of(dtype).values != 0)
    fail<UnsupportedError>("KV cache: {} of {} elements are values, expected for {} a multiple of {}", c.latent, c.head, name_of(dtype),
                           block_of(dtype).values);
  k_ = Tensor::empty(backend, {pages * page, c.groups, c.head}, dtype);
  v_ = c.latent ? k_.slice(2, 0, c.latent) : Tensor::empty(backend, k_.shape(), dtype);
}

KeyValues KvPages::store(const PageTable& table, int64_t first, const Tensor& k, const Tensor& v) {
  const int64_t T = k.size(0);
  if (first < table.oldest() || first + T > table.end())
    fail<ShapeError>("KV cache: positions {} to {} exceed its capacity of {} to {}", first, first + T - 1, table.oldest(), table.end() - 1);
  each_run(table, first, first + T, [&](int64_t row, int64_t t, int64_t count) {
    ops::store(k.slice(0, t, t + count), k_.slice(0, row, row + count));
    if (!layout_.latent) ops::store(v.slice(0, t, t + count), v_.slice(0, row, row + count));
  });
  return {.k = k_, .v = v_, .first = first, .window = layout_.window, .pages = table.on(k_.backend()), .page = page_, .queries = T};
}

KeyValues KvPages::seen(const PageTable& table, int64_t positions) const {
  return {.k = k_, .v = v_, .first = positions - 1, .window = layout_.window, .pages = table.on(k_.backend()), .page = page_, .queries = 1};
}

void KvPages::copy_page(int32_t from, int32_t to) {
  for (size_t i = 0; i < parts(); ++i) {
    Tensor y = part(i).slice(0, to * page_, (to + 1) * page_);
    y.backend().copy(part(i).slice(0, from * page_, (from + 1) * page_), y);
  }
}

std::vector<Tensor> KvPages::save(const PageTable& table, int64_t first, int64_t end) const {
  std::vector<Tensor> saved;
  for (size_t i = 0; i < parts(); ++i) {
    const Tensor& all = part(i);
    Backend& host = all.backend().host();
    saved.push_back(written_on_host(all.backend(), {end - first, layout_.groups, layout_.head}, all.dtype(), [&](Tensor& y) {
      each_run(table, first, end, [&](int64_t row, int64_t t, int64_t count) {
        const Tensor some = all.slice(0, row, row + count).to(host).dense();
        std::memcpy(y.raw() + bytes_of(all.dtype(), t * layout_.groups * layout_.head), some.raw(), some.bytes());
      });
    }));
  }
  return saved;
}

void KvPages::load(const PageTable& table, int64_t first, int64_t end, std::span<const Tensor> saved) {
  if (saved.size() != parts()) fail<WeightError>("KV cache: {} saved tensors, expected {}", saved.size(), parts());
  for (size_t i = 0; i < parts(); ++i) {
    const Tensor &x = saved[i], &to = part(i);
    if (x.rank() != 3 || x.dtype() != to.dtype() || x.size(1) != layout_.groups || x.size(2) != layout_.head || x.size(0) < end - first ||
        x.size(0) > end)
      fail<WeightError>("KV cache: the saved tensor is {} {}, expected {} [{} to {}, {}, {}]", name_of(x.dtype()), x.shape(),
                        name_of(to.dtype()), end - first, end, layout_.groups, layout_.head);
    const int64_t skipped = x.size(0) - (end - first);
    each_run(table, first, end, [&](int64_t row, int64_t t, int64_t count) {
      Tensor y = to.slice(0, row, row + count);
      y.backend().copy(x.slice(0, skipped + t, skipped + t + count).to(y.backend()), y);
    });
    to.backend().finish();
  }
}

}  // namespace hearth::nn
