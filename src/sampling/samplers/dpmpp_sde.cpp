#include <cmath>

#include "sampling/steps/ancestral.h"
#include "sampling/steps/exponential.h"

namespace hearth::sampling {
namespace {

// To `to` along x̂₀ with its own ancestral split in σ/α, and the path's noise.
Tensor stochastic_step(const Run& run, const Tensor& x, const Tensor& x0, const Level& from, const Level& to) {
  const AncestralSplit split = exploding_split(from.sigma / from.alpha, to.sigma / to.alpha, run.option("eta"));
  const Tensor moved = towards(x, x0, from, to.alpha, to.alpha * split.down);
  const Path& path = run.schedule.path;
  return run.add_noise_between(moved, to.alpha * split.up * run.option("s_noise"), path.coordinate(from), path.coordinate(to));
}

// DPM-Solver++ (Lu et al. 2022, arXiv 2211.01095), second order, singlestep, on the SDE, as in k-diffusion: two stages, each with its own
// split; D' = (1 − 1/(2r))·x̂₀ + 1/(2r)·x̂₀(middle).
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const Tensor x0 = run.denoise(s.x, at).x0;
  if (to.sigma == 0) {
    s.x = x0;
    return;
  }
  const double r = run.option("r"), part = 1 / (2 * r);
  const Level middle = run.schedule.path.at_lambda(lambda(from) + r * (lambda(to) - lambda(from)));
  const Tensor x_2 = run.between_calls(stochastic_step(run, s.x, x0, from, middle), to);
  const Tensor mixed = combine({x0, run.denoise(x_2, middle).x0}, {1 - part, part});
  s.x = stochastic_step(run, s.x, mixed, from, to);
}

}  // namespace

std::vector<Sampler> dpmpp_sde_rows() {
  std::vector<Option> options = noise_options(1);
  options.push_back({.name = "r", .summary = "position of the second evaluation in the step", .standard = 0.5, .least = 0.01, .most = 1});
  return {{.name = "dpmpp_sde",
           .aliases = {"DPM++ SDE", "dpmpp_sde_gpu", "k_dpmpp_sde"},
           .summary = "DPM-Solver++ on the SDE, second order, singlestep",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::always,
           .schedule = "karras",
           .options = options,
           .brownian = {.comfyui = true, .a1111 = true},
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step,
           .prepare = finite_start}};
}

}  // namespace hearth::sampling
