#include "core/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "core/backend.h"
#include "core/quantized/blocks.h"

namespace hearth {
namespace {

std::array<int64_t, Shape::max_rank> row_major(const Shape& shape) {
  std::array<int64_t, Shape::max_rank> strides{};
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[size_t(i)] = step;
    step *= shape[i];
  }
  return strides;
}

// A tensor over values that someone else owns.
Tensor shown(Backend& host, const Shape& shape, const void* values, DType dtype) {
  auto storage = std::make_shared<Storage>();
  storage->data = static_cast<std::byte*>(const_cast<void*>(values));  // nobody writes to it
  storage->size = bytes_of(dtype, shape.numel());
  storage->backend = &host;
  return {storage, shape, dtype};
}

float element(const std::byte* p, DType dtype) {
  const auto as = [p]<class T>(T value) {
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::f32: return as(float{});
    case DType::f16: return f16_to_f32(as(uint16_t{}));
    case DType::bf16: return bf16_to_f32(as(uint16_t{}));
    case DType::f64: return float(as(double{}));
    case DType::i8: return float(as(int8_t{}));
    case DType::u8:
    case DType::boolean: return float(as(uint8_t{}));
    case DType::i16: return float(as(int16_t{}));
    case DType::u16: return float(as(uint16_t{}));
    case DType::i32: return float(as(int32_t{}));
    case DType::u32: return float(as(uint32_t{}));
    case DType::i64: return float(as(int64_t{}));
    case DType::u64: return float(as(uint64_t{}));
    case DType::f8_e4m3:
    case DType::f8_e5m2: return f8_to_f32(dtype, as(uint8_t{}));
    default: fail<UnsupportedError>("tensor: elements of dtype {} cannot be converted to f32", name_of(dtype));
  }
}

// f(linear index, address) for each element in row-major order.
template <class F> void for_each(const Tensor& x, F f) {
  const int64_t n = x.numel(), width = int64_t(size_of(x.dtype()));
  std::array<int64_t, Shape::max_rank> index{};
  const std::byte* p = x.raw();
  for (int64_t i = 0; i < n; ++i) {
    f(i, p);
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      p += x.stride(axis) * width;
      if (++index[size_t(axis)] < x.size(axis)) break;
      p -= x.stride(axis) * width * x.size(axis);
      index[size_t(axis)] = 0;
    }
  }
}

}  // namespace

Tensor::Tensor(std::shared_ptr<const Storage> storage, Shape shape, DType dtype, size_t byte_offset)
    : storage_(std::move(storage)), shape_(shape), strides_(row_major(shape)), offset_(byte_offset), dtype_(dtype) {}

Tensor Tensor::empty(Backend& backend, const Shape& shape, DType dtype) {
  return {backend.allocate(bytes_of(dtype, shape.numel())), shape, dtype};
}

Tensor Tensor::like(const Tensor& x) { return empty(x.backend(), x.shape(), x.dtype()); }

Tensor Tensor::zeros(Backend& backend, const Shape& shape, DType dtype) {
  Tensor x = empty(backend, shape, dtype);
  backend.fill(x, 0);
  return x;
}

Tensor Tensor::filled(Backend& backend, const Shape& shape, float value) {
  Tensor x = empty(backend, shape);
  backend.fill(x, value);
  return x;
}

Tensor Tensor::from(Backend& backend, const Shape& shape, std::span<const float> values, DType dtype) {
  if (int64_t(values.size()) != shape.numel())
    fail<ShapeError>("tensor: {} values for shape {}, expected {}", values.size(), shape, shape.numel());
  if (dtype != DType::f32 && !is_16bit_float(dtype))
    fail<UnsupportedError>("tensor: dtype is {}, expected f32, f16 or bf16", name_of(dtype));
  Tensor x = empty(backend, shape, dtype);
  backend.upload(shown(backend.host(), shape, values.data(), DType::f32), x);
  return x;
}

Tensor Tensor::from(Backend& backend, const Shape& shape, std::span<const int32_t> values) {
  if (int64_t(values.size()) != shape.numel())
    fail<ShapeError>("tensor: {} values for shape {}, expected {}", values.size(), shape, shape.numel());
  Tensor x = empty(backend, shape, DType::i32);
  backend.upload(shown(backend.host(), shape, values.data(), DType::i32), x);
  return x;
}

Tensor Tensor::dense() const {
  if (contiguous()) return *this;
  Tensor copy = empty(backend(), shape_, dtype_);
  backend().copy(*this, copy);
  return copy;
}

Tensor Tensor::to(Backend& to) const {
  if (&backend() == &to) return *this;
  Tensor x = dense();
  if (!on_host()) {
    Tensor read = empty(backend().host(), shape_, dtype_);
    backend().download(x, read);
    if (&read.backend() == &to) return read;
    x = read;
  }
  Tensor written = empty(to, shape_, dtype_);
  to.upload(x, written);
  return written;
}

void Tensor::refuse_device_memory() const {
  throw std::logic_error(fmt::format("tensor {} is in memory of {}, which the CPU cannot read", shape_, backend().name()));
}

bool Tensor::contiguous() const {
  const auto packed = row_major(shape_);
  for (int i = 0; i < rank(); ++i)
    if (shape_[i] != 1 && strides_[size_t(i)] != packed[size_t(i)]) return false;
  return true;
}

Tensor Tensor::view(const Shape& shape) const {
  if (shape.numel() != numel()) fail<ShapeError>("view: {} has {} elements, {} needs {}", shape_, numel(), shape, shape.numel());
  if (!contiguous()) fail<ShapeError>("view: {} is strided and cannot be viewed as {}; copy it first", shape_, shape);
  return {storage_, shape, dtype_, offset_};
}

Tensor Tensor::slice(int axis, int64_t begin, int64_t end) const {
  if (axis < 0) axis += rank();
  if (axis < 0 || axis >= rank() || begin < 0 || end < begin || end > shape_[axis])
    fail<ShapeError>("slice: [{}, {}) of axis {} is out of range for {}", begin, end, axis, shape_);
  Tensor part = *this;
  part.shape_[axis] = end - begin;
  if (const int64_t block = block_of(dtype_).values; begin * strides_[size_t(axis)] % block != 0 || part.shape_[-1] % block != 0)
    fail<ShapeError>("slice: [{}, {}) of axis {} cuts a block of {} in {}", begin, end, axis, name_of(dtype_), shape_);
  part.offset_ += bytes_of(dtype_, begin * strides_[size_t(axis)]);
  return part;
}

Tensor Tensor::permute(std::initializer_list<int> order) const {
  Tensor turned = *this;
  if (int(order.size()) != rank()) fail<ShapeError>("permute: {} axes for {}, expected {}", order.size(), shape_, rank());
  int to = 0;
  unsigned seen = 0;
  for (int from : order) {
    if (from < 0 || from >= rank() || (seen & (1u << from)))
      fail<ShapeError>("permute: axis {} is repeated or out of range for {}", from, shape_);
    seen |= 1u << from;
    turned.shape_[to] = shape_[from];
    turned.strides_[size_t(to++)] = strides_[size_t(from)];
  }
  return turned;
}

Tensor Tensor::with_axis(int axis) const {
  if (axis < 0 || axis > rank() || rank() == Shape::max_rank)
    fail<ShapeError>("with_axis: {} cannot have another axis at {}", shape_, axis);
  Tensor more = *this;
  more.shape_ = {};
  for (int i = 0, from = 0; i <= rank(); ++i) {
    const bool added = i == axis;
    more.shape_.push_back(added ? 1 : shape_[from]);
    more.strides_[size_t(i)] = added ? (from < rank() ? strides_[size_t(from)] * shape_[from] : 1) : strides_[size_t(from)];
    from += !added;
  }
  return more;
}

std::vector<float> Tensor::to_vector() const {
  if (storage_ && !on_host()) return to(backend().host()).to_vector();
  std::vector<float> values;
  values.resize(size_t(numel()));
  if (is_blocked(dtype_)) {
    if (!contiguous()) fail<ShapeError>("tensor: strided {} of {} cannot be converted to f32; copy it first", shape_, name_of(dtype_));
    decode_blocks(dtype_, raw(), numel(), values.data());
    return values;
  }
  for_each(*this, [&](int64_t i, const std::byte* p) { values[size_t(i)] = element(p, dtype_); });
  return values;
}

int64_t count_non_finite(const Tensor& x) {
  if (!x.on_host()) return count_non_finite(x.to(x.backend().host()));
  int64_t count = 0;
  if (is_blocked(x.dtype())) {
    if (!x.contiguous())
      fail<ShapeError>("tensor: strided {} of {} cannot be checked for non-finite values; copy it first", x.shape(), name_of(x.dtype()));
    return non_finite_in_blocks(x.dtype(), x.raw(), x.numel());
  }
  if (x.contiguous() && (x.dtype() == DType::f32 || is_16bit_float(x.dtype()))) {
    const int64_t n = x.numel();
    const auto scan = [&]<class T>(const T* p, T exponent) {
      for (int64_t i = 0; i < n; ++i) count += (p[i] & exponent) == exponent;
    };
    if (x.dtype() == DType::f32) scan(x.data<uint32_t>(), uint32_t(0x7f800000));
    else scan(x.data<uint16_t>(), uint16_t(x.dtype() == DType::f16 ? 0x7c00 : 0x7f80));
    return count;
  }
  if (x.contiguous() && is_8bit_float(x.dtype())) {
    const auto* const bits = x.data<uint8_t>();
    for (int64_t i = 0, n = x.numel(); i < n; ++i) count += !f8_is_finite(x.dtype(), bits[i]);
    return count;
  }
  for_each(x, [&](int64_t, const std::byte* p) { count += !std::isfinite(element(p, x.dtype())); });
  return count;
}

}  // namespace hearth
