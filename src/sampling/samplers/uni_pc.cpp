#include <algorithm>
#include <cmath>

#include "sampling/steps/exponential.h"
#include "sampling/steps/linear_system.h"
#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

enum class Variant { bh1, bh2 };

// Zhao et al. 2023 (arXiv 2302.04867), UniPC on estimates of x₀, in λ = ln(α/σ); α is 1 unless α² + σ² = 1 (also on flow paths, as in
// ComfyUI).
struct UniPc {
  const Run& run;
  Variant variant;

  bool preserving() const { return run.schedule.path.family == Family::preserving; }
  double alpha_of(const Level& level) const { return preserving() ? level.alpha : 1; }
  double lambda_of(const Level& level) const { return std::log(alpha_of(level) / level.sigma); }
  double lambda_at(int64_t step) const { return lambda_of(run.schedule.steps[size_t(step)].from); }

  // The order of the step: up to 3, not more than there are estimates, decreasing towards the end.
  int64_t order(int64_t step) const {
    const auto steps = int64_t(run.schedule.steps.size());
    const int64_t most = std::max<int64_t>(1, std::min(int64_t(run.option("order")), steps - 1));
    return std::min({most, step + 1, steps - step});
  }

  // Step `i` from x with the estimates at its start and before, newest first; corrected if the estimate at its end is given.
  Tensor update(int64_t i, const Tensor& x, std::span<const Tensor> estimates, const Tensor& at_end) const {
    const Step& step = run.schedule.steps[size_t(i)];
    const auto p = size_t(order(i));
    const double from = lambda_at(i), h = lambda_of(step.to) - from, move = std::expm1(-h), alpha = alpha_of(step.to);
    const double b_h = variant == Variant::bh1 ? -h : move;
    std::vector<double> r;
    for (size_t k = 1; k < p; ++k) r.push_back((lambda_at(i - int64_t(k)) - from) / h);
    r.push_back(1);
    std::vector<std::vector<double>> rows;
    std::vector<double> sides;
    double phi = move / -h - 1, factorial = 1;
    for (size_t row = 0; row < p; ++row) {
      std::vector<double> powers;
      for (const double v : r) powers.push_back(std::pow(v, double(row)));
      rows.push_back(powers);
      sides.push_back(phi * factorial / b_h);
      factorial *= double(row + 2);
      phi = phi / -h - 1 / factorial;
    }
    std::vector<double> rho;
    if (at_end) {
      rho = p == 1 ? std::vector<double>{0.5} : solved(rows, sides);
    } else if (p == 2) {
      rho = {0.5};
    } else if (p > 2) {
      rows.pop_back(), sides.pop_back();
      for (auto& row : rows) row.pop_back();
      rho = solved(rows, sides);
    }
    // x·σ'/σ − α'·((e⁻ʰ − 1)·m₀ + B·Σ ρ_k·(m_k − m₀)/r_k), m_k by its age, the last with r = 1 at the end.
    std::vector<Tensor> terms{x, estimates[0]};
    std::vector<double> factors{step.to.sigma / step.from.sigma, -alpha * move};
    for (size_t k = 0; k < rho.size(); ++k) {
      const bool end = at_end && k + 1 == p;
      const double weight = -alpha * b_h * rho[k] / (end ? 1 : r[k]);
      terms.push_back(end ? at_end : estimates[k + 1]);
      factors.push_back(weight);
      factors[1] -= weight;
    }
    return combine(terms, factors);
  }
};

// History: x at the start of the last step, and the estimates, newest first.
void step_of(State& s, const Run& run, Variant variant) {
  const UniPc solver{run, variant};
  const Tensor x0 = run.denoise(s.x, run.step(s).at).x0;
  std::vector<Tensor> estimates;
  Tensor x = s.x;
  if (!s.history.empty()) {
    estimates.assign(s.history.begin() + 1, s.history.end());
    x = solver.update(s.step - 1, s.history[0], estimates, x0);
  }
  remember(estimates, x0, 3);
  s.x = solver.update(s.step, x, estimates, {});
  s.history = {x};
  s.history.insert(s.history.end(), estimates.begin(), estimates.end());
}

void bh1_step(State& s, const Run& run) { step_of(s, run, Variant::bh1); }
void bh2_step(State& s, const Run& run) { step_of(s, run, Variant::bh2); }

// λ is infinite at σ = 0, so the run ends at 0.001.
Schedule finite_end(const Schedule& schedule, const Options&) {
  Schedule plan = schedule;
  Level& to = plan.steps.back().to;
  if (to.sigma == 0) to = plan.path.at(0.001);
  return plan;
}

const Option order{.name = "order", .summary = "of the predictor and the corrector", .standard = 3, .least = 1, .most = 3, .whole = true};

}  // namespace

std::vector<Sampler> uni_pc_rows() {
  return {{.name = "uni_pc",
           .aliases = {"UniPC", "uni_pc_bh1"},
           .summary = "UniPC, B(h) = h",
           .order = 3,
           .options = {order},
           .drops_penultimate = {.comfyui = true},
           .programs = {.comfyui = true, .a1111 = true},
           .a1111_levels = A1111Levels::times,
           .scheduler = SchedulerClass::euler,
           .step = bh1_step,
           .prepare = finite_end},
          {.name = "uni_pc_bh2",
           .aliases = {"UniPC bh2"},
           .summary = "UniPC, B(h) = exp(h) - 1",
           .order = 3,
           .options = {order},
           .drops_penultimate = {.comfyui = true},
           .programs = {.comfyui = true, .a1111 = true},
           .a1111_levels = A1111Levels::times,
           .scheduler = SchedulerClass::euler,
           .step = bh2_step,
           .prepare = finite_end}};
}

}  // namespace hearth::sampling
