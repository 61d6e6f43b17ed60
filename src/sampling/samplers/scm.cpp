#include "sampling/sampler.h"

namespace hearth::sampling {
namespace {

// Chen et al. 2025, SANA-Sprint (arXiv 2503.09641): a consistency model on x = cos t·x₀ + sin t·noise, the noise scaled to σ_data:
//   x' = cos t'·x̂₀ + sin t'·σ_data·noise
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  s.x = run.add_noise(combine({run.denoise(s.x, at).x0}, {to.alpha}), to.sigma * run.schedule.sigma_data);
}

}  // namespace

std::vector<Sampler> scm_rows() {
  return {{.name = "scm",
           .summary = "for SANA-Sprint: estimate plus noise of the next angle",
           .draws = Draws::always,
           .scheduler = SchedulerClass::scm,
           .step = step}};
}

}  // namespace hearth::sampling
