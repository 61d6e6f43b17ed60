#include "sampling/schedules/flow_schedules.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sampling/schedules/special_functions.h"

namespace hearth::sampling {

double shifted(double t, double shift) { return shift * t / (1 + (shift - 1) * t); }

double shift_of(TimeShift type, double mu) { return type == TimeShift::exponential ? std::exp(mu) : mu; }

double mu_of(const MuLine& line, double tokens) {
  const double slope = (line.max_shift - line.base_shift) / (line.max_tokens - line.base_tokens);
  return line.base_shift + slope * (tokens - line.base_tokens);
}

double empirical_mu(double tokens, int64_t n) {
  const double at_200 = 0.00016927 * tokens + 0.45666666, at_10 = 8.73809524e-5 * tokens + 1.89833333;
  if (tokens > 4300) return at_200;
  const double slope = (at_200 - at_10) / 190;
  return slope * double(n) + (at_200 - 200 * slope);
}

Values flow_times(int64_t n) {
  if (n < 1) fail<UsageError>("steps: got {}, expected at least 1", n);
  Values t;
  for (int64_t i = 0; i < n; ++i) t.push_back(double(n - i) / double(n));
  return t;
}

Values flow_sigmas(const Values& times, double shift) {
  Values sigmas;
  for (const double t : times) sigmas.push_back(shifted(t, shift));
  sigmas.push_back(0);
  return sigmas;
}

Values stretched_to(Values sigmas, double terminal) {
  if (!(terminal > 0 && terminal < 1)) fail<UsageError>("shift_terminal: got {}, expected a σ between 0 and 1", terminal);
  if (sigmas.size() < 2 || sigmas[sigmas.size() - 2] == 1) return sigmas;
  const double stretch = (1 - terminal) / (1 - sigmas[sigmas.size() - 2]);
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) sigmas[i] = 1 - (1 - sigmas[i]) * stretch;
  return sigmas;
}

Values logit_normal_sigmas(int64_t n, double mu, double spread) {
  if (n < 1) fail<UsageError>("steps: got {}, expected at least 1", n);
  Values sigmas;
  for (int64_t i = 0; i < n; ++i) {
    const double logit = mu + spread * normal_quantile(1 - double(i) / double(n));
    sigmas.push_back(1 / (1 + std::exp(-std::clamp(logit, -7.5, 9.0))));
  }
  sigmas.push_back(0);
  return sigmas;
}

Values trigflow_angles(int64_t n, double largest, double middle) {
  if (n < 1) fail<UsageError>("steps: got {}, expected at least 1", n);
  if (n == 2) return {largest, middle, 0};
  Values angles;
  for (int64_t i = 0; i <= n; ++i) angles.push_back(largest * double(n - i) / double(n));
  return angles;
}

}  // namespace hearth::sampling
