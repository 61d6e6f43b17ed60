#include <cmath>

#include "sampling/steps/ancestral.h"

namespace hearth::sampling {
namespace {

// Lu et al. 2022 (arXiv 2211.01095), DPM-Solver++(2S) with its middle at half the step in λ, to σ_down, then noise back to σ'.
// cfg_pp: both evaluations use the unconditional estimate; the guidance of the first one, x̂₀ − u, is added to x at the end, times α'.
// (ComfyUI since 2026. Before, it added x̂₀ − u to x inside the step, with u of the latest evaluation, which is not a solver even if
// x̂₀ = u.)
void step_of(State& s, const Run& run, bool cfg_pp) {
  const auto& [at, from, to] = run.step(s);
  const Path& path = run.schedule.path;
  const AncestralSplit split = ancestral_split(path, from.sigma, to.sigma, run.option("eta"));
  const Estimate e = run.denoise(s.x, at);
  const auto counts = [&](const Estimate& estimate) { return cfg_pp ? estimate.unconditional : estimate.x0; };
  const double alpha = path.family == Family::flow ? 1 - split.down : to.alpha;
  Tensor x0 = counts(e);
  if (split.down > 0) {
    // λ is infinite at the start of a flow path.
    const Level down{alpha, split.down};
    const Level middle = from.alpha == 0 ? path.at(0.9999) : path.at_lambda((lambda(from) + lambda(down)) / 2);
    x0 = counts(run.denoise(run.between_calls(towards(s.x, x0, from, middle.alpha, middle.sigma), middle), middle));
  }
  s.x = renoised(run, towards(s.x, x0, from, alpha, split.down), split);
  if (cfg_pp) s.x = combine({s.x, e.x0, e.unconditional}, {1, to.alpha, -to.alpha});
}

void step(State& s, const Run& run) { step_of(s, run, false); }
void cfg_pp_step(State& s, const Run& run) { step_of(s, run, true); }

}  // namespace

std::vector<Sampler> dpmpp_2s_ancestral_rows() {
  return {{.name = "dpmpp_2s_ancestral",
           .aliases = {"DPM++ 2S a", "dpm++2s_a", "k_dpmpp_2s_a", "k_dpmpp_2s_ancestral"},
           .summary = "DPM-Solver++, second order, singlestep, with noise at each step",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::always,
           .schedule = "karras",
           .options = noise_options(1),
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step},
          {.name = "dpmpp_2s_ancestral_cfg_pp",
           .summary = "the same with CFG++",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::always,
           .options = noise_options(1),
           .needs_unconditional = true,
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = cfg_pp_step}};
}

}  // namespace hearth::sampling
