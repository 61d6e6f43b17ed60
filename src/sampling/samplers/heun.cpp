#include "sampling/steps/churn.h"
#include "sampling/steps/heun_step.h"

namespace hearth::sampling {
namespace {

void step(State& s, const Run& run) {
  const Level at = churn(s, run);  // adds its noise to s.x
  s.x = heun_step(run, s.x, at, run.step(s).to);
}

}  // namespace

std::vector<Sampler> heun_rows() {
  return {{.name = "heun",
           .aliases = {"Heun", "k_heun"},
           .summary = "Heun's method: Euler, corrected at the end of the step",
           .order = 2,
           .calls = "2n-1",
           .draws = Draws::on_request,
           .options = churn_options(),
           .programs = {.comfyui = true, .a1111 = true},
           .scheduler = SchedulerClass::euler,
           .step = step}};
}

}  // namespace hearth::sampling
