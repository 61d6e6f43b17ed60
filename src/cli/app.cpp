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
#include "cli/log.h"
#include "core/error.h"
#include "core/text/suggest.h"
#include "hearth/hearth.h"

namespace hearth::cli {
namespace {

// Global flags may also precede the command: hearth -q generate …
bool is_global(const std::string& word) { return word == "-v" || word == "--verbose" || word == "-q" || word == "--quiet"; }

void run_help(std::span<const std::string> topic) {
  if (topic.empty()) return fmt::print("{}", overview());
  const Command* command = find_command(topic[0]);
  if (command == nullptr) fail<UsageError>("help: unknown command '{}'", topic[0]);
  command->run(std::vector<std::string>{"--help-all"});
}

void dispatch(std::span<const std::string> arguments, std::string_view commit) {
  std::vector<std::string> global;
  while (!arguments.empty() && is_global(arguments[0])) global.push_back(arguments[0]), arguments = arguments.subspan(1);
  if (arguments.empty()) return fmt::print("{}", first_steps());
  const std::string& name = arguments[0];
  const std::span<const std::string> rest = arguments.subspan(1);
  if (const Command* command = find_command(name); command != nullptr) {
    global.insert(global.end(), rest.begin(), rest.end());
    return command->run(global);
  }
  if (name == "help" && rest.size() <= 1) return run_help(rest);
  const bool help = name == "--help" || name == "-h" || name == "--help-all";
  if (help && rest.empty()) return fmt::print("{}", overview());
  if (name == "--version" && rest.empty())
    return fmt::print("hearth {}{}\n", version(), commit.empty() ? "" : fmt::format(" ({})", commit));
  std::vector<std::string> names = {"--help", "--version"};
  for (const Command* c : listed_commands()) names.emplace_back(c->name);
  if (help || name == "help" || name == "--version") fail<UsageError>("{}: unexpected argument '{}'", name, rest.back());
  fail<UsageError>("{}: unknown {}{} (see hearth --help)", name, name[0] == '-' ? "flag" : "command", did_you_mean(name, names));
}

int report(int code, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fflush(stdout);
  log_error(message);
  return code;
}

}  // namespace

int run(std::span<const std::string> arguments, std::string_view commit) {
  try {
    dispatch(arguments, commit);
    // Only here does a full disk behind stdout become an error.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail<IoError>("stdout: {}", std::strerror(errno));
    return 0;
  } catch (const Canceled&) { return report(130, "canceled"); } catch (const UsageError& e) {
    return report(2, e.what());
  } catch (const Error& e) { return report(1, e.what()); } catch (const std::bad_alloc&) {
    return report(1, "out of memory");
  } catch (const std::system_error& e) {  // of fmt::print
    if (std::ferror(stdout) != 0) return report(1, "stdout: " + e.code().message());
    return report(1, fmt::format("{} (an unexpected error: please report it as a bug)", e.what()));
  } catch (const std::exception& e) { return report(1, fmt::format("{} (an unexpected error: please report it as a bug)", e.what())); }
}

}  // namespace hearth::cli
