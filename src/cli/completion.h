// Shell completion scripts, generated from the flags of all commands.
#pragma once

#include <string>

namespace hearth::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace hearth::cli
