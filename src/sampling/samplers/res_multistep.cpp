#include <cmath>

#include "sampling/steps/ancestral.h"
#include "sampling/steps/exponential.h"
#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

// Zhang et al. 2023 (arXiv 2308.02157), the refined exponential solver, multistep of second order, in t = −ln σ; to σ_down, then noise
// back to σ'. The split is that of exploding paths even on flow paths, as in ComfyUI. History: the estimate of the last step (cfg_pp:
// the unconditional one); memory: σ_down of the last step.
void step_of(State& s, const Run& run, double eta, double s_noise, bool cfg_pp) {
  const auto& [at, from, to] = run.step(s);
  const Estimate e = run.denoise(s.x, at);
  const Tensor& x0 = cfg_pp ? e.unconditional : e.x0;
  const AncestralSplit split = exploding_split(from.sigma, to.sigma, eta);
  const double keep = split.down / from.sigma;
  // With CFG++, x is replaced by x + x̂₀ − (the unconditional estimate).
  const Tensor x = cfg_pp ? combine({s.x, e.x0, e.unconditional}, {1, 1, -1}) : s.x;
  if (split.down == 0 && cfg_pp) {
    s.x = e.x0;
  } else if (split.down == 0 || s.history.empty()) {
    const Tensor stepped = combine({s.x, x0}, {keep, cfg_pp ? -keep : 1 - keep});
    s.x = cfg_pp ? combine({stepped, e.x0}, {1, 1}) : stepped;
  } else {
    const double h = -std::log(keep), before = run.schedule.steps[size_t(s.step) - 1].from.sigma;
    const double c_2 = std::log(s.memory[0] / before) / h;
    const double b_2 = c_2 == 0 ? 0 : phi_2(-h) / c_2, b_1 = phi_1(-h) - b_2;
    s.x = combine({x, x0, s.history[0]}, {keep, h * b_1, h * b_2});
  }
  s.x = run.add_noise(s.x, split.up * s_noise);
  s.history = {x0};
  s.memory = {split.down};
}

void step(State& s, const Run& run) { step_of(s, run, 0, 1, false); }
void ancestral_step(State& s, const Run& run) { step_of(s, run, run.option("eta"), run.option("s_noise"), false); }
void cfg_pp_step(State& s, const Run& run) { step_of(s, run, 0, 1, true); }
void ancestral_cfg_pp_step(State& s, const Run& run) { step_of(s, run, run.option("eta"), run.option("s_noise"), true); }

// The same as a singlestep method, with the second evaluation in the middle of the step.
void single_step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  const AncestralSplit split = exploding_split(from.sigma, to.sigma, run.option("eta"));
  if (split.down == 0) {
    s.x = renoised(run, x0, split);
    return;
  }
  constexpr double c_2 = 0.5;
  const double h = -std::log(split.down / from.sigma), a = c_2 * phi_1(-c_2 * h) * h;
  const Level middle = run.schedule.path.at(from.sigma * std::exp(-c_2 * h));
  const Tensor x_2 = run.between_calls(combine({s.x, x0}, {1 - a, a}), middle);
  const double b_2 = phi_2(-h) / c_2 * h, b_1 = phi_1(-h) * h - b_2;
  const Tensor x0_2 = run.denoise(x_2, middle).x0;
  s.x = renoised(run, combine({s.x, x0, x0_2}, {1 - b_1 - b_2, b_1, b_2}), split);
}

}  // namespace

std::vector<Sampler> res_multistep_rows() {
  return {{.name = "res_multistep",
           .aliases = {"RES Multistep"},
           .summary = "refined exponential solver, second order, multistep",
           .order = 2,
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = step},
          {.name = "res_multistep_ancestral",
           .summary = "the same with noise at each step",
           .order = 2,
           .draws = Draws::always,
           .options = noise_options(1),
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = ancestral_step},
          {.name = "res_multistep_cfg_pp",
           .summary = "res_multistep with CFG++",
           .order = 2,
           .needs_unconditional = true,
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = cfg_pp_step},
          {.name = "res_multistep_ancestral_cfg_pp",
           .summary = "the same with noise at each step",
           .order = 2,
           .draws = Draws::always,
           .options = noise_options(1),
           .needs_unconditional = true,
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = ancestral_cfg_pp_step},
          {.name = "res_2s",
           .aliases = {"RES 2S"},
           .summary = "refined exponential solver, second order, singlestep",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::on_request,
           .options = noise_options(0),
           .scheduler = SchedulerClass::euler,
           .step = single_step}};
}

}  // namespace hearth::sampling
