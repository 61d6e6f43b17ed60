// --debug of every command that runs a model.
#pragma once

#include "cli/flags.h"
#include "hearth/hearth.h"

namespace hearth::cli {

void add_debug(Flags& flags, Debug& debug);

}  // namespace hearth::cli
