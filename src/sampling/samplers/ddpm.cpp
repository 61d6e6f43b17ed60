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
  s.x = combine({s.x, x0}, {keep, to.alpha - from.alpha * keep});
  if (run.schedule.scheduler == SchedulerClass::wuerstchen && run.last(s)) {
    // The last level still has noise, and no step noise is added there. The reference draws it, and a second network's noise comes later.
    run.noise(s.x.backend(), s.x.shape());
    return;
  }
  double fresh = to.sigma * std::sqrt(1 - ratio * ratio);
  if (run.option("variance_type") == 2) {  // the variance of q(x|x') instead, at every time except 0
    const auto variance = [](const Level& level) { return 1 + level.sigma * level.sigma / (level.alpha * level.alpha); };
    fresh = at.timestep > 0 ? to.alpha * std::sqrt(variance(to) * (1 - variance(to) / variance(from))) : 0;
  }
  if (fresh == 0 && !run.last(s)) run.noise(s.x.backend(), s.x.shape());  // between levels clamped to the same value; still draws
  s.x = run.add_noise(s.x, fresh * run.option("s_noise"));
}

}  // namespace

std::vector<Sampler> ddpm_rows() {
  return {{.name = "ddpm",
           .aliases = {"DDPM"},
           .summary = "DDPM's ancestral sampling",
           .draws = Draws::always,
           .options = {{.name = "s_noise", .summary = "factor of the step noise", .standard = 1},
                       {.name = "variance_type",
                        .summary = "of the step noise: the smallest or the largest that is consistent",
                        .most = 2,
                        .whole = true,
                        .choices = {ddpm_variances[0], ddpm_variances[1], ddpm_variances[2]}}},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .on_flow_paths = false,
           .step = step}};
}

}  // namespace hearth::sampling
