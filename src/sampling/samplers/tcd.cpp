#include <cmath>

#include "core/error.h"
#include "sampling/steps/dpm.h"

namespace hearth::sampling {
namespace {

// Zheng et al. 2024 (arXiv 2402.19159), strategic stochastic sampling: down to the level of s = ⌊(1 − eta)·t'⌋ without noise, then up to
// that of t' with step noise.
void step(State& s, const Run& run) {
  const auto& [at, from, to] = run.step(s);
  const double eta = run.option("eta");
  Level lower = to;
  if (eta > 0 && !run.last(s)) {
    const auto& table = run.schedule.path.table;
    if (!table) fail<UnsupportedError>("sampler 'tcd': eta is {}, which requires a network with a noise table, expected 0", eta);
    const double t = std::floor((1 - eta) * double(to.timestep));
    lower = Level::of_alpha_bar(double(table->alphas_cumprod[size_t(t)]), float(t));
  }
  s.x = towards(s.x, run.denoise(s.x, at).x0, from, lower.alpha, lower.sigma);
  if (eta == 0 || run.last(s)) return;
  const double keep = to.alpha / lower.alpha;
  s.x = run.add_noise(combine({s.x}, {keep}), std::sqrt(1 - keep * keep));
}

}  // namespace

std::vector<Sampler> tcd_rows() {
  return {{.name = "tcd",
           .summary = "for trajectory consistency models; 0.3 is a usual eta",
           .draws = Draws::on_request,
           .options = {{.name = "eta", .summary = "share of each step that is noise", .most = 1}},
           .scheduler = SchedulerClass::tcd,
           .step = step}};
}

}  // namespace hearth::sampling
