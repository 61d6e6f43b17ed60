#pragma once

#include <vector>

namespace hearth::sampling {

// Solves rows·x = right by Gaussian elimination with pivoting; for the few unknowns of a multistep sampler.
std::vector<double> solved(std::vector<std::vector<double>> rows, std::vector<double> right);

}  // namespace hearth::sampling
