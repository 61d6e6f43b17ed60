#include <cmath>

#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

// The noise scale of extended reverse-time SDE number 5 of the paper, on ℓ = σ/α.
double scale(double l) { return l * (std::exp(std::pow(l, 0.3)) + 10); }

// Cui et al. 2023 (arXiv 2309.06169), ER-SDE-Solver-1, -2 and -3, on ℓ = σ/α. With r = f(ℓ')/f(ℓ) and Δ = ℓ' − ℓ
//   x' = (α'/α)·r·x + α'·(1 − r)·x̂₀ + α'·(Δ + S·f(ℓ'))·D′ + α'·(Δ²/2 + Sᵤ·f(ℓ'))·D″ + α'·√(ℓ'² − ℓ²r²)·noise
// D′ and D″ are differences of the estimates; S and Sᵤ integrate 1/f and (u − ℓ)/f over [ℓ', ℓ], left sums of 200 points.
// History: the last x̂₀, the last D′.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (to.sigma == 0) {
    s.x = x0;
    return;
  }
  const auto l_at = [&](int64_t back) {
    const Level& level = run.schedule.steps[size_t(s.step - back)].from;
    return level.sigma / level.alpha;
  };
  const double l = l_at(0), l_next = to.sigma / to.alpha, r = scale(l_next) / scale(l), delta = l_next - l;
  Tensor x = combine({s.x, x0}, {to.alpha / from.alpha * r, to.alpha * (1 - r)});
  std::vector<Tensor> history{x0};
  const auto stage = std::min<int64_t>(int64_t(run.option("max_stage")), s.step + 1);
  if (stage >= 2) {
    constexpr int points = 200;
    const double width = -delta / points;
    double sum = 0, sum_u = 0;
    for (int i = 0; i < points; ++i) {
      const double u = l_next + i * width;
      sum += width / scale(u), sum_u += width * (u - l) / scale(u);
    }
    const double over = 1 / (l - l_at(1));
    const Tensor first = combine({x0, s.history[0]}, {over, -over});
    x = combine({x, first}, {1, to.alpha * (delta + sum * scale(l_next))});
    if (stage >= 3) {
      const double over_2 = 2 / (l - l_at(2)), weight = to.alpha * (delta * delta / 2 + sum_u * scale(l_next)) * over_2;
      x = combine({x, first, s.history[1]}, {1, weight, -weight});
    }
    history.push_back(first);
  }
  const double size = to.alpha * std::sqrt(std::max(0.0, l_next * l_next - l * l * r * r)) * run.option("s_noise");
  s.x = run.add_noise_between(x, size, run.schedule.path.coordinate(from), run.schedule.path.coordinate(to));
  s.history = history;
}

}  // namespace

std::vector<Sampler> er_sde_rows() {
  return {{.name = "er_sde",
           .aliases = {"ER SDE", "er_sde_solver"},
           .summary = "ER-SDE-Solver, third order",
           .order = 3,
           .draws = Draws::always,
           .options = {{.name = "s_noise", .summary = "factor of the step noise", .standard = 1},
                       {.name = "max_stage", .summary = "the solver's order", .standard = 3, .least = 1, .most = 3, .whole = true}},
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
