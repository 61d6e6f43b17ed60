// Computations that are not ops, on the CPU. A dry run computes nothing: its tensors have shapes but no values. Code for any device uses
// these functions, and need not check whether there are values.
#pragma once

#include <array>
#include <tuple>

#include "core/backend.h"

namespace hearth {

// Calls f(), except in a dry run.
template <class F> void unless_dry(const Backend& device, F f) {
  if (device.computes()) f();
}

// What f() computes from values that it reads back from the device; `otherwise` in a dry run.
template <class T, class F> T unless_dry(const Backend& device, T otherwise, F f) { return device.computes() ? T(f()) : otherwise; }

// A new tensor on the device's host, filled by write(y).
template <class F> Tensor written_on_host(Backend& device, const Shape& shape, DType dtype, F write) {
  Tensor y = Tensor::empty(device.host(), shape, dtype);
  if (device.computes() && y.numel() > 0) write(y);
  return y;
}

// x as a dense tensor on its host.
inline Tensor dense_on_host(const Tensor& x) { return x.to(x.backend().host()).dense(); }

// y of `shape`, computed on the host by f(y, x, more …), which receives pointers to the elements of each. All inputs are f32 and on one
// device; the result is f32 on that device.
template <class F, class... More> Tensor on_host(const Shape& shape, F f, const Tensor& x, const More&... more) {
  const std::array<Tensor, 1 + sizeof...(more)> xs{dense_on_host(x), dense_on_host(more)...};
  for (const Tensor& t : xs)
    if (t.dtype() != DType::f32) fail<ShapeError>("on_host: x {} is {}, expected f32", t.shape(), name_of(t.dtype()));
  const Tensor y = written_on_host(x.backend(), shape, DType::f32, [&](Tensor& to) {
    std::apply([&](const auto&... from) { f(to.data<float>(), static_cast<const float*>(from.template data<float>())...); }, xs);
  });
  return y.to(x.backend());
}

}  // namespace hearth
