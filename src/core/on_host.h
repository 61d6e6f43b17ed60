// What no op does, done by the processor. In a dry run nothing is computed: tensors have their shapes and no numbers. What runs on any
// device goes through these and never asks whether there are numbers.
#pragma once

#include <array>
#include <tuple>

#include "core/backend.h"

namespace hearth {

// f(), but in a dry run.
template <class F> void unless_dry(const Backend& device, F f) {
  if (device.computes()) f();
}

// What f() finds by reading numbers of the device; `otherwise` in a dry run.
template <class T, class F> T unless_dry(const Backend& device, T otherwise, F f) { return device.computes() ? T(f()) : otherwise; }

// A fresh tensor on the device's host, as write(y) leaves it.
template <class F> Tensor written_on_host(Backend& device, const Shape& shape, DType dtype, F write) {
  Tensor y = Tensor::empty(device.host(), shape, dtype);
  if (device.computes() && y.numel() > 0) write(y);
  return y;
}

// x, its elements in a row, on its host.
inline Tensor dense_on_host(const Tensor& x) { return x.to(x.backend().host()).dense(); }

// y of `shape` as f(y, x, more …) writes it, where f gets a pointer to the numbers of each. All are f32 on one device, and so is the
// result.
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
