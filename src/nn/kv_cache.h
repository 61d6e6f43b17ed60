// Keys and values of one attention layer for one text, in a ring that is filled position by position.
#pragma once

#include <vector>

#include "core/backend.h"

namespace hearth::nn {

class KvCache {
 public:
  // For `capacity` positions; with a window, at least window − 1 and as many as one store() adds. dtype f32, f16, bf16 or q8_0
  // (then `head` is a multiple of 32).
  KvCache(Backend& backend, int64_t capacity, int64_t groups, int64_t head, DType dtype, int64_t window = 0);

  // For keys [G = 1, D] whose first `values` elements are the values: latent attention.
  static KvCache latent(Backend& backend, int64_t capacity, int64_t size, int64_t values, DType dtype);

  // Stores k and v [T, G, D] f32 at positions first … first + T − 1, and returns what queries at these positions attend to.
  KeyValues store(int64_t first, const Tensor& k, const Tensor& v);
  // The same for a latent cache: k [T, 1, D].
  KeyValues store(int64_t first, const Tensor& k);
  // Whether a text of `length` stored positions can be cut to `shorter` positions and continued from there.
  bool can_shorten(int64_t length, int64_t shorter) const;

  // The stored positions of a text of `length` tokens, oldest first, as dense tensors [n, G, D] on the host: keys, and values unless it is
  // latent. load() takes them into a cache of another capacity, too. WeightError for other shapes or dtypes, or if positions are missing.
  std::vector<Tensor> save(int64_t length) const;
  void load(int64_t length, std::span<const Tensor> saved);

  int64_t capacity() const { return k_.size(0); }
  int64_t bytes() const { return int64_t(k_.bytes() + (latent_ ? 0 : v_.bytes())); }

 private:
  KvCache() = default;
  void store_rows(int64_t first, const Tensor& from, const Tensor& to) const;

  Tensor k_, v_;  // [C, G, D]
  int64_t window_ = 0;
  bool latent_ = false;  // v_ is a part of k_
};

}  // namespace hearth::nn
