#include <fcntl.h>

#include <cerrno>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/commit.h"
#include "cli/signals.h"

namespace {

// If the caller closed a standard descriptor, the next opened file would get it, and would be read as input or overwritten.
void keep_standard_descriptors() {
  for (int d = 0; d <= 2; ++d)
    if (fcntl(d, F_GETFD) < 0 && errno == EBADF) open("/dev/null", d == 0 ? O_WRONLY : O_RDONLY);  // so that using it still fails
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  hearth::cli::catch_signals();
  return hearth::cli::run(std::vector<std::string>(argv + (argc > 0), argv + argc), hearth::cli::commit());
}
