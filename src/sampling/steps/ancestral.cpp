#include "sampling/steps/ancestral.h"

#include <algorithm>
#include <cmath>

namespace hearth::sampling {

AncestralSplit exploding_split(double from, double to, double eta) {
  const double ratio = to / from;
  const double up = std::min(to, eta * to * std::sqrt(std::max(0.0, 1 - ratio * ratio)));
  return {std::sqrt(to * to - up * up), up, 1};
}

AncestralSplit ancestral_split(const Path& path, double from, double to, double eta) {
  if (path.family != Family::flow) return exploding_split(from, to, eta);
  if (eta == 0 || to == 0) return {to, 0, 1};
  const double down = to * std::max(0.0, 1 + (to / from - 1) * eta), rescale = (1 - to) / (1 - down), left = down * rescale;
  return {down, std::sqrt(std::max(0.0, to * to - left * left)), rescale};
}

Tensor renoised(const Run& run, const Tensor& x, const AncestralSplit& split) {
  const Tensor kept = split.rescale == 1 ? x : combine({x}, {split.rescale});
  return run.add_noise(kept, split.up * run.option("s_noise"));
}

std::vector<Option> noise_options(double eta) {
  return {{.name = "eta", .summary = "share of each step that is noise", .standard = eta},
          {.name = "s_noise", .summary = "factor of the step noise", .standard = 1}};
}

}  // namespace hearth::sampling
