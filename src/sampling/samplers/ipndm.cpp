#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

// History: the slopes, newest first. Returns false at the last step, which sets x to x̂₀.
bool remember_slope(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (to.sigma == 0) {
    s.x = x0;
    return false;
  }
  remember(s.history, slope(s.x, x0, from.sigma), size_t(run.option("max_order")));
  return true;
}

void advance(State& s, const Run& run, std::vector<double> weights) {
  const Step& step = run.step(s);
  for (double& w : weights) w *= step.to.sigma - step.from.sigma;
  s.x = advanced(s.x, s.history, weights);
}

// Zhang & Chen 2022 (arXiv 2204.13902), improved PNDM: the Adams–Bashforth weights of equal steps.
void step(State& s, const Run& run) {
  static const std::vector<double> weights[] = {
      {1}, {3 / 2., -1 / 2.}, {23 / 12., -16 / 12., 5 / 12.}, {55 / 24., -59 / 24., 37 / 24., -9 / 24.}};
  if (remember_slope(s, run)) advance(s, run, weights[s.history.size() - 1]);
}

// The same with weights for the steps' actual lengths, as in Zhou et al.'s diff-sampler: the history's terms are
// divided differences, higher ones in the authors' own approximation.
void variable_step(State& s, const Run& run) {
  if (!remember_slope(s, run)) return;
  const size_t order = s.history.size();
  const double h = run.step(s).to.sigma - run.step(s).from.sigma;
  const std::vector<double> sigmas = last_sigmas(s, run, order);
  const auto length = [&](size_t k) { return sigmas[k - 1] - sigmas[k]; };  // of the k-th step before this one
  std::vector<double> c(order, 0.0);
  c[0] = 1;
  if (order > 1) c[0] = (2 + h / length(1)) / 2, c[1] = -h / length(1) / 2;
  if (order > 2) {
    const double h_1 = length(1), h_2 = length(2);
    const double t = (1 - h / (3 * (h + h_1)) * (h * (h + h_1)) / (h_1 * (h_1 + h_2))) / 2;
    c[0] += t, c[1] -= (1 + h_1 / h_2) * t, c[2] += t * h_1 / h_2;
    if (order > 3) {
      const double h_3 = length(3), q = h_1 * (h_1 + h_2) / (h_2 * (h_2 + h_3));
      const double u = ((1 - h / (3 * (h + h_1))) / 2 + (1 - h / (2 * (h + h_1))) * h / (6 * (h + h_1 + h_2))) *
                       (h * (h + h_1) * (h + h_1 + h_2)) / (h_1 * (h_1 + h_2) * (h_1 + h_2 + h_3));
      c[0] += u, c[1] -= (1 + h_1 / h_2 + q) * u, c[2] += (h_1 / h_2 + q * (1 + h_2 / h_3)) * u, c[3] -= u * q * h_1 / h_2;
    }
  }
  advance(s, run, c);
}

const Option max_order{
    .name = "max_order", .summary = "number of slopes that a step uses", .standard = 4, .least = 1, .most = 4, .whole = true};

}  // namespace

std::vector<Sampler> ipndm_rows() {
  return {{.name = "ipndm",
           .aliases = {"IPNDM", "k_ipndm"},
           .summary = "improved PNDM: Adams-Bashforth on slopes, weights of even steps",
           .order = 2,
           .options = {max_order},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step},
          {.name = "ipndm_v",
           .aliases = {"IPNDM_V", "k_ipndm_v"},
           .summary = "the same with weights of the steps' lengths",
           .order = 3,
           .options = {max_order},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = variable_step}};
}

}  // namespace hearth::sampling
