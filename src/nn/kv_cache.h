// Keys and values of one attention layer for one text, in a ring that is filled position by position.
#pragma once

#include "core/backend.h"

namespace hearth::nn {

class KvCache {
 public:
  // For `capacity` positions; with a window, at least window − 1 and as many as one store() adds. dtype f32, f16, bf16 or q8_0
  // (then `head` is a multiple of 32).
  KvCache(Backend& backend, int64_t capacity, int64_t groups, int64_t head, DType dtype, int64_t window = 0);

  // Stores k and v [T, G, D] f32 at positions first … first + T − 1, and returns what queries at these positions attend to.
  KeyValues store(int64_t first, const Tensor& k, const Tensor& v);
  // Whether a text of `length` stored positions can be cut to `shorter` positions and continued from there.
  bool can_shorten(int64_t length, int64_t shorter) const;

  int64_t capacity() const { return k_.size(0); }
  int64_t bytes() const { return int64_t(k_.bytes() + v_.bytes()); }

 private:
  Tensor k_, v_;  // [C, G, D]
  int64_t window_;
};

}  // namespace hearth::nn
