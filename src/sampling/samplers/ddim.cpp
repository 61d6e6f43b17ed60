#include <algorithm>
#include <cmath>

#include "sampling/sampler.h"

namespace hearth::sampling {
namespace {

// Song, Meng & Ermon 2020 (arXiv 2010.02502), equations 12 and 16:
//   x' = α'·x̂₀ + √(σ'² − s²)·ε + s·noise,  s = eta·(σ'/σ)·√(1 − α²/α'²)
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const double ratio = from.alpha / to.alpha;
  const double fresh = run.option("eta") * to.sigma / from.sigma * std::sqrt(std::max(0.0, 1 - ratio * ratio));
  const double kept = std::sqrt(std::max(0.0, to.sigma * to.sigma - fresh * fresh));
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (run.schedule.clip) {  // ε stays that of the x̂₀ that was not clipped
    const Tensor noise_part = towards(s.x, x0, from, 0, kept);
    s.x = combine({noise_part, clipped(x0, *run.schedule.clip)}, {1, to.alpha});
  } else {
    s.x = towards(s.x, x0, from, to.alpha, kept);
  }
  s.x = run.add_noise(s.x, fresh * run.option("s_noise"));
}

}  // namespace

std::vector<Sampler> ddim_rows() {
  return {{.name = "ddim",
           .aliases = {"DDIM", "DDIMScheduler", "ddim_trailing"},
           .summary = "DDIM; deterministic unless eta is given",
           .draws = Draws::on_request,
           .options = {{"eta", "how much of each step is fresh noise", 0}, {"s_noise", "factor of the fresh noise", 1}},
           .scheduler = SchedulerClass::ddim,
           .classes = {SchedulerClass::ddim},
           .step = step}};
}

}  // namespace hearth::sampling
