#include "cli/say.h"

#include <cstdio>
#include <string>

namespace hearth::cli {

void say(std::string_view line) {
  const std::string whole = "hearth: " + std::string(line) + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace hearth::cli
