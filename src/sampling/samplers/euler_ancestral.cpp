#include <algorithm>
#include <cmath>

#include "sampling/sampler.h"

namespace hearth::sampling {
namespace {

// k-diffusion's ancestral form: the deterministic step goes down to σ_down, and noise of size σ_up brings the level back to σ'.
//   σ_up = min(σ', eta·√(σ'²(σ² − σ'²)/σ²)),  σ_down = √(σ'² − σ_up²)
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const double ratio = to.sigma / from.sigma;
  const double up = std::min(to.sigma, run.option("eta") * to.sigma * std::sqrt(std::max(0.0, 1 - ratio * ratio)));
  const double down = std::sqrt(to.sigma * to.sigma - up * up);
  const Tensor x0 = run.denoise(s.x, at).x0;
  s.x = run.add_noise(towards(s.x, x0, from, to.alpha, down), up * run.option("s_noise"));
}

}  // namespace

std::vector<Sampler> euler_ancestral_rows() {
  return {{.name = "euler_ancestral",
           .aliases = {"Euler a", "k_euler_a", "k_euler_ancestral", "EulerAncestralDiscrete", "EulerAncestralDiscreteScheduler"},
           .summary = "Euler with fresh noise at each step",
           .draws = Draws::always,
           .options = {{"eta", "how much of each step is fresh noise", 1}, {"s_noise", "factor of the fresh noise", 1}},
           .scheduler = SchedulerClass::euler_ancestral,
           .classes = {SchedulerClass::euler_ancestral},
           .step = step}};
}

}  // namespace hearth::sampling
