#include <algorithm>
#include <cmath>

#include "sampling/steps/dpm.h"
#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

// ∫ e^(rate·λ)·λᵖ dλ over [a, b].
double integral(double rate, int power, double a, double b) {
  const auto primitive = [&](double l) {
    double sum = 0, term = 1 / rate;
    for (int p = power; p >= 0; --p) {
      sum += term * std::pow(l, p);
      term *= -double(p) / rate;
    }
    return std::exp(rate * l) * sum;
  };
  return primitive(b) - primitive(a);
}

// Coefficients, highest power first, of the polynomial that is 1 at nodes[j] and 0 at the others.
std::vector<double> lagrange(const std::vector<double>& nodes, size_t j) {
  std::vector<double> p{1};
  for (size_t k = 0; k < nodes.size(); ++k) {
    if (k == j) continue;
    p.push_back(0);
    for (size_t i = p.size() - 1; i > 0; --i) p[i] -= nodes[k] * p[i - 1];
    for (double& c : p) c /= nodes[j] - nodes[k];
  }
  return p;
}

struct Update {
  const Level &from, &to;
  double tau;
  bool corrects;
};

// x at `to`, from x at `from`, the estimates at `nodes` (in λ, newest first) and one draw of noise.
Tensor updated(const Run& run, const Update& u, const Tensor& x, const std::vector<Tensor>& estimates, const std::vector<double>& nodes,
               const Tensor& noise) {
  const bool data = run.option("algorithm_type") == 0;
  const double begin = lambda(u.from), end = lambda(u.to), h = end - begin, tau2 = u.tau * u.tau, rate = 1 + tau2;
  const double damped = u.tau > 0 ? std::exp(-tau2 * h) : 1;  // h is infinite if `to` has no noise
  std::vector<double> weights{data ? damped * u.to.sigma / u.from.sigma : u.to.alpha / u.from.alpha};
  std::vector<Tensor> terms{x};
  if (nodes.size() == 1) {
    terms.push_back(estimates[0]);
    weights.push_back(data ? -u.to.alpha * std::expm1(-rate * h) : rate * (u.to.sigma - u.to.alpha * u.from.sigma / u.from.alpha));
  } else {
    const double size = data ? rate * u.to.sigma * std::exp(-tau2 * end) : -rate * u.to.alpha;
    for (size_t j = 0; j < nodes.size(); ++j) {
      const std::vector<double> p = lagrange(nodes, j);
      double c = 0;
      for (size_t i = 0; i < p.size(); ++i) c += p[i] * integral(data ? rate : -1, int(p.size() - 1 - i), begin, end);
      if (data && nodes.size() == 2) {  // appendix: the second order with a better constant
        const double rest = (h * rate - 1 + std::exp(-rate * h)) / (rate * rate);
        const double better = std::exp(rate * end) * (u.corrects ? h / 2 - rest / h : (h * h / 2 - rest) / (begin - nodes[1]));
        c += j == 0 ? better : -better;
      }
      terms.push_back(estimates[j]), weights.push_back(size * c);
    }
  }
  const double fresh = data ? u.to.sigma * std::sqrt(-std::expm1(-2 * tau2 * h)) : u.tau * u.to.sigma * std::sqrt(std::expm1(2 * h));
  if (u.tau > 0 && fresh > 0) terms.push_back(noise), weights.push_back(fresh);
  return combine(terms, weights);
}

// Xue et al. 2023 (arXiv 2309.05019), as in diffusers' SASolverScheduler: each step first corrects the previous one, with that one's noise,
// then predicts the next, with step noise (τ = 1) at timesteps between 200 and 800. History: the estimates, newest first, then x before the
// previous step and its noise; memory: the orders of the previous step's correction.
void step(State& s, const Run& run) {
  const auto& steps = run.schedule.steps;
  const size_t i = size_t(s.step);
  const auto& [at, from, to] = steps[i];
  const auto tau_at = [](const Level& level) { return level.timestep >= 200 && level.timestep <= 800 ? 1.0 : 0.0; };
  const auto most = [&](std::string_view option) { return int64_t(run.option(option)); };
  const int64_t kept = std::max(most("predictor_order"), most("corrector_order") - 1), left = int64_t(steps.size()) - s.step;
  const Tensor x0 = run.denoise(s.x, at).x0;
  const Tensor m = run.option("algorithm_type") == 0 ? x0 : dpm_estimate(DpmAlgorithm::noise, s.x, x0, at);

  Tensor before, last_noise;
  if (i > 0) {
    last_noise = s.history.back(), s.history.pop_back();
    before = s.history.back(), s.history.pop_back();
  }
  s.history.insert(s.history.begin(), m);
  const auto nodes = [&](size_t count) {
    std::vector<double> all;
    for (size_t k = 0; k < count; ++k) all.push_back(lambda(steps[i - k].from));
    return all;
  };
  if (i > 0) {
    const Level& start = steps[i - 1].from;
    s.x = updated(run, {start, from, tau_at(steps[i - 1].at), true}, before, s.history, nodes(size_t(s.memory[0])), last_noise);
  }
  if (int64_t(s.history.size()) > kept) s.history.pop_back();

  const bool lower = run.option("lower_order_final") != 0;
  const int64_t known = std::min(s.step, kept);
  int64_t predictor = std::min(most("predictor_order"), known + 1), corrector = std::min(most("corrector_order"), known + 2);
  if (lower) predictor = std::min(predictor, left), corrector = std::min(corrector, left + 1);
  if (to.sigma == 0) predictor = 1;  // ln(α/σ) is infinite there
  const Tensor noise = run.noise(s.x.backend(), s.x.shape());
  const Tensor x = s.x;
  s.x = updated(run, {from, to, tau_at(at), false}, x, s.history, nodes(size_t(predictor)), noise);
  s.history.push_back(x), s.history.push_back(noise);
  s.memory = {double(corrector)};
}

}  // namespace

std::vector<Sampler> sa_solver_vp_rows() {
  return {{.name = "sa_solver_vp",
           .summary = "SA-Solver as in diffusers: noise from timestep 800 to 200",
           .order = 2,
           .draws = Draws::always,
           .options = {{.name = "predictor_order", .summary = "of the prediction", .standard = 2, .least = 1, .most = 4, .whole = true},
                       {.name = "corrector_order", .summary = "of the correction", .standard = 2, .least = 1, .most = 4, .whole = true},
                       {.name = "algorithm_type",
                        .summary = "quantity that is integrated",
                        .most = 1,
                        .whole = true,
                        .choices = {sa_algorithms[0], sa_algorithms[1]}},
                       {.name = "lower_order_final", .summary = "lower the order at the end", .standard = 1, .most = 1, .whole = true}},
           .scheduler = SchedulerClass::sa_solver,
           .step = step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
