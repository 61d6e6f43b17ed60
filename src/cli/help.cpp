#include "cli/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace hearth::cli {
namespace {

constexpr size_t name_columns = 32, indent = 2;

std::string painted(std::string_view text, std::string_view code, const Terminal& terminal) {
  return terminal.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string flag_text(const Flag& flag, const Terminal& terminal) {
  const bool long_only = !flag.positional() && flag.names[0].starts_with("--");
  const std::string names = std::string(long_only ? 4 : 0, ' ') + spelled(flag);
  std::string text = std::string(indent, ' ') + painted(names, "36", terminal);
  const size_t width = indent + width_of(names);
  if (width + 2 > name_columns) text += '\n' + std::string(name_columns, ' ');
  else text += std::string(name_columns - width, ' ');
  return text + wrap(described(flag), terminal.columns - name_columns, name_columns) + '\n';
}

// Breaks a command line before flags, with backslashes for the shell.
std::string wrap_command(const std::string& command, size_t columns) {
  std::string out;
  size_t length = 0;
  for (size_t begin = 0; begin < command.size();) {
    const size_t end = std::min(command.find(" -", begin + 1), command.size());
    const std::string part = command.substr(begin, end - begin);
    if (length > 0 && length + width_of(part) + 2 > columns) {
      out += " \\\n     ";
      length = 4;
    }
    out += part;
    length += width_of(part);
    begin = end;
  }
  return out;
}

std::string usage(const Flags& flags) {
  std::string text = "hearth " + flags.command() + " [FLAGS]";
  for (const Flag& flag : flags.all())
    if (flag.positional()) text += flag.default_text == "required" ? " " + flag.value : " [" + flag.value + "]";
  return text;
}

}  // namespace

bool Terminal::color_on(int descriptor) {
  const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  const bool refused = (no_color != nullptr && *no_color != 0) || (term != nullptr && std::string_view(term) == "dumb");
  return !refused && ::isatty(descriptor) != 0;
}

Terminal Terminal::of_stdout() {
  size_t columns = 0;
  winsize size{};
  if (const char* set = std::getenv("COLUMNS"); set != nullptr) columns = size_t(std::max(0, std::atoi(set)));
  if (columns == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return {.columns = std::clamp<size_t>(columns == 0 ? 100 : columns, 60, 100), .color = color_on(STDOUT_FILENO)};
}

size_t width_of(std::string_view text) {
  return size_t(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string wrap(std::string_view text, size_t columns, size_t indent_of_lines) {
  const std::string line_end = '\n' + std::string(indent_of_lines, ' ');
  std::string out;
  size_t length = 0;  // of the line so far
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (length > 0 && length + 1 + width_of(word) > columns) out += line_end, length = 0;
    else if (length > 0) out += ' ', ++length;
    out += word;
    length += width_of(word);
    if (end < text.size() && text[end] == '\n') out += line_end, length = 0;
    begin = end + 1;
  }
  return out;
}

std::string spelled(const Flag& flag) {
  std::string text;
  for (const std::string& name : flag.names) text += (text.empty() ? "" : ", ") + name;
  if (flag.positional()) return flag.value;
  return flag.value.empty() ? text : text + ' ' + flag.value;
}

std::string described(const Flag& flag) {
  std::string text = flag.help;
  if (flag.repeatable) text += "; may be repeated";
  if (flag.default_text == "required") return text + " (required)";
  return flag.default_text.empty() ? text : fmt::format("{} (default: {})", text, flag.default_text);
}

std::string heading(std::string_view text, const Terminal& terminal) { return painted(fmt::format("{}:", text), "1", terminal) + '\n'; }

std::string examples_text(std::span<const Example> examples, const Terminal& terminal) {
  std::string text;
  for (const Example& example : examples) {
    if (!example.comment.empty()) text += "  " + painted("# " + wrap(example.comment, terminal.columns - 4, 4), "2", terminal) + '\n';
    text += "  " + wrap_command(example.command, terminal.columns - 2) + '\n';
  }
  return text;
}

std::string help_text(const Flags& flags, HelpPart part, const Terminal& terminal) {
  const auto basic = [](const Flag& flag) { return flag.basic && !flag.positional() && flag.group != general_group; };
  constexpr size_t few = 16;  // fit on a screen
  const bool all = part == HelpPart::all || flags.all().size() <= few || std::ranges::none_of(flags.all(), basic);
  std::string text = wrap(flags.summary(), terminal.columns) + "\n\n" + painted("Usage:", "1", terminal) + ' ' + usage(flags) + '\n';
  if (all) {
    for (const auto& [group, members] : flags.groups()) {
      text += '\n' + heading(group, terminal);
      for (const Flag* flag : members) text += flag_text(*flag, terminal);
    }
    if (!flags.notes().empty()) text += '\n' + wrap(flags.notes(), terminal.columns) + '\n';
  } else {
    text += '\n' + heading("Common flags", terminal);
    for (const auto& [group, members] : flags.groups())
      for (const Flag* flag : members)
        if (flag->basic) text += flag_text(*flag, terminal);
    text += fmt::format("\nhearth {} --help-all lists all {} flags.\n", flags.command(), flags.all().size());
  }
  if (!flags.examples().empty()) text += '\n' + heading("Examples", terminal) + examples_text(flags.examples(), terminal);
  return text;
}

}  // namespace hearth::cli
