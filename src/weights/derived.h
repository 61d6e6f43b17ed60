// Tensors that are computed from those of a file, under names that the network asks for: rows in another order, a transposed matrix, a
// function of each value.
#pragma once

#include <functional>

#include "weights/weights.h"

namespace hearth {

struct DerivedTensor {
  std::vector<std::string> from;  // names in the source
  // Of the result; `unreadable` and `scaled` are set from the sources.
  TensorInfo info;
  // The sources' tensors, dense and on a host, → the result.
  std::function<Tensor(std::span<const Tensor>)> compute;
  bool replaces = true;  // what it is computed from, which is no longer listed
};

DerivedTensor derive(std::vector<std::string> from, DType dtype, const Shape& shape,
                     std::function<Tensor(std::span<const Tensor>)> compute);
// The tensor in another shape; tensors one after another, as f32.
DerivedTensor derive_view(const std::string& from, DType dtype, const Shape& shape);
DerivedTensor derive_joined(std::vector<std::string> from, const Shape& shape);

// The source with these tensors, by name.
std::shared_ptr<TensorSource> derived(std::shared_ptr<TensorSource> source, std::map<std::string, DerivedTensor> tensors);

// Rows of x [R, …] in this order, of any dtype, on a host.   → [rows, …]
Tensor rows_in_order(const Tensor& x, std::span<const int64_t> rows);
// x [R, C] → [C, R], on a host; a block type becomes f32.
Tensor turned_matrix(const Tensor& x);
// The dtype of turned_matrix().
inline DType turned_type(DType dtype) { return is_blocked(dtype) ? DType::f32 : dtype; }

}  // namespace hearth
