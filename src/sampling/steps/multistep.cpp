#include "sampling/steps/multistep.h"

namespace hearth::sampling {

Tensor slope(const Tensor& x, const Tensor& x0, double sigma) { return combine({x, x0}, {1 / sigma, -1 / sigma}); }

void remember(std::vector<Tensor>& history, const Tensor& newest, size_t most) {
  history.insert(history.begin(), newest);
  if (history.size() > most) history.resize(most);
}

Tensor advanced(const Tensor& x, std::span<const Tensor> history, std::span<const double> weights) {
  std::vector<Tensor> terms{x};
  std::vector<double> factors{1};
  for (size_t i = 0; i < weights.size(); ++i) terms.push_back(history[i]), factors.push_back(weights[i]);
  return combine(terms, factors);
}

std::vector<double> lagrange_basis(std::span<const double> nodes, size_t j) {
  std::vector<double> c{1};
  for (size_t k = 0; k < nodes.size(); ++k) {
    if (k == j) continue;
    const double scale = 1 / (nodes[j] - nodes[k]);
    c.push_back(0);
    for (size_t p = c.size(); p-- > 0;) c[p] = ((p > 0 ? c[p - 1] : 0) - nodes[k] * c[p]) * scale;
  }
  return c;
}

std::vector<double> last_sigmas(const State& s, const Run& run, size_t count) {
  std::vector<double> sigmas;
  for (size_t k = 0; k < count; ++k) sigmas.push_back(run.schedule.steps[size_t(s.step) - k].from.sigma);
  return sigmas;
}

}  // namespace hearth::sampling
