#include <cmath>

#include "sampling/sampler.h"

namespace hearth::sampling {
namespace {

// Ho, Jain & Abbeel 2020 (arXiv 2006.11239), equations 6 and 7: the mean and the noise of q(x'|x, x̂₀). With ℓ = σ/α
//   x'/α' = x̂₀ + (ℓ'/ℓ)²·(x/α − x̂₀) + ℓ'·√(1 − (ℓ'/ℓ)²)·noise
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  const double ratio = to.sigma * from.alpha / (to.alpha * from.sigma), keep = ratio * to.sigma / from.sigma;
  s.x = run.add_noise(combine({s.x, x0}, {keep, to.alpha - from.alpha * keep}),
                      to.sigma * std::sqrt(1 - ratio * ratio) * run.option("s_noise"));
}

}  // namespace

std::vector<Sampler> ddpm_rows() {
  return {{.name = "ddpm",
           .aliases = {"DDPM"},
           .summary = "ancestral sampling of DDPM",
           .draws = Draws::always,
           .options = {{.name = "s_noise", .summary = "factor of the fresh noise", .standard = 1}},
           .scheduler = SchedulerClass::euler,
           .step = step}};
}

}  // namespace hearth::sampling
