// Log lines in one style for all commands: "hearth: …" on stderr.
#pragma once

#include <functional>
#include <string_view>

namespace hearth::cli {

enum class Verbosity { quiet, normal, verbose };
void set_verbosity(Verbosity verbosity);
Verbosity verbosity();

// If stderr cannot be written, the run continues.
void log_error(std::string_view message);    // always
void log_warning(std::string_view message);  // "hearth: warning: …", unless --quiet
void log_info(std::string_view message);     // unless --quiet
void log_detail(std::string_view message);   // with --verbose

// Called before each line: a progress bar clears its own. Empty: nothing.
void set_before_log(std::function<void()> clear);

}  // namespace hearth::cli
