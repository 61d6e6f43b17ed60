// Keys and values of one attention layer, of all texts that share a pool of pages.
#pragma once

#include <vector>

#include "core/backend.h"
#include "nn/pages.h"

namespace hearth::nn {

// What a layer stores of each position.
struct KvLayout {
  int64_t groups = 1, head = 1;  // k [G, D], v [G, D]
  int64_t latent = 0;            // keys [G = 1, D] whose first elements, this many, are the values: latent attention; 0: keys and values
  int64_t window = 0;            // the keys that a query attends to, its own included; 0: all

  size_t bytes(DType dtype) const { return (latent ? 1 : 2) * bytes_of(dtype, groups * head); }
};

class KvPages {
 public:
  // dtype f32, f16, bf16 or q8_0. UnsupportedError if a head is no whole number of q8_0's blocks.
  KvPages(Backend& backend, int64_t pages, int64_t page, const KvLayout& layout, DType dtype);

  // Stores k and v [T, G, D] f32 (latent: k alone) at positions first … first + T − 1 of a text, for which its table has pages of its own,
  // and returns what queries at these positions attend to.
  KeyValues store(const PageTable& table, int64_t first, const Tensor& k, const Tensor& v = {});
  // What a query attends to that is not stored itself: the first `positions` of a text.
  KeyValues seen(const PageTable& table, int64_t positions) const;
  void copy_page(int32_t from, int32_t to);

  // Positions first … end − 1 of a text as dense tensors [n, G, D] on the host: keys, and values unless it is latent.
  std::vector<Tensor> save(const PageTable& table, int64_t first, int64_t end) const;
  // The last positions of such tensors, from `first` on. WeightError for other shapes or dtypes, or if there are too few positions.
  void load(const PageTable& table, int64_t first, int64_t end, std::span<const Tensor> saved);

  const KvLayout& layout() const { return layout_; }
  int64_t bytes() const { return int64_t(k_.bytes() + (layout_.latent ? 0 : v_.bytes())); }

 private:
  Tensor& part(size_t i) { return i == 0 ? k_ : v_; }
  const Tensor& part(size_t i) const { return i == 0 ? k_ : v_; }
  size_t parts() const { return layout_.latent ? 1 : 2; }

  KvLayout layout_;
  int64_t page_;
  Tensor k_, v_;  // [pages·page, G, D]
};

}  // namespace hearth::nn
