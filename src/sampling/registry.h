// Rows of all files in samplers/, in order: each NAME.cpp defines std::vector<Sampler> NAME_rows().
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

std::vector<Sampler> all_rows();

}  // namespace hearth::sampling
