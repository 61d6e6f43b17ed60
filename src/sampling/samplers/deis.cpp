#include <cmath>

#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

// Times of a variance-preserving diffusion, σ from 0.002 to 80: ln ᾱ(t) = −t²·rise/2 − t·start.
constexpr double eps = 1e-3;
const double low = std::log(0.002 * 0.002 + 1), high = std::log(80.0 * 80.0 + 1);
const double rise = 2 * (low / eps - high) / (eps - 1), start = high - rise / 2;

double time_of(double sigma) { return (std::sqrt(start * start + 2 * rise * std::log(sigma * sigma + 1)) - start) / rise; }

// −½·(ln ᾱ)'/√(ᾱ(1 − ᾱ)) = dσ/dt, with which slopes are integrated over time.
double speed(double t) {
  const double alpha_bar = std::exp(-t * t * rise / 2 - t * start);
  return (t * rise + start) / 2 / std::sqrt(alpha_bar * (1 - alpha_bar));
}

// Weights of the slopes at `nodes`: the integral of speed times the polynomials through them, a sum of 10 000 points.
std::vector<double> integrals(const std::vector<double>& nodes, double from, double to) {
  constexpr int points = 10000;
  std::vector<double> weights;
  for (size_t j = 0; j < nodes.size(); ++j) {
    double sum = 0;
    for (int i = 0; i < points; ++i) {
      const double t = from + (to - from) * i / (points - 1);
      double polynomial = 1;
      for (size_t k = 0; k < nodes.size(); ++k)
        if (k != j) polynomial *= (t - nodes[k]) / (nodes[j] - nodes[k]);
      sum += speed(t) * polynomial;
    }
    weights.push_back(sum * (to - from) / points);
  }
  return weights;
}

// Zhang & Chen 2022 (arXiv 2204.13902), tAB-DEIS on σ. History: the slopes, newest first.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  remember(s.history, slope(s.x, run.denoise(s.x, at).x0, from.sigma), size_t(run.option("max_order")));
  if (s.history.size() == 1 || to.sigma == 0) {
    s.x = combine({s.x, s.history[0]}, {1, to.sigma - from.sigma});
    return;
  }
  std::vector<double> nodes = last_sigmas(s, run, s.history.size());
  for (double& node : nodes) node = time_of(node);
  s.x = advanced(s.x, s.history, integrals(nodes, nodes[0], time_of(to.sigma)));
}

}  // namespace

std::vector<Sampler> deis_rows() {
  return {{.name = "deis",
           .aliases = {"DEIS", "k_deis"},
           .summary = "DEIS: polynomial in time through the last slopes",
           .order = 3,
           .options =
               {{.name = "max_order", .summary = "number of slopes that a step uses", .standard = 3, .least = 1, .most = 4, .whole = true}},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step}};
}

}  // namespace hearth::sampling
