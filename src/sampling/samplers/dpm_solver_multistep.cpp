#include <algorithm>

#include "sampling/steps/dpm.h"
#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

bool few(const Run& run) { return run.option("lower_order_final") != 0 && run.schedule.steps.size() < 15; }

int order_of(const State& s, const Run& run) {
  const size_t left = run.schedule.steps.size() - size_t(s.step);
  const bool without_noise = run.step(s).to.sigma == 0;
  if (left == 1 && (without_noise || run.option("euler_at_final") != 0 || few(run))) return 1;
  const int most = std::min(int(run.option("solver_order")), int(s.history.size()) + 1);
  return left == 2 && few(run) ? std::min(most, 2) : most;
}

// Lu et al. 2022 (arXiv 2211.01095), multistep, as diffusers' DPMSolverMultistepScheduler: a polynomial through the last estimates, newest
// first in the history.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const DpmAlgorithm algorithm = dpm_algorithm(run);
  const Tensor m = dpm_estimate(algorithm, s.x, run.denoise(s.x, at).x0, at);
  int order = order_of(s, run);
  const double h = lambda(to) - lambda(from);
  // rₖ = hₖ/h with the lengths of the previous steps.
  double r0 = 0, r1 = 0;
  if (order > 1) r0 = (lambda(from) - lambda(run.schedule.steps[size_t(s.step) - 1].from)) / h;
  if (order > 2) r1 = (lambda(run.schedule.steps[size_t(s.step) - 1].from) - lambda(run.schedule.steps[size_t(s.step) - 2].from)) / h;
  if (order > 1 && r0 == 0) order = 1;  // a step of zero length has no slope; the reference divides by zero
  const DpmWeights w = dpm_weights(algorithm, order == 3 ? DpmSolverType::heun : dpm_solver_type(run), order, from, to);
  if (order == 1) {
    s.x = combine({s.x, m}, {w.x, w.d0});
  } else if (order == 2) {  // D1 = (m − m₁)/r₀
    s.x = combine({s.x, m, s.history[0]}, {w.x, w.d0 + w.d1 / r0, -w.d1 / r0});
  } else {  // D1 and D2 of the parabola, from the slopes (m − m₁)/r₀ and (m₁ − m₂)/r₁
    const double newer = (w.d1 * (1 + r0 / (r0 + r1)) + w.d2 / (r0 + r1)) / r0, older = -(w.d1 * r0 + w.d2) / (r0 + r1) / r1;
    s.x = combine({s.x, m, s.history[0], s.history[1]}, {w.x, w.d0 + newer, older - newer, -older});
  }
  s.x = run.add_noise(s.x, w.noise);
  s.history.insert(s.history.begin(), m);
  if (s.history.size() > 2) s.history.pop_back();
}

}  // namespace

std::vector<Sampler> dpm_solver_multistep_rows() {
  std::vector<Option> options = dpm_options(true);
  options.push_back({.name = "euler_at_final", .summary = "make the last step of first order", .most = 1, .whole = true});
  return {{.name = "dpm_solver_multistep",
           .summary = "DPM-Solver, multistep, all variants",
           .order = 2,
           .draws = Draws::on_request,
           .options = options,
           .scheduler = SchedulerClass::dpmpp_multistep,
           .step = step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
