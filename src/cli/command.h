// A verb of the command line: one file that exports one Command; it parses, calls the library and prints.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>

namespace hearth::cli {

struct Command {
  std::string_view name, summary;
  // `arguments` follow the verb. What goes wrong is thrown (core/error.h).
  void (*run)(std::span<const std::string> arguments);
};

extern const Command generate, complete, chat, perplexity, tokenize, detokenize, inspect, convert, quantize, list, samplers, bench, rerun,
    pull;

// Set by Ctrl-C and SIGTERM (signals.h); handed to everything that takes long.
extern std::atomic<bool> cancelled;

}  // namespace hearth::cli
