#include <cmath>

#include "sampling/sampler.h"

namespace hearth::sampling {
namespace {

// Luo et al. 2023 (arXiv 2310.04378): each step goes to x̂₀ and adds noise of the next level. If time is scaled, x̂₀ is mixed
// with x so that it equals x at time 0 (section 3, with σ_data = ½).
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  Tensor x0 = run.denoise(s.x, at).x0;
  if (const double scaling = run.option("timestep_scaling"); scaling > 0) {
    const double tau = scaling * double(at.timestep), r = std::sqrt(tau * tau + 0.25);
    x0 = combine({x0, s.x}, {tau / r, 0.25 / (r * r)});
  }
  s.x = run.add_noise(to.alpha == 1 ? x0 : combine({x0}, {to.alpha}), to.sigma * run.option("s_noise"));
}

}  // namespace

std::vector<Sampler> lcm_rows() {
  return {{.name = "lcm",
           .aliases = {"LCM", "k_lcm"},
           .summary = "for latent consistency models: estimate plus noise of the next level",
           .draws = Draws::always,
           .options = {{.name = "s_noise", .summary = "factor of the step noise", .standard = 1},
                       {.name = "timestep_scaling", .summary = "of the boundary condition at time 0; 0: none (ComfyUI)"}},
           .programs = {.comfyui = true, .a1111 = true},
           .a1111_levels = A1111Levels::distilled,
           .in_a1111 = {{"timestep_scaling", 10}},
           .scheduler = SchedulerClass::euler,
           .step = step}};
}

}  // namespace hearth::sampling
