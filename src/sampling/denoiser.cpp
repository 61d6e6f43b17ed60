#include "sampling/denoiser.h"

#include <cmath>

#include "ops/pointwise.h"
#include "ops/shape_ops.h"

namespace hearth::sampling {
namespace {

Tensor guided(const Tensor& both, double guidance) {
  const int64_t B = both.size(0) / 2;
  const Tensor negative = both.slice(0, 0, B);
  const Tensor difference = ops::linear_combination({both.slice(0, B, 2 * B), negative}, {1, -1});
  return ops::linear_combination({negative, difference}, {1, float(guidance)});
}

Tensor x0_of(const Tensor& x, const Tensor& answer, const Level& level, Prediction prediction) {
  const double a = level.alpha, s = level.sigma, scale = std::sqrt(a * a + s * s);
  switch (prediction) {
    case Prediction::epsilon: return ops::linear_combination({x, answer}, {float(1 / a), float(-s / a)});
    case Prediction::v: return ops::linear_combination({x, answer}, {float(a / (scale * scale)), float(-s / scale)});
    case Prediction::sample: return answer;
  }
  return answer;
}

}  // namespace

Denoiser make_denoiser(Network network, Prediction prediction, double guidance) {
  return [network = std::move(network), prediction, guidance](const Tensor& x, const Level& level) {
    const double scale = std::sqrt(level.alpha * level.alpha + level.sigma * level.sigma);
    Tensor input = ops::linear_combination({x}, {float(1 / scale)});
    if (uses_guidance(guidance)) input = ops::repeat_batch(input, 2);
    const Tensor answer = ops::cast(network(input, level.timestep), DType::f32);
    if (answer.shape() != input.shape()) fail<ShapeError>("denoiser: the network answered {} to {}", answer.shape(), input.shape());
    return x0_of(x, uses_guidance(guidance) ? guided(answer, guidance) : answer, level, prediction);
  };
}

Tensor network_answer(const Tensor& x, const Tensor& x0, const Level& level, Prediction prediction) {
  const double a = level.alpha, s = level.sigma;
  switch (prediction) {
    case Prediction::epsilon: return ops::linear_combination({x, x0}, {float(1 / s), float(-a / s)});
    case Prediction::v: return ops::linear_combination({x, x0}, {float(a / s), float(-1 / s)});
    case Prediction::sample: return x0;
  }
  return x0;
}

}  // namespace hearth::sampling
