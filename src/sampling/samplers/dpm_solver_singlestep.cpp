#include <algorithm>

#include "sampling/steps/dpm.h"
#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

// 1, 2, … order, repeated; if n is not a multiple, or the last step must be of first order, the last orders are lower.
std::vector<int> orders(int n, int order, bool lower_final, bool without_noise) {
  std::vector<int> all;
  const int rest = n % order;
  const bool lower = lower_final || rest != 0 || without_noise;
  for (int i = 0; i < n; ++i) all.push_back(i % order + 1);
  if (lower && order == 3 && rest == 0) all[size_t(n) - 1] = 1;
  if (lower && order == 2 && rest == 0) all[size_t(n) - 1] = 1;
  if (without_noise) all[size_t(n) - 1] = 1;
  return all;
}

// Lu et al. 2022 (arXiv 2206.00927), singlestep, divided into steps like diffusers' DPMSolverSinglestepScheduler: a group of `order` steps,
// each from the group's start with the estimates that the group has so far. A run that starts from an image has the orders of the whole
// run's steps, lowered if estimates are missing. History: the estimates, newest first, then the start.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const DpmAlgorithm algorithm = dpm_algorithm(run);
  const Tensor m = dpm_estimate(algorithm, s.x, run.denoise(s.x, at).x0, at);
  const auto& steps = run.schedule.steps;
  const size_t before = run.schedule.left_out.size();
  const std::vector<int> whole =
      orders(int(before + steps.size()), int(run.option("solver_order")), run.option("lower_order_final") != 0, steps.back().to.sigma == 0);
  const int order = std::min(whole[before + size_t(s.step)], int(s.step) + 1);
  if (order == 1) s.history = {s.x};
  s.history.insert(s.history.begin(), m);
  const Tensor& start = s.history.back();

  const size_t i = size_t(s.step);
  const Level& base = steps[i - size_t(order - 1)].from;
  const DpmSolverType type = dpm_solver_type(run);
  // With order 3, midpoint weights the slope from the start to the newest estimate as `heun` does.
  const DpmWeights w = dpm_weights(algorithm, type, order, base, to);
  const double h = lambda(to) - lambda(base), r0 = (lambda(from) - lambda(base)) / h;
  if (order == 1) {
    s.x = combine({start, m}, {w.x, w.d0});
  } else if (order == 2) {  // D1 = (m − m₁)/r₀ at the group's start
    s.x = combine({start, m, s.history[1]}, {w.x, w.d1 / r0, w.d0 - w.d1 / r0});
  } else if (type == DpmSolverType::midpoint) {
    s.x = combine({start, m, s.history[2]}, {w.x, w.d1 / r0, w.d0 - w.d1 / r0});
  } else {
    // From the slopes a = (m₁ − m₂)/r₁ and b = (m − m₂)/r₀: D1 = (r₀a − r₁b)/(r₀ − r₁), D2 = 2(b − a)/(r₀ − r₁).
    const double r1 = (lambda(steps[i - 1].from) - lambda(base)) / h;
    const double a = (w.d1 * r0 - 2 * w.d2) / (r0 - r1) / r1, b = (2 * w.d2 - w.d1 * r1) / (r0 - r1) / r0;
    s.x = combine({start, m, s.history[1], s.history[2]}, {w.x, b, a, w.d0 - a - b});
  }
  s.x = run.add_noise(s.x, w.noise);
}

}  // namespace

std::vector<Sampler> dpm_solver_singlestep_rows() {
  return {{.name = "dpm_solver_singlestep",
           .aliases = {"dpmpp_2s"},
           .summary = "DPM-Solver, singlestep: groups of steps from one start",
           .order = 2,
           .draws = Draws::on_request,
           .options = dpm_options(false),
           .scheduler = SchedulerClass::dpm_singlestep,
           .step = step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
