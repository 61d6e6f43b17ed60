// Options of families whose models make images in sizes of their own (Facts::size_of_run).
#pragma once

#include "models/option.h"

namespace hearth::models::diffusion {

inline constexpr Option no_resolution_binning{
    .name = "no_resolution_binning",
    .type = Option::Type::toggle,
    .summary = "Make images in the requested size, not in the nearest size that the model was trained on",
    .standard = "off",
    .after = "height"};

}  // namespace hearth::models::diffusion
