#include <cmath>

#include "sampling/steps/ancestral.h"
#include "sampling/steps/churn.h"
#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

// Lu et al. 2022 (arXiv 2206.00927), DPM-Solver-2 as in k-diffusion: the slope at the middle of the step in ln σ.
Tensor midpoint_step(const State& s, const Run& run, const Level& at, double to) {
  const Tensor d = slope(s.x, run.denoise(s.x, at).x0, at.sigma);
  if (to == 0) return combine({s.x, d}, {1, to - at.sigma});
  const Level middle = run.schedule.path.at(std::exp((std::log(at.sigma) + std::log(to)) / 2));
  const Tensor x_2 = run.between_calls(combine({s.x, d}, {1, middle.sigma - at.sigma}), run.step(s).to);
  const Tensor d_2 = slope(x_2, run.denoise(x_2, middle).x0, middle.sigma);
  return combine({s.x, d_2}, {1, to - at.sigma});
}

void step(State& s, const Run& run) {
  const Level at = churn(s, run);
  s.x = midpoint_step(s, run, at, run.step(s).to.sigma);
}

void ancestral_step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const AncestralSplit split = ancestral_split(run.schedule.path, from.sigma, to.sigma, run.option("eta"));
  s.x = renoised(run, midpoint_step(s, run, at, split.down), split);
}

}  // namespace

std::vector<Sampler> dpm_2_rows() {
  return {{.name = "dpm_2",
           .aliases = {"DPM2", "k_dpm_2", "kdpm_2"},
           .summary = "DPM-Solver-2: slope at the middle of the step",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::on_request,
           .schedule = "karras",
           .options = churn_options(),
           .drops_penultimate = {.comfyui = true, .a1111 = true},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step},
          {.name = "dpm_2_ancestral",
           .aliases = {"DPM2 a", "k_dpm_2_a", "k_dpm_2_ancestral", "kdpm_2_a"},
           .summary = "DPM-Solver-2 with noise at each step",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::always,
           .schedule = "karras",
           .options = noise_options(1),
           .drops_penultimate = {.comfyui = true, .a1111 = true},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = ancestral_step}};
}

}  // namespace hearth::sampling
