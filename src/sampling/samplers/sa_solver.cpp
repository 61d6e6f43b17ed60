#include <algorithm>
#include <cmath>

#include "sampling/steps/exponential.h"
#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

// Weights of the estimates at `lambdas` for a step from λ to λ', so that polynomials through them are integrated exactly:
//   α'·∫ (1 + τ²)·e^((1 + τ²)(u − λ'))·Lⱼ(u) du
std::vector<double> adams_weights(std::vector<double> lambdas, double from, double to, double alpha, double tau) {
  const double m = 1 + tau * tau, h = to - from;
  for (double& l : lambdas) l -= to;
  std::vector<double> moments;  // of u^p with u = λ − λ'
  for (size_t p = 0; p < lambdas.size(); ++p) {
    const double end = p == 0 ? -std::expm1(-m * h) : -std::pow(-h, double(p)) * std::exp(-m * h);
    moments.push_back(p == 0 ? end : end - double(p) / m * moments[p - 1]);
  }
  std::vector<double> weights;
  for (size_t j = 0; j < lambdas.size(); ++j) {
    const std::vector<double> polynomial = lagrange_basis(lambdas, j);
    double sum = 0;
    for (size_t p = 0; p < polynomial.size(); ++p) sum += polynomial[p] * moments[p];
    weights.push_back(alpha * sum);
  }
  return weights;
}

double tau_at(const Run& run, const Level& level) {
  const Path& path = run.schedule.path;
  const double sigma = path.coordinate(level), eta = run.option("eta");
  if (eta == 0) return 0;
  return sigma <= path.sigma_at(run.option("tau_start")) && sigma >= path.sigma_at(run.option("tau_end")) ? eta : 0;
}

// To the level `to` of step `i` from the estimates (newest first; the newest at the λ where step `newest` starts).
Tensor adams(const Run& run, const Tensor& x, std::span<const Tensor> estimates, int64_t newest, int64_t i, double tau) {
  const Step& step = run.schedule.steps[size_t(i)];
  std::vector<double> lambdas;
  for (size_t k = 0; k < estimates.size(); ++k) lambdas.push_back(lambda(run.schedule.steps[size_t(newest) - k].from));
  const double from = lambda(step.from), to = lambda(step.to), h = to - from;
  const std::vector<double> weights = adams_weights(lambdas, from, to, step.to.alpha, tau);
  const Tensor kept = combine({x}, {step.to.sigma / step.from.sigma * std::exp(-tau * tau * h)});
  return advanced(kept, estimates, weights);
}

// Xue et al. 2023 (arXiv 2309.05019), SA-Solver: a stochastic Adams predictor of order 3, and a corrector of order 4 that repeats the
// last step with the new estimate and the same noise. History: x at the start of the last step, the estimates, newest first, and
// finally its noise, if there was any. Memory: τ of the last step, whether there was noise.
enum { last_tau, has_noise };

void step_of(State& s, const Run& run, bool evaluate_again) {
  const auto& [at, from, to] = run.step(s);
  const auto steps = int64_t(run.schedule.steps.size());
  const bool to_zero = run.schedule.steps.back().to.sigma == 0;
  const auto left = [&](int64_t most) { return to_zero ? most : steps; };  // orders decrease towards the end
  Tensor base, noise;
  std::vector<Tensor> estimates;
  if (!s.history.empty()) {
    base = s.history.front();
    if (s.memory[has_noise] != 0) noise = s.history.back();
    estimates.assign(s.history.begin() + 1, s.history.end() - (noise ? 1 : 0));
  }
  Tensor x0 = run.denoise(s.x, at).x0;
  const auto predictor = int64_t(run.option("predictor_order")), corrector = int64_t(run.option("corrector_order"));
  remember(estimates, x0, size_t(std::max(predictor, corrector)));
  const auto known = int64_t(estimates.size());

  Tensor x = s.x;
  if (s.step > 0 && (to.sigma > 0 || evaluate_again)) {
    const auto order = size_t(std::min({corrector, known, left(steps - s.step)}));
    if (order > 0) {
      x = adams(run, base, std::span(estimates).first(order), s.step, s.step - 1, s.memory[last_tau]);
      if (noise) x = combine({x, noise}, {1, 1});
      if (evaluate_again) {
        x = run.between_calls(x, at);
        estimates[0] = x0 = run.denoise(x, at).x0;
      }
    }
  }
  if (to.sigma == 0) {
    s.x = x0;
    return;
  }
  const double tau = tau_at(run, to);
  const auto order = size_t(std::min({predictor, known, left(steps - 1 - s.step)}));
  s.x = adams(run, x, std::span(estimates).first(order), s.step, s.step, tau);
  noise = {};
  const double size = to.sigma * fresh_part(lambda(to) - lambda(from), tau * tau) * run.option("s_noise");
  if (size > 0) {
    const Path& path = run.schedule.path;
    noise = combine({run.noise.between(x.backend(), x.shape(), path.coordinate(from), path.coordinate(to))}, {size});
    s.x = combine({s.x, noise}, {1, 1});
  }
  s.history = {x};
  s.history.insert(s.history.end(), estimates.begin(), estimates.end());
  if (noise) s.history.push_back(noise);
  s.memory = {tau, noise ? 1.0 : 0.0};
}

void step(State& s, const Run& run) { step_of(s, run, false); }
void pece_step(State& s, const Run& run) { step_of(s, run, true); }

std::vector<Option> options() {
  return {{.name = "eta", .summary = "tau, amount of noise inside the interval", .standard = 1, .most = 10},
          {.name = "tau_start", .summary = "fraction of the run at which tau starts", .standard = 0.2, .most = 1},
          {.name = "tau_end", .summary = "fraction of the run at which tau ends", .standard = 0.8, .most = 1},
          {.name = "predictor_order",
           .summary = "number of estimates that the predictor uses",
           .standard = 3,
           .least = 1,
           .most = 6,
           .whole = true},
          {.name = "corrector_order",
           .summary = "number of estimates that the corrector uses; 0: none",
           .standard = 4,
           .least = 0,
           .most = 6,
           .whole = true},
          {.name = "s_noise", .summary = "factor of the step noise", .standard = 1}};
}

}  // namespace

std::vector<Sampler> sa_solver_rows() {
  return {{.name = "sa_solver",
           .aliases = {"SA-Solver"},
           .summary = "stochastic Adams solver, predictor and corrector",
           .order = 4,
           .draws = Draws::always,
           .options = options(),
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = step,
           .prepare = finite_start},
          {.name = "sa_solver_pece",
           .aliases = {"SA-Solver PECE"},
           .summary = "the same with another denoiser call after the correction",
           .order = 4,
           .calls = "2n-1",
           .draws = Draws::always,
           .options = options(),
           .programs = {.comfyui = true},
           .scheduler = SchedulerClass::euler,
           .step = pece_step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
