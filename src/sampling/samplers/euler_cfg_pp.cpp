#include "sampling/steps/ancestral.h"
#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

// CFG++ (Chung et al. 2024, arXiv 2406.08070): x̂₀ is guided; the noise kept in x is that of the unconditional estimate u.
//   x' = α'·x̂₀ + α'·down·(x − α·u)/σ + α'·up·noise, the split that of σ/α
void step_of(State& s, const Run& run, double eta, double s_noise) {
  const auto& [at, from, to] = run.step(s);
  const Estimate e = run.denoise(s.x, at);
  if (to.sigma == 0) {
    s.x = e.x0;
    return;
  }
  const AncestralSplit split = exploding_split(from.sigma / from.alpha, to.sigma / to.alpha, eta);
  const double keep = to.alpha * split.down / from.sigma;
  s.x = run.add_noise(combine({s.x, e.x0, e.unconditional}, {keep, to.alpha, -from.alpha * keep}), to.alpha * split.up * s_noise);
}

void step(State& s, const Run& run) { step_of(s, run, 0, 1); }
void ancestral_step(State& s, const Run& run) { step_of(s, run, run.option("eta"), run.option("s_noise")); }

}  // namespace

std::vector<Sampler> euler_cfg_pp_rows() {
  return {{.name = "euler_cfg_pp",
           .aliases = {"Euler CFG++"},
           .summary = "Euler with CFG++; guidance of 1 to 2 corresponds to 7 elsewhere",
           .needs_unconditional = true,
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = step,
           .prepare = finite_start},
          {.name = "euler_ancestral_cfg_pp",
           .aliases = {"Euler a CFG++", "euler_a_cfg_pp"},
           .summary = "the same with noise at each step",
           .draws = Draws::always,
           .options = noise_options(1),
           .needs_unconditional = true,
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = ancestral_step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
