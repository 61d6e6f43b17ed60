#include "sampling/churn.h"
#include "sampling/multistep.h"

namespace hearth::sampling {
namespace {

// Karras et al. 2022 (arXiv 2206.00364), Algorithm 2: the mean of the slopes at both ends of an Euler step.
void step(State& s, const Run& run) {
  const Level& to = run.step(s).to;
  const Level at = churn(s, run);
  const double dt = to.sigma - at.sigma;
  const Tensor d = slope(s.x, run.denoise(s.x, at).x0, at.sigma);
  const Tensor euler = combine({s.x, d}, {1, dt});
  if (to.sigma == 0) {
    s.x = euler;
    return;
  }
  const Tensor d_2 = slope(euler, run.denoise(euler, to).x0, to.sigma);
  s.x = combine({s.x, d, d_2}, {1, dt / 2, dt / 2});
}

}  // namespace

std::vector<Sampler> heun_rows() {
  return {{.name = "heun",
           .aliases = {"Heun", "k_heun"},
           .summary = "Heun's method: Euler, corrected at the end of the step",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::on_request,
           .options = churn_options(),
           .scheduler = SchedulerClass::euler,
           .step = step}};
}

}  // namespace hearth::sampling
