// The output of a component must be finite before it is used.
#pragma once

#include <string_view>

#include "models/diffusion/conditioning.h"

namespace hearth::models::diffusion {

// Reads the whole tensor. Returns its largest magnitude, 0 in a dry run. NonFiniteError that names the component: "vae: 3 of 12 values of
// image 1 of 1 are NaN or infinite, …".
double require_finite(const Tensor& x, std::string_view component, std::string_view what);

// The same for all tensors of a prompt.
double require_finite(const EncodedPrompt& prompt, std::string_view component);

}  // namespace hearth::models::diffusion
