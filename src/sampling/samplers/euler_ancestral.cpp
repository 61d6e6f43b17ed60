#include "sampling/steps/ancestral.h"

namespace hearth::sampling {
namespace {

// k-diffusion's ancestral form: an Euler step to σ_down, then noise back to σ'; on flow paths the rectified-flow form of the split.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Path& path = run.schedule.path;
  const AncestralSplit split = ancestral_split(path, from.sigma, to.sigma, run.option("eta"));
  const double alpha = path.family == Family::flow ? 1 - split.down : to.alpha;
  s.x = renoised(run, towards(s.x, run.denoise(s.x, at).x0, from, alpha, split.down), split);
}

}  // namespace

std::vector<Sampler> euler_ancestral_rows() {
  return {{.name = "euler_ancestral",
           .aliases = {"Euler a", "k_euler_a", "k_euler_ancestral"},
           .summary = "Euler with noise at each step",
           .draws = Draws::always,
           .options = noise_options(1),
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler_ancestral,
           .step = step}};
}

}  // namespace hearth::sampling
