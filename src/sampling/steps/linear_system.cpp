#include "sampling/steps/linear_system.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hearth::sampling {

std::vector<double> solved(std::vector<std::vector<double>> rows, std::vector<double> right) {
  const size_t n = rows.size();
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i)
      if (std::abs(rows[i][k]) > std::abs(rows[pivot][k])) pivot = i;
    std::swap(rows[k], rows[pivot]), std::swap(right[k], right[pivot]);
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = rows[i][k] / rows[k][k];
      for (size_t j = k; j < n; ++j) rows[i][j] -= factor * rows[k][j];
      right[i] -= factor * right[k];
    }
  }
  std::vector<double> x(n);
  for (size_t k = n; k-- > 0;) {
    double rest = right[k];
    for (size_t j = k + 1; j < n; ++j) rest -= rows[k][j] * x[j];
    x[k] = rest / rows[k][k];
  }
  return x;
}

}  // namespace hearth::sampling
