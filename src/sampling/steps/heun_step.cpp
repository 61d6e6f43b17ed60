#include "sampling/steps/heun_step.h"

#include "sampling/steps/multistep.h"

namespace hearth::sampling {

Tensor heun_step(const Run& run, const Tensor& x, const Level& from, const Level& to) {
  const double dt = to.sigma - from.sigma;
  const Tensor d = slope(x, run.denoise(x, from).x0, from.sigma);
  Tensor euler = combine({x, d}, {1, dt});
  if (to.sigma == 0) return euler;
  euler = run.between_calls(euler, to);
  const Tensor d_2 = slope(euler, run.denoise(euler, to).x0, to.sigma);
  return combine({x, d, d_2}, {1, dt / 2, dt / 2});
}

}  // namespace hearth::sampling
