// Quantiles of two distributions, in f64, to about 1e-14.
#pragma once

namespace hearth::sampling {

// x with I_x(a, b) = p, where I is the regularized incomplete beta function; p in [0, 1], a and b above 0.
double beta_quantile(double p, double a, double b);

// z with Φ(z) = p; p in [0, 1], −∞ and +∞ at the ends.
double normal_quantile(double p);

}  // namespace hearth::sampling
