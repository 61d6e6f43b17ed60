#include <cmath>

#include "sampling/ancestral.h"

namespace hearth::sampling {
namespace {

// Lu et al. 2022 (arXiv 2211.01095), DPM-Solver++(2S) with its middle at half the step in λ, to σ_down, then noise back to σ'.
// cfg_pp: x enters both formulas as x + x̂₀ − (the estimate without prompt).
void step_of(State& s, const Run& run, bool cfg_pp) {
  const auto& [at, from, to] = run.step(s);
  const Path& path = run.schedule.path;
  const AncestralSplit split = ancestral_split(path, from.sigma, to.sigma, run.option("eta"));
  const Estimate e = run.denoise(s.x, at);
  const double alpha = path.family == Family::flow ? 1 - split.down : to.alpha;
  if (split.down == 0) {
    s.x = renoised(run, towards(s.x, e.x0, from, alpha, 0), split);
    return;
  }
  const Level down{alpha, split.down};
  // λ is infinite where a flow begins.
  const Level middle = from.alpha == 0 ? path.at(0.9999) : path.at_lambda((lambda(from) + lambda(down)) / 2);
  const Tensor x = cfg_pp ? combine({s.x, e.x0, e.unconditional}, {1, 1, -1}) : s.x;
  const Tensor x_2 = towards(x, e.x0, from, middle.alpha, middle.sigma);
  s.x = renoised(run, towards(x, run.denoise(x_2, middle).x0, from, down.alpha, down.sigma), split);
}

void step(State& s, const Run& run) { step_of(s, run, false); }
void cfg_pp_step(State& s, const Run& run) { step_of(s, run, true); }

}  // namespace

std::vector<Sampler> dpmpp_2s_ancestral_rows() {
  return {{.name = "dpmpp_2s_ancestral",
           .aliases = {"DPM++ 2S a", "dpm++2s_a", "k_dpmpp_2s_a", "k_dpmpp_2s_ancestral"},
           .summary = "DPM-Solver++ of second order in single steps, with fresh noise",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::always,
           .schedule = "karras",
           .options = noise_options(1),
           .scheduler = SchedulerClass::euler,
           .step = step},
          {.name = "dpmpp_2s_ancestral_cfg_pp",
           .summary = "the same with CFG++",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::always,
           .options = noise_options(1),
           .needs_unconditional = true,
           .scheduler = SchedulerClass::euler,
           .step = cfg_pp_step}};
}

}  // namespace hearth::sampling
