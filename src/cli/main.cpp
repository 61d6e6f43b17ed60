#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/signals.h"

int main(int argc, char** argv) {
  hearth::cli::catch_signals();
  return hearth::cli::run(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
