// What the refiner is, for the family whose pictures it refines.
#pragma once

#include "models/stable_diffusion/config.h"

namespace hearth::models::sdxl_refiner {

extern const stable_diffusion::Family family;

}  // namespace hearth::models::sdxl_refiner
