#include "sampling/schedules/path.h"

#include <cmath>

namespace hearth::sampling {

Level Level::preserving(double sigma, float timestep) {
  const double alpha = 1 / std::sqrt(sigma * sigma + 1);
  return {alpha, sigma * alpha, timestep};
}

Level Level::of_alpha_bar(double alpha_bar, float timestep) { return {std::sqrt(alpha_bar), std::sqrt(1 - alpha_bar), timestep}; }

double lambda(const Level& level) { return std::log(level.alpha / level.sigma); }

Level Path::at(double sigma) const {
  double time = multiplier * sigma;
  if (times == Times::reversed) time = multiplier * (1 - sigma);
  if (times == Times::table) time = table->timestep_of(sigma);
  if (times == Times::nearest) time = std::ceil(table->timestep_of(sigma) - 0.5);  // ties go to the lower entry
  if (times == Times::quarter_log) time = 0.25 * double(std::log(float(sigma)));
  switch (family) {
    case Family::exploding: return Level::exploding(sigma, float(time));
    case Family::preserving: return Level::preserving(sigma, float(time));
    case Family::flow: return Level::flow(sigma, float(time));
  }
  return {};
}

double Path::sigma_at(double part) const {
  const double t = 1 - part;
  if (family == Family::flow) return shift * t / (1 + (shift - 1) * t);
  if (table) return table->sigma_at(t * double(table->size() - 1));
  return std::exp(std::log(sigma_min) + t * (std::log(sigma_max) - std::log(sigma_min)));
}

Level Path::at_lambda(double lambda) const { return at(family == Family::flow ? 1 / (1 + std::exp(lambda)) : std::exp(-lambda)); }

}  // namespace hearth::sampling
