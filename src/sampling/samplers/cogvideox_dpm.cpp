#include "sampling/steps/dpm.h"

namespace hearth::sampling {
namespace {

// CogVideoX (Yang et al. 2024, arXiv 2408.06072): the stochastic form of DPM-Solver++ of second order, with steps of first order at both
// ends of the timesteps. A step of second order draws twice and discards the first draw, as diffusers' CogVideoXDPMScheduler does.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  const bool second = !s.history.empty() && to.timestep >= 0 && to.sigma > 0;
  const DpmWeights w = dpm_weights(DpmAlgorithm::data_sde, DpmSolverType::midpoint, 1, from, to);
  if (second) {
    const double h = lambda(to) - lambda(from), last = lambda(from) - lambda(run.schedule.steps[size_t(s.step) - 1].at);
    const double extra = w.d0 * h / (2 * last);
    s.x = combine({s.x, x0, s.history[0]}, {w.x, w.d0 + extra, -extra});
    run.noise(s.x.backend(), s.x.shape());
  } else {
    s.x = combine({s.x, x0}, {w.x, w.d0});
  }
  s.x = run.add_noise(s.x, w.noise);
  s.history = {x0};
}

}  // namespace

std::vector<Sampler> cogvideox_dpm_rows() {
  return {{.name = "cogvideox_dpm",
           .summary = "CogVideoX's stochastic DPM-Solver++",
           .order = 2,
           .draws = Draws::always,
           .scheduler = SchedulerClass::cogvideox_dpm,
           .step = step}};
}

}  // namespace hearth::sampling
