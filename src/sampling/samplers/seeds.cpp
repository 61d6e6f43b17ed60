#include <cmath>

#include "sampling/steps/ancestral.h"
#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

// Gonzalez et al. 2023 (arXiv 2305.14267): stochastic explicit exponential derivative-free solvers. Stages at fractions r of the step in λ;
// with g = h·(1 + eta) a stage is
//   x_r = (σ_r/σ)·e^(−r·h·eta)·x − α_r·Σ weight·x̂₀ + σ_r·s_noise·n_r
// where the noises n_r of the stages are on one path: n_r' = e^((r − r')·h·eta)·n_r + √(1 − e^(2(r − r')·h·eta))·new.
struct Seeds {
  const Run& run;
  const Tensor x;
  const Level from;
  double h, eta, s_noise, part = 0, sigma = 0;  // the current position on the noise's path
  Tensor noise;                                 // n at `part`

  Seeds(const State& s, const Run& r, double with_eta)
      : run(r),
        x(s.x),
        from(r.step(s).from),
        h(lambda(r.step(s).to) - lambda(from)),
        eta(with_eta),
        s_noise(eta > 0 ? r.option("s_noise") : 0) {}

  double g() const { return h * (1 + eta); }
  Level level(double r) const { return run.schedule.path.at_lambda(lambda(from) + r * h); }

  Tensor stage(double r, const Level& at, std::initializer_list<Tensor> estimates, std::initializer_list<double> weights) {
    std::vector<Tensor> terms{x};
    std::vector<double> factors{at.sigma / from.sigma * std::exp(-r * h * eta)};
    for (const Tensor& t : estimates) terms.push_back(t);
    for (const double w : weights) factors.push_back(-at.alpha * w);
    if (s_noise > 0) {
      move_noise(r, at);
      terms.push_back(noise);
      factors.push_back(at.sigma * s_noise);
    }
    return combine(terms, factors);
  }

 private:
  void move_noise(double r, const Level& at) {
    const Path& path = run.schedule.path;
    const double before = part == 0 ? path.coordinate(from) : sigma, after = path.coordinate(at);
    if (r > part) {
      const double fresh = std::sqrt(-std::expm1(2 * (part - r) * h * eta));
      const Tensor drawn = run.noise.between(x.backend(), x.shape(), before, after);
      noise = part == 0 ? combine({drawn}, {fresh}) : combine({noise, drawn}, {std::exp((part - r) * h * eta), fresh});
    }
    part = r, sigma = after;
  }
};

enum class Weights { halves, phi };  // of the second stage: 1/(2r), or by φ₂

void two_stages(State& s, const Run& run, double r, double eta, Weights weights) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (to.sigma == 0) {
    s.x = x0;
    return;
  }
  Seeds solver(s, run, eta);
  const double g = solver.g(), whole = std::expm1(-g);
  const Level middle = r == 1 ? to : solver.level(r);
  const Tensor x_2 = run.between_calls(solver.stage(r, middle, {x0}, {std::expm1(-r * g)}), middle);
  const Tensor x0_2 = run.denoise(x_2, middle).x0;
  const double b_2 = weights == Weights::halves ? whole / (2 * r) : psi(-g) / r;
  s.x = solver.stage(1, to, {x0, x0_2}, {whole - b_2, b_2});
}

void seeds_2(State& s, const Run& run) {
  two_stages(s, run, run.option("r"), run.option("eta"), run.option("solver_type") == 0 ? Weights::halves : Weights::phi);
}
void exp_heun(State& s, const Run& run) { two_stages(s, run, 1, 0, Weights::phi); }
void exp_heun_sde(State& s, const Run& run) { two_stages(s, run, 1, run.option("eta"), Weights::phi); }

void seeds_3(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (to.sigma == 0) {
    s.x = x0;
    return;
  }
  const double r_1 = run.option("r_1"), r_2 = run.option("r_2");
  Seeds solver(s, run, run.option("eta"));
  const double g = solver.g();
  const Level first = solver.level(r_1), second = solver.level(r_2);
  const Tensor x_2 = run.between_calls(solver.stage(r_1, first, {x0}, {std::expm1(-r_1 * g)}), first);
  const Tensor x0_2 = run.denoise(x_2, first).x0;
  const double a = r_2 / r_1 * psi(-r_2 * g);
  const Tensor x_3 = run.between_calls(solver.stage(r_2, second, {x0, x0_2}, {std::expm1(-r_2 * g) - a, a}), second);
  const Tensor x0_3 = run.denoise(x_3, second).x0;
  const double b = psi(-g) / r_2;
  s.x = solver.stage(1, to, {x0, x0_3}, {std::expm1(-g) - b, b});
}

Option part(std::string_view name, double standard, double most) {
  return {.name = name, .summary = "position of an evaluation in the step", .standard = standard, .least = 0.01, .most = most};
}

std::vector<Option> with(std::vector<Option> more) {
  std::vector<Option> all = noise_options(1);
  for (Option& o : more) all.push_back(o);
  return all;
}

}  // namespace

std::vector<Sampler> seeds_rows() {
  return {{.name = "seeds_2",
           .aliases = {"SEEDS-2"},
           .summary = "SEEDS, second order",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::always,
           .options = with({part("r", 0.5, 1),
                            {.name = "solver_type",
                             .summary = "weights of the second evaluation",
                             .most = 1,
                             .whole = true,
                             .choices = {"phi_1", "phi_2"}}}),
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = seeds_2,
           .prepare = finite_start},
          {.name = "seeds_3",
           .aliases = {"SEEDS-3"},
           .summary = "SEEDS, third order",
           .order = 3,
           .calls = "3n-2",
           .draws = Draws::always,
           .options = with({part("r_1", 1 / 3., 1), part("r_2", 2 / 3., 1)}),
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = seeds_3,
           .prepare = finite_start},
          {.name = "exp_heun_2_x0",
           .summary = "exponential Heun: second evaluation at the end of the step",
           .order = 2,
           .calls = "2n-1",
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = exp_heun,
           .prepare = finite_start},
          {.name = "exp_heun_2_x0_sde",
           .summary = "the same on the SDE",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::always,
           .options = noise_options(1),
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = exp_heun_sde,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
