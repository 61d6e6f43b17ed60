// A command of `hearth`: one file that exports one Command; it parses, calls the library and prints.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

class Flags;

struct Command {
  std::string_view name, summary;
  // `arguments` follow the command's name. Failures are thrown (core/error.h). It must call Flags::parse() first.
  void (*run)(std::span<const std::string> arguments);
  std::string_view section = "";  // of `hearth --help`: "Images"; empty: not listed
};

extern const Command generate, rerun, samplers, complete, chat, perplexity, tokenize, detokenize, pull, inspect, convert, quantize,
    calibrate, serve, list, bench, completion, man;

// In the order of the help.
std::span<const Command* const> all_commands();
// The commands that help, completion and man pages list.
std::vector<const Command*> listed_commands();
// Null for an unknown name.
const Command* find_command(std::string_view name);
// The flags of a command, without running it.
void visit_flags(const Command& command, const std::function<void(const Flags&)>& visit);

// What `hearth --help` prints, and `hearth` alone.
std::string overview();
std::string first_steps();

// Set by Ctrl-C and SIGTERM (signals.h); passed to every long operation.
extern std::atomic<bool> canceled;

}  // namespace hearth::cli
