#include "ops/pointwise.h"

#include "ops/check.h"
#include "ops/shape_ops.h"
#include "ops/trace.h"

namespace hearth::ops {

Tensor activate(const Tensor& x, Activation act) {
  require_float("activate", x);
  const OpTrace trace("activate", x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), x.dtype());
  x.backend().activate(contiguous(x), act, y);
  return trace.done(y);
}

Tensor add(const Tensor& a, const Tensor& b) { return linear_combination({a, b}, {1.0f, 1.0f}); }

Tensor multiply(const Tensor& a, const Tensor& b) {
  require_float("multiply", a);
  require_float("multiply", b);
  if (a.shape() != b.shape() || a.dtype() != b.dtype())
    fail<ShapeError>("multiply: {} {} and {} {} differ, expected one dtype and shape", name_of(a.dtype()), a.shape(), name_of(b.dtype()),
                     b.shape());
  require_one_device("multiply", a.backend(), {&b});
  const OpTrace trace("multiply", a);
  Tensor y = Tensor::empty(a.backend(), a.shape(), a.dtype());
  a.backend().multiply(contiguous(a), contiguous(b), y);
  return trace.done(y, 2 * OpTrace::bytes_of(y));
}

Tensor affine(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  require_float("affine", x);
  if (x.rank() < 1) fail<ShapeError>("affine: x is {}, expected [..., C]", x.shape());
  const int64_t B = x.rank() > 1 ? x.size(0) : 1, C = x.size(-1);
  const auto rows = [&](const char* what, const Tensor& v) {  // [C] as [1, C]
    if (!v || v.rank() != 1) {
      require_modulation("affine", what, v, x, true);
      return v;
    }
    require_vector("affine", what, v, C);
    return v.with_axis(0);
  };
  const Tensor each_scale = rows("scale", scale), each_shift = rows("shift", shift);
  require_one_device("affine", x.backend(), {&scale, &shift});
  const OpTrace trace("affine", x);
  Tensor y = Tensor::empty(x.backend(), x.shape(), x.dtype());
  if (y.numel() == 0) return y;
  const Shape flat{B, x.numel() / (B * C), C};
  Tensor flat_y = y.view(flat);
  x.backend().affine(contiguous(x).view(flat), each_scale, each_shift, flat_y);
  return trace.done(y);
}

Tensor scaled(const Tensor& x, float factor, float offset) {
  if (offset == 0) return linear_combination({x}, {factor});
  return linear_combination({x, Tensor::filled(x.backend(), x.shape(), 1)}, {factor, offset});
}

Tensor linear_combination(std::span<const Tensor> xs, std::span<const float> factors) {
  if (xs.empty() || xs.size() != factors.size())
    fail<ShapeError>("linear_combination: {} tensors and {} factors, expected at least one tensor and a factor for each", xs.size(),
                     factors.size());
  std::vector<Tensor> dense;
  for (const Tensor& x : xs) {
    require_float("linear_combination", x);
    if (x.shape() != xs[0].shape() || x.dtype() != xs[0].dtype())
      fail<ShapeError>("linear_combination: {} {} and {} {} differ, expected one dtype and shape", name_of(xs[0].dtype()), xs[0].shape(),
                       name_of(x.dtype()), x.shape());
    require_one_device("linear_combination", xs[0].backend(), {&x});
    dense.push_back(contiguous(x));
  }
  const OpTrace trace("linear_combination", xs[0]);
  Tensor y = Tensor::empty(xs[0].backend(), xs[0].shape(), xs[0].dtype());
  xs[0].backend().linear_combination(dense, factors, y);
  return trace.done(y, int64_t(xs.size()) * OpTrace::bytes_of(y));
}

}  // namespace hearth::ops
