#include <cmath>

#include "sampling/sampler.h"

namespace hearth::sampling {
namespace {

// Lu et al. 2022 (arXiv 2211.01095), DPM-Solver++(2M), Algorithm 2. With λ = ln(α/σ), h = λ' − λ and r = h_last/h:
//   x' = (σ'/σ)·x − α'·(e⁻ʰ − 1)·D,  D = (1 + 1/(2r))·x̂₀ − 1/(2r)·x̂₀_last; at first, and where asked at last, D = x̂₀
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  const double h = lambda(to) - lambda(from);  // infinite where σ' is 0
  const double keep = to.sigma / from.sigma, move = -to.alpha * std::expm1(-h);
  // A step of no length (more steps than timesteps to spread them over) tells no slope; the reference divides by zero there.
  if (s.history.empty() || s.memory[0] == 0 || (run.schedule.first_order_last && run.last(s))) {
    s.x = combine({s.x, x0}, {keep, move});
  } else {
    const double extra = move * h / (2 * s.memory[0]);
    s.x = combine({s.x, x0, s.history[0]}, {keep, move + extra, -extra});
  }
  s.history = {x0};
  s.memory = {h};
}

}  // namespace

std::vector<Sampler> dpmpp_2m_rows() {
  return {{.name = "dpmpp_2m",
           .aliases = {"DPM++ 2M", "k_dpmpp_2m", "DPMSolverMultistep", "DPMSolverMultistepScheduler"},
           .summary = "DPM-Solver++ of second order, multistep",
           .order = 2,
           .scheduler = SchedulerClass::dpmpp_multistep,
           .classes = {SchedulerClass::dpmpp_multistep},
           .step = step}};
}

}  // namespace hearth::sampling
