// What the files of samplers/ hold, one after another: each NAME.cpp defines std::vector<Sampler> NAME_rows().
#pragma once

#include "sampling/sampler.h"

namespace hearth::sampling {

std::vector<Sampler> all_rows();

}  // namespace hearth::sampling
