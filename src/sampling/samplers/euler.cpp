#include "sampling/steps/churn.h"

namespace hearth::sampling {
namespace {

// Karras et al. 2022 (arXiv 2206.00364), Algorithm 2 with Euler steps:
//   x' = x + (σ' − σ̂)·(x − x̂₀)/σ̂
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Level lifted = churn(s, run);
  s.x = towards(s.x, run.denoise(s.x, lifted).x0, lifted, to.alpha, to.sigma);
}

}  // namespace

std::vector<Sampler> euler_rows() {
  return {{.name = "euler",
           .aliases = {"Euler", "k_euler"},
           .summary = "Euler's method in sigma",
           .draws = Draws::on_request,
           .options = churn_options(),
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step}};
}

}  // namespace hearth::sampling
