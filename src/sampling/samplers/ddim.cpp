#include <algorithm>
#include <cmath>

#include "sampling/steps/ancestral.h"

namespace hearth::sampling {
namespace {

// Song, Meng & Ermon 2020 (arXiv 2010.02502), equations 12 and 16:
//   x' = α'·x̂₀ + √(σ'² − s²)·ε + s·noise,  s = eta·(σ'/σ)·√(1 − α²/α'²)
// CFG++ (Chung et al. 2024, arXiv 2406.08070): ε is that of the unconditional estimate. If x̂₀ is clipped, ε remains that of the
// unclipped x̂₀.
void step_of(State& s, const Run& run, bool cfg_pp) {
  const auto& [at, from, to] = run.step(s);
  const double ratio = from.alpha / to.alpha;
  const double fresh = run.option("eta") * to.sigma / from.sigma * std::sqrt(std::max(0.0, 1 - ratio * ratio));
  const double kept = std::sqrt(std::max(0.0, to.sigma * to.sigma - fresh * fresh));
  const Estimate e = run.denoise(s.x, at);
  if (cfg_pp || run.schedule.bounds_estimates()) {  // ε remains that of the unclipped x̂₀
    const Tensor noise_part = towards(s.x, cfg_pp ? e.unconditional : e.x0, from, 0, kept);
    s.x = combine({noise_part, bounded(e.x0, run.schedule)}, {1, to.alpha});
  } else {
    s.x = towards(s.x, e.x0, from, to.alpha, kept);
  }
  s.x = run.add_noise(s.x, fresh * run.option("s_noise"));
}

void step(State& s, const Run& run) { step_of(s, run, false); }
void cfg_pp_step(State& s, const Run& run) { step_of(s, run, true); }

}  // namespace

std::vector<Sampler> ddim_rows() {
  return {{.name = "ddim",
           .aliases = {"DDIM"},
           .summary = "DDIM; deterministic unless eta is given",
           .draws = Draws::on_request,
           .options = noise_options(0),
           .programs = {.comfyui = true, .a1111 = true},
           .a1111_levels = A1111Levels::timesteps,
           .scheduler = SchedulerClass::ddim,
           .bounds_itself = true,
           .step = step},
          {.name = "ddim_cfg_pp",
           .aliases = {"DDIM CFG++", "ddim_cfgpp"},
           .summary = "DDIM with CFG++; guidance scale is divided by 12.5",
           .draws = Draws::on_request,
           .options = noise_options(0),
           .guidance_factor = 1 / 12.5,
           .needs_unconditional = true,
           .programs = {.a1111 = true},
           .a1111_levels = A1111Levels::timesteps,
           .scheduler = SchedulerClass::ddim,
           .bounds_itself = true,
           .step = cfg_pp_step}};
}

}  // namespace hearth::sampling
