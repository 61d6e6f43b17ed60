#include "cli/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/say.h"
#include "core/error.h"
#include "core/suggest.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

constexpr const Command* commands[] = {&generate, &complete, &chat, &perplexity, &tokenize, &detokenize, &inspect,
                                       &convert,  &quantize, &list, &samplers,   &bench,    &rerun,      &pull};

std::string help() {
  std::string text = "hearth runs open-weight checkpoints as their makers publish them.\n\nUsage: hearth COMMAND [FLAGS]\n\nCommands:\n";
  for (const Command* c : commands) text += fmt::format("  {:<10} {}\n", c->name, c->summary);
  text += "\nhearth COMMAND --help tells a command's flags, hearth --version the version.\n";
  return text;
}

void dispatch(std::span<const std::string> arguments, std::string_view commit) {
  if (arguments.empty()) fail<UsageError>("a command is missing (see hearth --help)");
  const std::string& verb = arguments[0];
  const bool alone = arguments.size() == 1;
  if (alone && (verb == "--help" || verb == "-h" || verb == "help")) {
    fmt::print("{}", help());
    return;
  }
  if (alone && verb == "--version") {
    fmt::print("hearth {}{}\n", version(), commit.empty() ? "" : fmt::format(" ({})", commit));
    return;
  }
  for (const Command* c : commands)
    if (c->name == verb) return c->run(arguments.subspan(1));
  std::vector<std::string> names = {"--help", "--version"};
  for (const Command* c : commands) names.emplace_back(c->name);
  if (std::find(names.begin(), names.end(), verb) != names.end()) fail<UsageError>("{}: '{}' is too much", verb, arguments[1]);
  fail<UsageError>("{}: unknown {}{}", verb, verb[0] == '-' ? "flag" : "command", did_you_mean(verb, names));
}

int report(int code, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fflush(stdout);
  say(message);
  return code;
}

}  // namespace

int run(std::span<const std::string> arguments, std::string_view commit) {
  try {
    dispatch(arguments, commit);
    // A full disk behind stdout shows itself only here.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail<IoError>("stdout: {}", std::strerror(errno));
    return 0;
  } catch (const Cancelled&) { return report(130, "cancelled"); } catch (const UsageError& e) {
    return report(2, e.what());
  } catch (const Error& e) { return report(1, e.what()); } catch (const std::bad_alloc&) {
    return report(1, "out of memory");
  } catch (const std::system_error& e) {  // of fmt::print, or of what nobody expected
    if (std::ferror(stdout) != 0) return report(1, "stdout: " + e.code().message());
    return report(1, fmt::format("{} (an error that hearth should have described better)", e.what()));
  } catch (const std::exception& e) { return report(1, fmt::format("{} (an error that hearth should have described better)", e.what())); }
}

}  // namespace hearth::cli
