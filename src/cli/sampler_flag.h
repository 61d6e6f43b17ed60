// --sampler of every verb that has it.
#pragma once

#include <string>

#include "cli/flags.h"

namespace hearth::cli {

// Takes a sampler's names, alone or with a schedule's behind it: sampling::known_sampler_name.
void add_sampler(Flags& flags, const std::string& help, std::string& sampler);

}  // namespace hearth::cli
