#include "sampling/steps/churn.h"
#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

// Heun++ 2: slopes at this noise level, the next and the one after, weighted by their sigma relative to that of the run's first level.
//   w₂ = σ_{i+1}/(3·σ₀), w₃ = σ_{i+2}/(3·σ₀), w₁ = 1 − w₂ − w₃; the step before the last: w₂ = σ_{i+1}/(2·σ₀); the last is Euler's
void step(State& s, const Run& run) {
  const Level& to = run.step(s).to;
  const Level at = churn(s, run);
  const double first = run.schedule.steps.front().from.sigma, dt = to.sigma - at.sigma;
  const Tensor d = slope(s.x, run.denoise(s.x, at).x0, at.sigma);
  Tensor x_2 = combine({s.x, d}, {1, dt});
  if (run.last(s)) {
    s.x = x_2;
    return;
  }
  x_2 = run.between_calls(x_2, to);
  const Tensor d_2 = slope(x_2, run.denoise(x_2, to).x0, to.sigma);
  if (size_t(s.step) + 2 == run.schedule.steps.size()) {
    const double w_2 = to.sigma / (2 * first);
    s.x = combine({s.x, d, d_2}, {1, dt * (1 - w_2), dt * w_2});
    return;
  }
  const Level& after = run.schedule.steps[size_t(s.step) + 1].to;
  const Tensor x_3 = run.between_calls(combine({x_2, d_2}, {1, after.sigma - to.sigma}), after);
  const Tensor d_3 = slope(x_3, run.denoise(x_3, after).x0, after.sigma);
  const double w_2 = to.sigma / (3 * first), w_3 = after.sigma / (3 * first);
  s.x = combine({s.x, d, d_2, d_3}, {1, dt * (1 - w_2 - w_3), dt * w_2, dt * w_3});
}

}  // namespace

std::vector<Sampler> heunpp2_rows() {
  return {{.name = "heunpp2",
           .aliases = {"HeunPP2", "Heun++ 2", "k_heunpp2"},
           .summary = "Heun++: slopes at three noise levels, weighted by sigma",
           .order = 1,
           .calls = "3n-3",
           .draws = Draws::on_request,
           .options = churn_options(),
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step}};
}

}  // namespace hearth::sampling
