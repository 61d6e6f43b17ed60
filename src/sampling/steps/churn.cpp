#include "sampling/steps/churn.h"

#include <cmath>

namespace hearth::sampling {

Level churn(State& s, const Run& run) {
  const Level& at = run.step(s).at;
  const double sigma = at.sigma;
  if (run.option("s_churn") == 0 || sigma < run.option("s_tmin") || sigma > run.option("s_tmax")) return at;
  const double gamma = std::min(run.option("s_churn") / double(run.schedule.steps.size()), std::sqrt(2.0) - 1);
  const double lifted = sigma * (1 + gamma);
  s.x = run.add_noise(s.x, run.option("s_noise") * std::sqrt(lifted * lifted - sigma * sigma));
  return run.schedule.path.at(lifted);
}

std::vector<Option> churn_options() {
  return {{.name = "s_churn", .summary = "amount of noise added before a step", .standard = 0},
          {.name = "s_tmin", .summary = "no churn below this sigma", .standard = 0},
          {.name = "s_tmax", .summary = "no churn above this sigma", .standard = std::numeric_limits<double>::infinity()},
          {.name = "s_noise", .summary = "factor of the step noise", .standard = 1}};
}

}  // namespace hearth::sampling
