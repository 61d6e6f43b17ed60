#include <cmath>

#include "sampling/steps/multistep.h"

namespace hearth::sampling {
namespace {

enum LastStep { integrated, denoised };

// Linear multistep (Adams–Bashforth on uneven steps), as Katherine Crowson's: the integral over the step of the polynomial through the
// last slopes. History: the slopes, newest first. In a diffusers run that starts from an image, the polynomial also has nodes at the
// skipped steps, whose slopes are missing from the sum.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (to.sigma == 0 && run.option("last_step") == double(denoised)) {
    s.x = x0;
    return;
  }
  const auto order = size_t(run.option("order"));
  remember(s.history, slope(s.x, x0, from.sigma), order);
  std::vector<double> nodes = last_sigmas(s, run, s.history.size()), weights;
  for (const double sigma : run.schedule.left_out)
    if (nodes.size() < order) nodes.push_back(sigma);
  for (double& node : nodes) node -= from.sigma;
  const double end = to.sigma - from.sigma;
  for (size_t j = 0; j < s.history.size(); ++j) {
    const std::vector<double> polynomial = lagrange_basis(nodes, j);
    double integral = 0;
    for (size_t p = 0; p < polynomial.size(); ++p) integral += polynomial[p] * std::pow(end, double(p + 1)) / double(p + 1);
    weights.push_back(integral);
  }
  s.x = advanced(s.x, s.history, weights);
}

}  // namespace

std::vector<Sampler> lms_rows() {
  return {
      {.name = "lms",
       .aliases = {"LMS", "k_lms"},
       .summary = "linear multistep: a polynomial through the last four slopes",
       .order = 4,
       .options =
           {{.name = "order", .summary = "slopes that the polynomial goes through", .standard = 4, .least = 1, .most = 8, .whole = true},
            {.name = "last_step",
             .summary = "step to sigma 0: integrated like any step (k-diffusion, diffusers), or the denoised estimate (ComfyUI)",
             .most = 1,
             .whole = true,
             .choices = {"integrated", "denoised"}}},
       .programs = {.comfyui = true, .a1111 = true},
       .in_comfyui = {{"last_step", denoised}},
       .scheduler = SchedulerClass::euler,
       .step = step}};
}

}  // namespace hearth::sampling
