// Shared by multistep samplers: slopes, histories and the integrals of polynomials through them.
#pragma once

#include <span>
#include <vector>

#include "sampling/sampler.h"

namespace hearth::sampling {

Tensor slope(const Tensor& x, const Tensor& x0, double sigma);  // dx/dσ = (x − x̂₀)/σ

// Inserts `newest` in front and drops entries beyond `most`.
void remember(std::vector<Tensor>& history, const Tensor& newest, size_t most);

// x + Σ weightᵢ·historyᵢ.
Tensor advanced(const Tensor& x, std::span<const Tensor> history, std::span<const double> weights);

// Coefficients, lowest power first, of the polynomial of least degree that is 1 at nodes[j] and 0 at the others.
std::vector<double> lagrange_basis(std::span<const double> nodes, size_t j);

// σ at the start of each of the last `count` steps, the current one first.
std::vector<double> last_sigmas(const State& s, const Run& run, size_t count);

}  // namespace hearth::sampling
