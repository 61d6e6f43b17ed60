// The text of `hearth COMMAND --help`, its width and colors.
#pragma once

#include <string>
#include <string_view>

#include "cli/flags.h"

namespace hearth::cli {

// The flags that every command has.
inline constexpr std::string_view general_group = "General";

struct Terminal {
  size_t columns = 100;
  bool color = false;

  // 60 to 100 columns: COLUMNS, else the terminal's width, else 100. Color on a terminal, unless NO_COLOR is set or TERM is dumb.
  static Terminal of_stdout();
  static bool color_on(int descriptor);
};

enum class HelpPart { basic, all };
// `basic` leaves out the flags without in_basic_help(), unless the command has few flags or none that are in it.
std::string help_text(const Flags& flags, HelpPart part, const Terminal& terminal);

// Breaks lines at spaces so that each fits into `columns` if possible; later lines start with `indent` spaces, which do not count.
std::string wrap(std::string_view text, size_t columns, size_t indent = 0);
// Display columns of a UTF-8 text.
size_t width_of(std::string_view text);

// "-W, --width N"
std::string spelled(const Flag& flag);
// The help with "may be repeated" and the default.
std::string described(const Flag& flag);

std::string heading(std::string_view text, const Terminal& terminal);  // "Model:"
// "  # comment" and "  command" for each.
std::string examples_text(std::span<const Example> examples, const Terminal& terminal);

}  // namespace hearth::cli
