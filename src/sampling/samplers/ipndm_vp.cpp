#include <algorithm>

#include "sampling/steps/dpm.h"

namespace hearth::sampling {
namespace {

// Liu et al. 2022 (arXiv 2202.09778), Adams–Bashforth of order up to 4 on the estimated noise, without starting steps, as in diffusers'
// IPNDMScheduler on its own trigonometric schedule. History: the estimated noise, newest first.
void step(State& s, const Run& run) {
  static const std::vector<double> orders[] = {
      {1}, {3 / 2., -1 / 2.}, {23 / 12., -16 / 12., 5 / 12.}, {55 / 24., -59 / 24., 37 / 24., -9 / 24.}};
  const auto& [at, from, to] = run.step(s);
  s.history.insert(s.history.begin(), dpm_estimate(DpmAlgorithm::noise, s.x, run.denoise(s.x, at).x0, at));
  // x' = α'·(x − σ·ε)/α + σ'·ε; at the first level α is 0, and so is x − σ·ε.
  const double keep = to.alpha / std::max(from.alpha, 1e-8), turn = to.sigma - keep * from.sigma;
  if (from.alpha == 0) {
    s.x = combine({s.history[0]}, {to.sigma});
  } else {
    std::vector<Tensor> terms{s.x};
    std::vector<double> weights{keep};
    for (size_t k = 0; k < s.history.size(); ++k) terms.push_back(s.history[k]), weights.push_back(turn * orders[s.history.size() - 1][k]);
    s.x = combine(terms, weights);
  }
  if (s.history.size() > 3) s.history.pop_back();
}

}  // namespace

std::vector<Sampler> ipndm_vp_rows() {
  return {{.name = "ipndm_vp",
           .summary = "IPNDM on the schedule of diffusers' class",
           .order = 2,  // the order of its first steps
           .scheduler = SchedulerClass::ipndm,
           .step = step}};
}

}  // namespace hearth::sampling
