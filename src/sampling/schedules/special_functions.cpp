#include "sampling/schedules/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace hearth::sampling {
namespace {

// The continued fraction of I_x(a, b) (Abramowitz & Stegun 26.5.8), by Lentz's method. Converges fast for x < (a + 1)/(a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr double tiny = 1e-300;
  const auto not_zero = [](double v) { return std::abs(v) < tiny ? tiny : v; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m < 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d), c = not_zero(1 + even / c);
    result *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d), c = not_zero(1 + odd / c);
    result *= c * d;
    if (std::abs(c * d - 1) < 1e-16) break;
  }
  return result;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

// The root of the increasing f(x) = p between the two ends, by bisection.
template <class F> double bisect(const F& f, double p, double low, double high) {
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (f(middle) < p ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

}  // namespace

double beta_quantile(double p, double a, double b) {
  if (p <= 0) return 0;
  if (p >= 1) return 1;
  if (a == b && p == 0.5) return 0.5;  // exact, because rounding to a table's entry may hit a tie
  return bisect([&](double x) { return incomplete_beta(x, a, b); }, p, 0, 1);
}

double normal_quantile(double p) {
  if (p <= 0) return -std::numeric_limits<double>::infinity();
  if (p >= 1) return std::numeric_limits<double>::infinity();
  return bisect([](double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }, p, -40, 40);
}

}  // namespace hearth::sampling
