#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

// Permenter & Yuan 2023 (arXiv 2306.04848): Euler with the slope extrapolated by (gamma − 1)·(d − d_last).
// cfg_pp: the slope is that of the unconditional estimate, and the step starts from x̂₀. History: the last slope.
void step_of(State& s, const Run& run, bool cfg_pp) {
  const auto& [at, from, to] = run.step(s);
  const Estimate e = run.denoise(s.x, at);
  const Tensor d = slope(s.x, cfg_pp ? e.unconditional : e.x0, from.sigma);
  const double dt = to.sigma - from.sigma, extra = s.history.empty() ? 0 : (run.option("ge_gamma") - 1) * dt;
  const Tensor& start = cfg_pp ? e.x0 : s.x;
  const double move = cfg_pp ? to.sigma : dt;
  if (to.sigma == 0) s.x = e.x0;
  else if (s.history.empty()) s.x = combine({start, d}, {1, move});
  else s.x = combine({start, d, s.history[0]}, {1, move + extra, -extra});
  s.history = {d};
}

void step(State& s, const Run& run) { step_of(s, run, false); }
void cfg_pp_step(State& s, const Run& run) { step_of(s, run, true); }

const Option gamma{.name = "ge_gamma", .summary = "how far the slope is extrapolated; 1: Euler", .standard = 2, .least = 0, .most = 10};

}  // namespace

std::vector<Sampler> gradient_estimation_rows() {
  return {{.name = "gradient_estimation",
           .aliases = {"Gradient Estimation", "euler_ge"},
           .summary = "Euler with an extrapolated slope",
           .order = 1,
           .options = {gamma},
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = step},
          {.name = "gradient_estimation_cfg_pp",
           .summary = "the same with CFG++",
           .order = 1,
           .options = {gamma},
           .needs_unconditional = true,
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = cfg_pp_step}};
}

}  // namespace hearth::sampling
