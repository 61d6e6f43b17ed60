#include "nn/kv_cache.h"

#include <algorithm>

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

KeyValues KvCache::store(int64_t first, const Tensor& k, const Tensor& v) {
  const int64_t T = k.size(0), C = capacity();
  if (T > C || (window_ == 0 && first + T > C))
    fail<ShapeError>("KV cache: positions {} to {} exceed its capacity of {}", first, first + T - 1, C);
  for (int64_t t = 0; t < T;) {  // a ring: at most two pieces
    const int64_t row = (first + t) % C, count = std::min(T - t, C - row);
    ops::store(k.slice(0, t, t + count), k_.slice(0, row, row + count));
    ops::store(v.slice(0, t, t + count), v_.slice(0, row, row + count));
    t += count;
  }
  return {k_, v_, first, window_};
}

// The next query attends to shorter − window + 1 … shorter; the ring holds the last C positions.
bool KvCache::can_shorten(int64_t length, int64_t shorter) const {
  return shorter >= length || window_ == 0 || length <= capacity() || std::max<int64_t>(0, shorter - window_ + 1) >= length - capacity();
}

}  // namespace hearth::nn
