#include "sampling/denoiser.h"

#include <cmath>

#include "ops/shape_ops.h"
#include "sampling/vectors.h"

namespace hearth::sampling {
namespace {

Tensor guided(const Tensor& negative, const Tensor& positive, double guidance) {
  if (guidance == 1) return positive;
  return combine({negative, combine({positive, negative}, {1, -1})}, {1, guidance});
}

Tensor x0_of(const Tensor& x, const Tensor& answer, const Level& level, Prediction prediction) {
  const double a = level.alpha, s = level.sigma, scale = std::sqrt(a * a + s * s);
  switch (prediction) {
    case Prediction::epsilon: return combine({x, answer}, {1 / a, -s / a});
    case Prediction::v: return combine({x, answer}, {a / (scale * scale), -s / scale});
    case Prediction::sample: return answer;
  }
  return answer;
}

}  // namespace

Denoiser make_denoiser(Network network, Prediction prediction, double guidance, Unconditional unconditional) {
  return [network = std::move(network), prediction, guidance, unconditional](const Tensor& x, const Level& level) -> Estimate {
    const double scale = std::sqrt(level.alpha * level.alpha + level.sigma * level.sigma);
    const bool twice = asks_twice(guidance, unconditional);
    Tensor input = combine({x}, {1 / scale});
    if (twice) input = ops::repeat_batch(input, 2);
    const Tensor answer = ops::cast(network(input, level.timestep), DType::f32);
    if (answer.shape() != input.shape()) fail<ShapeError>("denoiser: the network answered {} to {}", answer.shape(), input.shape());
    if (!twice) return x0_of(x, answer, level, prediction);
    const int64_t B = x.size(0);
    const Tensor negative = answer.slice(0, 0, B), positive = answer.slice(0, B, 2 * B);
    const Tensor x0 = x0_of(x, guided(negative, positive, guidance), level, prediction);
    return {x0, unconditional == Unconditional::needed ? x0_of(x, negative, level, prediction) : Tensor()};
  };
}

Tensor network_answer(const Tensor& x, const Tensor& x0, const Level& level, Prediction prediction) {
  const double a = level.alpha, s = level.sigma;
  switch (prediction) {
    case Prediction::epsilon: return combine({x, x0}, {1 / s, -a / s});
    case Prediction::v: return combine({x, x0}, {a / s, -1 / s});
    case Prediction::sample: return x0;
  }
  return x0;
}

}  // namespace hearth::sampling
