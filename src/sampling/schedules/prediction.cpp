#include "sampling/schedules/prediction.h"

#include <cmath>

#include "sampling/steps/vectors.h"

namespace hearth::sampling {
namespace {

// input = in·x and x̂₀ = from_x·x + from_answer·answer.
struct Conversion {
  double in = 1, from_x = 0, from_answer = 1;
  float time = 0;
};

Conversion conversion(const Level& level, const Parameterization& p) {
  const double a = level.alpha, s = level.sigma, d = p.sigma_data, scale = std::sqrt(a * a * d * d + s * s);
  const float t = level.timestep;
  switch (p.prediction) {
    case Prediction::epsilon: return {1 / std::sqrt(a * a + s * s), 1 / a, -s / a, t};
    case Prediction::v: return {1 / scale, a * d * d / (scale * scale), -s * d / scale, t};
    case Prediction::edm: return {1 / scale, a * d * d / (scale * scale), s * d / scale, t};
    case Prediction::sample: return {1 / std::sqrt(a * a + s * s), 0, 1, t};
    case Prediction::flow: return {1, 1, -s, t};
    case Prediction::reverse_flow: return {1, 1, s, t};
    case Prediction::trigflow: {
      const double tau = s / (a + s), root = std::sqrt(tau * tau + (1 - tau) * (1 - tau)), turn = 1 - 2 * tau;
      return {root / d, a - s * turn, -s * d * (turn + 2 * tau * tau) / root, float(tau)};
    }
  }
  return {};
}

}  // namespace

Tensor network_input(const Tensor& x, const Level& level, Parameterization p) { return combine({x}, {conversion(level, p).in}); }

float network_time(const Level& level, Parameterization p) { return conversion(level, p).time; }

Tensor x0_of(const Tensor& x, const Tensor& answer, const Level& level, Parameterization p) {
  const Conversion c = conversion(level, p);
  return p.prediction == Prediction::sample ? answer : combine({x, answer}, {c.from_x, c.from_answer});
}

Tensor network_output(const Tensor& x, const Tensor& x0, const Level& level, Parameterization p) {
  const Conversion c = conversion(level, p);
  return p.prediction == Prediction::sample ? x0 : combine({x, x0}, {-c.from_x / c.from_answer, 1 / c.from_answer});
}

}  // namespace hearth::sampling
