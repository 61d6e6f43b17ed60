#include "cli/log.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "cli/help.h"

namespace hearth::cli {
namespace {

Verbosity chosen = Verbosity::normal;
std::function<void()> before_log;

void write(std::string_view prefix, std::string_view color, std::string_view message) {
  static const bool colored = Terminal::color_on(STDERR_FILENO);
  if (before_log) before_log();
  std::string line(prefix);
  if (colored) line = "\x1b[" + std::string(color) + "m" + line + "\x1b[0m";
  line.append(1, ' ').append(message).append(1, '\n');
  // Not by stdio: a line that waits for its reader would hold the lock of stderr, and exit() waits for that.
  for (size_t written = 0; written < line.size();) {
    const ssize_t count = ::write(STDERR_FILENO, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    written += size_t(count);
  }
}

}  // namespace

void set_verbosity(Verbosity verbosity) { chosen = verbosity; }
Verbosity verbosity() { return chosen; }
void set_before_log(std::function<void()> clear) { before_log = std::move(clear); }

void log_error(std::string_view message) { write("hearth:", "1;31", message); }
void log_warning(std::string_view message) {
  if (chosen != Verbosity::quiet) write("hearth: warning:", "1;33", message);
}
void log_info(std::string_view message) {
  if (chosen != Verbosity::quiet) write("hearth:", "1", message);
}
void log_detail(std::string_view message) {
  if (chosen == Verbosity::verbose) write("hearth:", "1", message);
}

}  // namespace hearth::cli
