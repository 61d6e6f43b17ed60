// The output of a component must be finite before it is used.
#pragma once

#include <string_view>

#include "core/tensor.h"

namespace hearth::models::diffusion {

// Reads the whole tensor, except in a dry run. NonFiniteError that names the component: "vae: 3 of 12 values of image 1 of 1 are NaN or
// infinite, …".
void require_finite(const Tensor& x, std::string_view component, std::string_view what);

}  // namespace hearth::models::diffusion
