// Tensor: a value type over reference-counted storage. Copies of a Tensor share its elements; ops return new tensors.
// Row-major, outermost axis first; views may be strided. Axis letters: docs/shapes.md.
// A tensor of a block type has rows of whole blocks: its last axis is dense, a multiple of the block, and never cut inside a block.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"

namespace hearth {

class Backend;

// Bytes that an owner keeps alive: memory of a backend, or a mapped file.
struct Storage {
  std::byte* data = nullptr;
  size_t size = 0;
  Backend* backend = nullptr;         // the backend that may compute on it
  std::shared_ptr<const void> owner;  // frees it
  bool on_host = true;                // the CPU may read and write it at any time
};

class Tensor {
 public:
  Tensor() = default;  // undefined: means "absent"
  Tensor(std::shared_ptr<const Storage> storage, Shape shape, DType dtype, size_t byte_offset = 0);

  // Uninitialized memory of the backend.
  static Tensor empty(Backend& backend, const Shape& shape, DType dtype = DType::f32);
  static Tensor like(const Tensor& x);  // same shape, dtype and backend
  static Tensor zeros(Backend& backend, const Shape& shape, DType dtype = DType::f32);
  static Tensor filled(Backend& backend, const Shape& shape, float value);  // f32
  // Copies `values` (row-major, as many as the shape has elements), rounded to `dtype`.
  static Tensor from(Backend& backend, const Shape& shape, std::span<const float> values, DType dtype = DType::f32);
  static Tensor from(Backend& backend, const Shape& shape, std::span<const int32_t> values);  // i32

  explicit operator bool() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t size(int axis) const { return shape_[axis]; }
  int64_t numel() const { return shape_.numel(); }
  int64_t stride(int axis) const { return strides_[size_t(axis < 0 ? axis + rank() : axis)]; }  // in elements
  DType dtype() const { return dtype_; }
  Backend& backend() const { return *storage_->backend; }
  bool contiguous() const;
  size_t bytes() const { return bytes_of(dtype_, numel()); }

  // The sizes of all axes, e.g. `const auto [B, H, W, C] = x.dims<4>();`. ShapeError if the rank differs.
  template <int rank> std::array<int64_t, rank> dims() const {
    if (shape_.rank() != rank) fail<ShapeError>("tensor {} has rank {}, expected rank {}", shape_, shape_.rank(), rank);
    std::array<int64_t, rank> sizes;
    for (int i = 0; i < rank; ++i) sizes[size_t(i)] = shape_[i];
    return sizes;
  }

  Tensor dense() const;  // this tensor if its elements are contiguous, else a contiguous copy
  // The same values on another backend: this tensor if it is already there, else a dense copy. Waits for them if that backend is a host.
  Tensor to(Backend& backend) const;
  bool on_host() const { return storage_->on_host; }

  // Pointer to the first element. T must have the dtype's size; only kernels and the code that created the tensor may write through it.
  // std::logic_error if the tensor is not on a host.
  template <class T> T* data() const { return reinterpret_cast<T*>(raw()); }
  std::byte* raw() const {
    if (!storage_->on_host) [[unlikely]]
      refuse_device_memory();
    return storage_->data + offset_;
  }
  // For a backend that accesses its own storages: the storage, and the same view of another storage with the same contents.
  const Storage& storage() const { return *storage_; }
  Tensor seen_in(std::shared_ptr<const Storage> storage) const {
    Tensor x = *this;
    x.storage_ = std::move(storage);
    return x;
  }

  // Views, which share the elements.
  Tensor view(const Shape& shape) const;  // contiguous only; same number of elements
  Tensor slice(int axis, int64_t begin, int64_t end) const;
  Tensor permute(std::initializer_list<int> order) const;
  Tensor with_axis(int axis) const;  // inserts an axis of size 1 at this index

  // All elements in row-major order as f32, from any dtype, strides and backend (for files, tests and reports).
  std::vector<float> to_vector() const;

 private:
  [[noreturn]] void refuse_device_memory() const;

  std::shared_ptr<const Storage> storage_;
  Shape shape_;
  std::array<int64_t, Shape::max_rank> strides_{};
  size_t offset_ = 0;  // bytes
  DType dtype_ = DType::f32;
};

// Number of NaN and infinite elements. Every element is checked.
int64_t count_non_finite(const Tensor& x);

}  // namespace hearth
