#include <cmath>

#include "sampling/steps/ancestral.h"
#include "sampling/steps/exponential.h"
#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

enum Solver { midpoint, heun };

// DPM-Solver++ multistep on the SDE (Lu et al. 2022, arXiv 2211.01095, and Katherine Crowson's form with eta). With h the step in λ
// and g = h·(1 + eta):
//   x' = (σ'/σ)·e^(−h·eta)·x + α'·(1 − e⁻ᵍ)·x̂₀ + α'·(terms of the slopes) + σ'·√(1 − e^(−2h·eta))·noise
// History: the estimates, newest first; memory: the steps' lengths in λ, newest first.
struct Multistep {
  double h, keep, move, g, alpha;

  Multistep(const Run& run, const Level& from, const Level& to) {
    h = lambda(to) - lambda(from);
    g = h * (1 + run.option("eta"));
    alpha = to.alpha;
    keep = to.sigma / from.sigma * std::exp(-h * run.option("eta"));
    move = -alpha * std::expm1(-g);
  }
};

Tensor with_noise(const Run& run, const Tensor& x, const Level& from, const Level& to, double h) {
  const double size = to.sigma * fresh_part(h, run.option("eta")) * run.option("s_noise");
  return run.add_noise_between(x, size, run.schedule.path.coordinate(from), run.schedule.path.coordinate(to));
}

void second_order(State& s, const Run& run, Solver solver) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (to.sigma == 0) {
    s.x = x0;
    return;
  }
  const Multistep m(run, from, to);
  Tensor x;
  if (s.history.empty()) {
    x = combine({s.x, x0}, {m.keep, m.move});
  } else {
    const double part = solver == midpoint ? m.move / 2 : m.alpha * (1 - phi_1(-m.g));
    const double extra = part * m.h / s.memory[0];
    x = combine({s.x, x0, s.history[0]}, {m.keep, m.move + extra, -extra});
  }
  s.x = with_noise(run, x, from, to, m.h);
  s.history = {x0};
  s.memory = {m.h};
}

void midpoint_step(State& s, const Run& run) { second_order(s, run, midpoint); }
void heun_step(State& s, const Run& run) { second_order(s, run, heun); }

// With two earlier estimates, their divided differences give slope and curvature. (The curvature's weight is half of what third order would
// need, as in all programs with this sampler, so it converges with order 2.)
void third_order_step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (to.sigma == 0) {
    s.x = x0;
    return;
  }
  const Multistep m(run, from, to);
  const double phi_two = 1 - phi_1(-m.g), phi_three = phi_two / m.g - 0.5;
  Tensor x;
  if (s.history.empty()) {
    x = combine({s.x, x0}, {m.keep, m.move});
  } else if (s.history.size() == 1) {
    const double extra = m.alpha * phi_two * m.h / s.memory[0];
    x = combine({s.x, x0, s.history[0]}, {m.keep, m.move + extra, -extra});
  } else {
    const double r_0 = s.memory[0] / m.h, r_1 = s.memory[1] / m.h, both = r_0 + r_1;
    // d₁ = d₁₀·(1 + r₀/(r₀+r₁)) − d₁₁·r₀/(r₀+r₁), d₂ = (d₁₀ − d₁₁)/(r₀+r₁) with d₁₀ = (x̂₀ − a)/r₀, d₁₁ = (a − b)/r₁
    const double of_first = m.alpha * (phi_two * (1 + r_0 / both) - phi_three / both) / r_0;
    const double of_second = m.alpha * (-phi_two * r_0 / both + phi_three / both) / r_1;
    x = combine({s.x, x0, s.history[0], s.history[1]}, {m.keep, m.move + of_first, of_second - of_first, -of_second});
  }
  s.x = with_noise(run, x, from, to, m.h);
  remember(s.history, x0, 2);
  s.memory.insert(s.memory.begin(), m.h);
  s.memory.resize(s.history.size());
}

}  // namespace

std::vector<Sampler> dpmpp_multistep_sde_rows() {
  return {{.name = "dpmpp_2m_sde",
           .aliases = {"DPM++ 2M SDE", "dpmpp_2m_sde_gpu", "dpm++2m_sde_bt", "k_dpmpp_2m_sde"},
           .summary = "DPM-Solver++ on the SDE, second order, multistep",
           .order = 2,
           .draws = Draws::always,
           .schedule = "exponential",
           .options = noise_options(1),
           .brownian = {.comfyui = true, .a1111 = true},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = midpoint_step,
           .prepare = finite_start},
          {.name = "dpmpp_2m_sde_heun",
           .aliases = {"DPM++ 2M SDE Heun", "dpmpp_2m_sde_heun_gpu", "k_dpmpp_2m_sde_heun"},
           .summary = "the same with Heun's weights",
           .order = 2,
           .draws = Draws::always,
           .schedule = "exponential",
           .options = noise_options(1),
           .brownian = {.comfyui = true, .a1111 = true},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = heun_step,
           .prepare = finite_start},
          {.name = "dpmpp_3m_sde",
           .aliases = {"DPM++ 3M SDE", "dpmpp_3m_sde_gpu", "k_dpmpp_3m_sde"},
           .summary = "DPM-Solver++ on the SDE with two earlier estimates, multistep",
           .order = 2,
           .draws = Draws::always,
           .schedule = "exponential",
           .options = noise_options(1),
           .drops_penultimate = {.a1111 = true},
           .brownian = {.comfyui = true, .a1111 = true},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = third_order_step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
