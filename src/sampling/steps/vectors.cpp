#include "sampling/steps/vectors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/on_host.h"
#include "ops/pointwise.h"

namespace hearth::sampling {
namespace {

bool is_wide(const Tensor& x) { return x && x.dtype() == DType::f64; }

double value_at(const Tensor& x, int64_t i) { return is_wide(x) ? x.data<double>()[i] : double(x.data<float>()[i]); }

}  // namespace

Tensor combine(std::span<const Tensor> xs, std::span<const double> factors) {
  if (xs.empty() || !is_wide(xs[0])) {
    const std::vector<float> rounded(factors.begin(), factors.end());
    return ops::linear_combination(xs, rounded);
  }
  Tensor y = Tensor::zeros(xs[0].backend(), xs[0].shape(), DType::f64);
  for (size_t k = 0; k < xs.size(); ++k) {
    if (!is_wide(xs[k]) || xs[k].shape() != y.shape())
      fail<ShapeError>("combine: shapes {} and {}, expected equal shapes and f64", y.shape(), xs[k].shape());
    for (int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] += factors[k] * xs[k].data<double>()[i];
  }
  return y;
}

Tensor towards(const Tensor& x, const Tensor& x0, const Level& from, double alpha, double sigma) {
  const double keep = sigma / from.sigma;
  return combine({x, x0}, {keep, alpha - from.alpha * keep});
}

Tensor clipped(const Tensor& x, double limit) {
  if (is_wide(x)) {
    Tensor y = Tensor::like(x);
    for (int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] = std::clamp(x.data<double>()[i], -limit, limit);
    return y;
  }
  const Tensor ones = Tensor::filled(x.backend(), x.shape(), 1);
  const Tensor above = ops::activate(combine({x, ones}, {1, limit}), Activation::relu);           // x + r, from 0
  const Tensor below = ops::activate(combine({ones, above}, {2 * limit, -1}), Activation::relu);  // r − x, from 0
  return combine({ones, below}, {limit, -1});
}

double relative_rms(const Tensor& a, const Tensor& b, const Tensor& scale, double absolute, double relative) {
  return unless_dry(a.backend(), 0.0, [&] {
    double sum = 0;
    for (int64_t i = 0; i < a.numel(); ++i) {
      const double largest = std::max(std::abs(value_at(a, i)), std::abs(value_at(scale, i)));
      const double error = (value_at(a, i) - value_at(b, i)) / std::max(absolute, relative * largest);
      sum += error * error;
    }
    return std::sqrt(sum / double(a.numel()));
  });
}

}  // namespace hearth::sampling
