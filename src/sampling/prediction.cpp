#include "sampling/prediction.h"

#include <cmath>

#include "sampling/vectors.h"

namespace hearth::sampling {

Tensor x0_of(const Tensor& x, const Tensor& answer, const Level& level, Prediction prediction) {
  const double a = level.alpha, s = level.sigma, scale = std::sqrt(a * a + s * s);
  switch (prediction) {
    case Prediction::epsilon: return combine({x, answer}, {1 / a, -s / a});
    case Prediction::v: return combine({x, answer}, {a / (scale * scale), -s / scale});
    case Prediction::sample: return answer;
  }
  return answer;
}

Tensor network_answer(const Tensor& x, const Tensor& x0, const Level& level, Prediction prediction) {
  const double a = level.alpha, s = level.sigma, scale = std::sqrt(a * a + s * s);
  switch (prediction) {
    case Prediction::epsilon: return combine({x, x0}, {1 / s, -a / s});
    case Prediction::v: return combine({x, x0}, {a / (scale * s), -scale / s});
    case Prediction::sample: return x0;
  }
  return x0;
}

}  // namespace hearth::sampling
