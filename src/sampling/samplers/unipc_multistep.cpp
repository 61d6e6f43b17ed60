#include <algorithm>
#include <cmath>

#include "sampling/steps/dpm.h"
#include "sampling/steps/exponential.h"
#include "sampling/steps/linear_system.h"

namespace hearth::sampling {
namespace {

// Zhao et al. 2023 (arXiv 2302.04867), algorithms 1 and 2: x at `to` from x at `from` with the estimate `m` there, and the differences of
// other estimates from m, at λ = λ(from) + r·h; for a correction, the last of them is at `to` itself (r = 1).
struct Differences {
  std::vector<Tensor> others;
  std::vector<double> r;
};

Tensor updated(const Run& run, const Tensor& x, const Tensor& m, const Differences& d, const Level& from, const Level& to) {
  const bool data = run.option("predict_x0") != 0;
  const double h = lambda(to) - lambda(from), hh = data ? -h : h, e = std::expm1(hh);
  const double B = run.option("solver_type") == 0 ? e : hh;  // bh2, bh1
  const double size = data ? to.alpha : to.sigma;
  const double move = data ? -to.alpha * e : to.sigma - to.alpha * from.sigma / from.alpha;  // −σ'·(eʰ − 1), finite at σ' = 0
  std::vector<Tensor> terms{x, m};
  std::vector<double> weights{data ? to.sigma / from.sigma : to.alpha / from.alpha, move};
  const size_t p = d.r.size();
  std::vector<double> rho(p, 0.5);
  if (p > 1) {
    std::vector<std::vector<double>> rows;
    std::vector<double> right;
    double phi = e / hh - 1, factorial = 1;
    for (size_t i = 1; i <= p; ++i) {
      rows.emplace_back();
      for (const double r : d.r) rows.back().push_back(std::pow(r, double(i - 1)));
      right.push_back(phi * factorial / B);
      factorial *= double(i + 1);
      phi = phi / hh - 1 / factorial;
    }
    rho = solved(rows, right);
  }
  for (size_t k = 0; k < p; ++k) {
    const double weight = -size * B * rho[k] / d.r[k];
    terms.push_back(d.others[k]), weights.push_back(weight);
    weights[1] -= weight;
  }
  return combine(terms, weights);
}

// As in diffusers' UniPCMultistepScheduler: each step first corrects the previous one with the current estimate, then predicts the next.
// History: the estimates, newest first, then x before the previous step; memory: the order of that step.
void step(State& s, const Run& run) {
  const auto& steps = run.schedule.steps;
  const size_t i = size_t(s.step);
  const auto& [at, from, to] = steps[i];
  const Tensor x0 = run.denoise(s.x, at).x0;
  const Tensor m = run.option("predict_x0") != 0 ? x0 : dpm_estimate(DpmAlgorithm::noise, s.x, x0, at);
  const auto ratio = [&](size_t of, const Level& a, const Level& b) {
    return (lambda(steps[of].from) - lambda(a)) / (lambda(b) - lambda(a));
  };

  if (i > 0) {
    const Tensor before = s.history.back();
    s.history.pop_back();
    const auto& off = run.schedule.disabled_correctors;
    if (std::ranges::find(off, s.step - 1) == off.end()) {
      const Level& start = steps[i - 1].from;
      Differences d;
      for (size_t k = 1; k < size_t(s.memory[0]); ++k) d.others.push_back(s.history[k]), d.r.push_back(ratio(i - 1 - k, start, from));
      d.others.push_back(m), d.r.push_back(1);
      s.x = updated(run, before, s.history[0], d, start, from);
    }
  }

  int64_t order = std::min(int64_t(run.option("solver_order")), int64_t(i) + 1);
  if (run.option("lower_order_final") != 0 || to.sigma == 0) order = std::min(order, int64_t(steps.size() - i));
  s.history.insert(s.history.begin(), m);
  if (s.history.size() > size_t(run.option("solver_order"))) s.history.pop_back();
  Differences d;
  for (size_t k = 1; k < size_t(order); ++k) d.others.push_back(s.history[k]), d.r.push_back(ratio(i - k, from, to));
  s.history.push_back(s.x);
  s.x = updated(run, s.x, m, d, from, to);
  s.memory = {double(order)};
}

}  // namespace

std::vector<Sampler> unipc_multistep_rows() {
  return {{.name = "unipc_multistep",
           .summary = "UniPC as in diffusers",
           .order = 2,
           .options = {{.name = "solver_order", .summary = "of the polynomial", .standard = 2, .least = 1, .most = 6, .whole = true},
                       {.name = "solver_type", .summary = "B(h)", .most = 1, .whole = true, .choices = {"bh2", "bh1"}},
                       {.name = "predict_x0", .summary = "1: integrates x0, 0: the noise", .standard = 1, .most = 1, .whole = true},
                       {.name = "lower_order_final", .summary = "lower the order at the end", .standard = 1, .most = 1, .whole = true}},
           .scheduler = SchedulerClass::unipc,
           .step = step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
