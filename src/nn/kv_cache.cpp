#include "nn/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "core/on_host.h"
#include "ops/shape_ops.h"

namespace hearth::nn {

KvCache::KvCache(Backend& backend, int64_t capacity, int64_t groups, int64_t head, DType dtype, int64_t window) : window_(window) {
  if (capacity < 1 || groups < 1 || head < 1)
    fail<ShapeError>("KV cache: the shape is [{}, {}, {}], expected positive sizes", capacity, groups, head);
  if (head % block_of(dtype).values != 0)
    fail<UnsupportedError>("KV cache: a head has {} values, expected for {} a multiple of {}", head, name_of(dtype),
                           block_of(dtype).values);
  k_ = Tensor::empty(backend, {capacity, groups, head}, dtype);
  v_ = Tensor::empty(backend, {capacity, groups, head}, dtype);
}

KvCache KvCache::latent(Backend& backend, int64_t capacity, int64_t size, int64_t values, DType dtype) {
  if (values < 1 || values > size || values % block_of(dtype).values != 0)
    fail<UnsupportedError>("KV cache: {} of {} elements are values, expected for {} a multiple of {}", values, size, name_of(dtype),
                           block_of(dtype).values);
  KvCache cache;
  cache.k_ = KvCache(backend, capacity, 1, size, dtype).k_;
  cache.v_ = cache.k_.slice(2, 0, values);
  cache.latent_ = true;
  return cache;
}

void KvCache::store_rows(int64_t first, const Tensor& from, const Tensor& to) const {
  const int64_t T = from.size(0), C = capacity();
  if (T > C || (window_ == 0 && first + T > C))
    fail<ShapeError>("KV cache: positions {} to {} exceed its capacity of {}", first, first + T - 1, C);
  for (int64_t t = 0; t < T;) {  // a ring: at most two pieces
    const int64_t row = (first + t) % C, count = std::min(T - t, C - row);
    ops::store(from.slice(0, t, t + count), to.slice(0, row, row + count));
    t += count;
  }
}

KeyValues KvCache::store(int64_t first, const Tensor& k, const Tensor& v) {
  store_rows(first, k, k_);
  store_rows(first, v, v_);
  return {k_, v_, first, window_};
}

KeyValues KvCache::store(int64_t first, const Tensor& k) {
  store_rows(first, k, k_);
  return {k_, v_, first, window_};
}

namespace {

// The last n positions of a text of `length` tokens in a ring.
Tensor in_order(const Tensor& ring, int64_t length) {
  const int64_t C = ring.size(0), n = std::min(length, C), first = (length - n) % C, until_end = std::min(n, C - first);
  Backend& host = ring.backend().host();
  const Tensor older = ring.slice(0, first, first + until_end).to(host).dense(), newer = ring.slice(0, 0, n - until_end).to(host).dense();
  return written_on_host(ring.backend(), {n, ring.size(1), ring.size(2)}, ring.dtype(), [&](Tensor& y) {
    std::memcpy(y.raw(), older.raw(), older.bytes());
    if (newer.numel() > 0) std::memcpy(y.raw() + older.bytes(), newer.raw(), newer.bytes());
  });
}

void from_order(const Tensor& saved, int64_t length, const Tensor& ring) {
  const int64_t C = ring.size(0), n = std::min(saved.size(0), C), skipped = saved.size(0) - n;
  for (int64_t t = 0; t < n;) {
    const int64_t row = (length - n + t) % C, count = std::min(n - t, C - row);
    Tensor to = ring.slice(0, row, row + count);
    ring.backend().copy(saved.slice(0, skipped + t, skipped + t + count).to(ring.backend()), to);
    t += count;
  }
  ring.backend().finish();
}

}  // namespace

std::vector<Tensor> KvCache::save(int64_t length) const {
  std::vector<Tensor> saved{in_order(k_, length)};
  if (!latent_) saved.push_back(in_order(v_, length));
  return saved;
}

void KvCache::load(int64_t length, std::span<const Tensor> saved) {
  if (saved.size() != (latent_ ? 1 : 2)) fail<WeightError>("KV cache: {} saved tensors, expected {}", saved.size(), latent_ ? 1 : 2);
  const int64_t needed = window_ ? std::min(length, window_ - 1) : length;
  for (size_t i = 0; i < saved.size(); ++i) {
    const Tensor &x = saved[i], &to = i == 0 ? k_ : v_;
    if (x.rank() != 3 || x.dtype() != to.dtype() || x.size(1) != to.size(1) || x.size(2) != to.size(2) || x.size(0) < needed ||
        x.size(0) > length)
      fail<WeightError>("KV cache: the saved tensor is {} {}, expected {} [{} to {}, {}, {}]", name_of(x.dtype()), x.shape(),
                        name_of(to.dtype()), needed, length, to.size(1), to.size(2));
    if (window_ == 0 && length > capacity()) fail<ShapeError>("KV cache: {} saved positions, expected at most {}", length, capacity());
    from_order(x, length, to);
  }
}

// The next query attends to shorter − window + 1 … shorter; the ring holds the last C positions.
bool KvCache::can_shorten(int64_t length, int64_t shorter) const {
  return shorter >= length || window_ == 0 || length <= capacity() || std::max<int64_t>(0, shorter - window_ + 1) >= length - capacity();
}

}  // namespace hearth::nn
