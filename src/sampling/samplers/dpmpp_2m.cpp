#include <cmath>

#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

// λ' − λ, or on flow paths, as in ComfyUI, the difference of −ln σ.
double length(const Run& run, const Level& from, const Level& to) {
  return run.schedule.path.family == Family::flow ? std::log(from.sigma) - std::log(to.sigma) : lambda(to) - lambda(from);
}

// Lu et al. 2022 (arXiv 2211.01095), DPM-Solver++(2M), Algorithm 2. With λ = ln(α/σ), h = λ' − λ and r = h_last/h:
//   x' = (σ'/σ)·x − α'·(e⁻ʰ − 1)·D,  D = (1 + 1/(2r))·x̂₀ − 1/(2r)·x̂₀_last; D = x̂₀ in the first step, and optionally in the last
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  const double h = length(run, from, to);  // infinite if σ' is 0
  const double keep = to.sigma / from.sigma, move = -(run.schedule.path.family == Family::flow ? 1 : to.alpha) * std::expm1(-h);
  // A step of zero length (more steps than timesteps to distribute them over) has no slope; the reference divides by zero there.
  if (s.history.empty() || s.memory[0] == 0 || to.sigma == 0 || (run.schedule.first_order_last && run.last(s))) {
    s.x = combine({s.x, x0}, {keep, move});
  } else {
    const double extra = move * h / (2 * s.memory[0]);
    s.x = combine({s.x, x0, s.history[0]}, {keep, move + extra, -extra});
  }
  s.history = {x0};
  s.memory = {h};
}

// The variant of stable-diffusion.cpp: the step length in the weight of x̂₀ is the mean of the last two, and r ≥ 1.
void v2_step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  const double h = -std::log(to.sigma / from.sigma), keep = to.sigma / from.sigma;
  if (s.history.empty() || to.sigma == 0) {
    s.x = combine({s.x, x0}, {keep, 1 - keep});
  } else {
    const double last = s.memory[0], move = -std::expm1(-(h + last) / 2), extra = move * std::min(h, last) / (2 * std::max(h, last));
    s.x = combine({s.x, x0, s.history[0]}, {keep, move + extra, -extra});
  }
  s.history = {x0};
  s.memory = {h};
}

// CFG++ (Chung et al. 2024, arXiv 2406.08070): the noise kept in x is that of the unconditional estimate.
//   x' = x̂₀ − e⁻ʰ·u − (e⁻ʰ − 1)/(2r)·(x̂₀ − u_last) + e⁻ʰ·x
void cfg_pp_step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Estimate e = run.denoise(s.x, at);
  const double h = -std::log(to.sigma / from.sigma), keep = to.sigma / from.sigma;
  if (s.history.empty() || to.sigma == 0) {
    s.x = combine({s.x, e.x0, e.unconditional}, {keep, 1, -keep});
  } else {
    const double extra = -std::expm1(-h) * h / (2 * s.memory[0]);
    s.x = combine({s.x, e.x0, e.unconditional, s.history[0]}, {keep, 1 + extra, -keep, -extra});
  }
  s.history = {e.unconditional};
  s.memory = {h};
}

}  // namespace

std::vector<Sampler> dpmpp_2m_rows() {
  return {{.name = "dpmpp_2m",
           .aliases = {"DPM++ 2M", "k_dpmpp_2m"},
           .summary = "DPM-Solver++, second order, multistep",
           .order = 2,
           .schedule = "karras",
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::dpmpp_multistep,
           .step = step},
          {.name = "dpmpp_2m_v2",
           .aliases = {"DPM++ 2M v2", "dpm++2mv2"},
           .summary = "stable-diffusion.cpp's variant of dpmpp_2m",
           .order = 1,
           .schedule = "karras",
           .scheduler = SchedulerClass::euler,
           .step = v2_step},
          {.name = "dpmpp_2m_cfg_pp",
           .summary = "dpmpp_2m with CFG++",
           .order = 2,
           .needs_unconditional = true,
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = cfg_pp_step}};
}

}  // namespace hearth::sampling
