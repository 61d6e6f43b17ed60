#include <algorithm>
#include <cmath>

#include "sampling/steps/dpm.h"
#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

// ∫ over ρ from 0 to t of the polynomial in ln ρ that is 1 at nodes[j] and 0 at the others, for up to three nodes.
double integral(double t, const std::vector<double>& nodes, size_t j) {
  if (t == 0) return 0;
  const double l = std::log(t);
  if (nodes.size() == 2) {
    const double b = std::log(nodes[j]), c = std::log(nodes[1 - j]);
    return t * (l - c - 1) / (b - c);
  }
  const double b = std::log(nodes[j]), c = std::log(nodes[(j + 1) % 3]), d = std::log(nodes[(j + 2) % 3]);
  return t * (c * (d - l + 1) - d * l + d + l * l - 2 * l + 2) / ((b - c) * (b - d));
}

// Zhang & Chen 2022 (arXiv 2204.13902), log-ρ DEIS, as diffusers' DEISMultistepScheduler: with ρ = σ/α
//   x'/α' = x/α + Σ ∫ Lagrange polynomial in ln ρ · estimated noise.  History: the estimated noise, newest first.
void step(State& s, const Run& run) {
  const auto& steps = run.schedule.steps;
  const size_t i = size_t(s.step), left = steps.size() - i;
  const auto& [at, from, to] = steps[i];
  s.history.insert(s.history.begin(), dpm_estimate(DpmAlgorithm::noise, s.x, run.denoise(s.x, at).x0, at));
  const bool few = run.option("lower_order_final") != 0 && steps.size() < 15;
  size_t order = std::min(size_t(run.option("solver_order")), s.history.size());
  if (few) order = std::min(order, left);
  const auto rho = [](const Level& level) { return level.sigma / level.alpha; };

  std::vector<Tensor> terms{s.x};
  std::vector<double> weights{to.alpha / from.alpha};
  if (order == 1) {
    terms.push_back(s.history[0]), weights.push_back(to.sigma - to.alpha * rho(from));
  } else {
    std::vector<double> nodes;
    for (size_t k = 0; k < order; ++k) nodes.push_back(rho(steps[i - k].from));
    for (size_t k = 0; k < order; ++k) {
      terms.push_back(s.history[k]);
      weights.push_back(to.alpha * (integral(rho(to), nodes, k) - integral(rho(from), nodes, k)));
    }
  }
  s.x = combine(terms, weights);
  if (s.history.size() > 2) s.history.pop_back();
}

}  // namespace

std::vector<Sampler> deis_multistep_rows() {
  return {{.name = "deis_multistep",
           .summary = "DEIS in ln(sigma/alpha), as in diffusers",
           .order = 2,
           .options = {{.name = "solver_order", .summary = "of the polynomial", .standard = 2, .least = 1, .most = 3, .whole = true},
                       {.name = "lower_order_final", .summary = "lower the order at the end", .standard = 1, .most = 1, .whole = true}},
           .scheduler = SchedulerClass::deis,
           .step = step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
