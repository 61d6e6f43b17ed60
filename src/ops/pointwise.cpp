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

Tensor linear_combination(std::span<const Tensor> xs, std::span<const float> factors) {
  if (xs.empty() || xs.size() != factors.size())
    fail<ShapeError>("linear_combination: {} tensors and {} factors", xs.size(), factors.size());
  std::vector<Tensor> dense;
  for (const Tensor& x : xs) {
    require_float("linear_combination", x);
    if (x.shape() != xs[0].shape() || x.dtype() != xs[0].dtype())
      fail<ShapeError>("linear_combination: {} {} and {} {} differ", name_of(xs[0].dtype()), xs[0].shape(), name_of(x.dtype()), x.shape());
    dense.push_back(contiguous(x));
  }
  const OpTrace trace("linear_combination", xs[0]);
  Tensor y = Tensor::empty(xs[0].backend(), xs[0].shape(), xs[0].dtype());
  xs[0].backend().linear_combination(dense, factors, y);
  return trace.done(y, int64_t(xs.size()) * OpTrace::bytes_of(y));
}

}  // namespace hearth::ops
