#include <fmt/format.h>

#include "cli/command.h"
#include "cli/debug_flag.h"
#include "cli/input.h"
#include "cli/language_flags.h"
#include "cli/progress_line.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "The prompt is --prompt, --prompt-file, --prompt-ids, or standard input where none of them is given. It is taken byte for byte; "
    "special tokens in it are recognised, and a beginning-of-text token is added exactly where the tokenizer's configuration says so.\n"
    "The answer goes to standard output as it comes. --max-tokens 0 --prompt-logprobs --json scores the prompt.\n"
    "Ctrl-C ends the run. Exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

struct CompleteFlags {
  LanguageFlags open;
  AnswerFlags answer;
  std::optional<std::string> prompt, prompt_file;
  bool no_special = false, json = false;

  void add_to(Flags& flags) {
    CompletionRequest& r = answer.request;
    flags.add("-p,--prompt", "TEXT", "What to go on from", "", [this](const std::string& t) { prompt = t; });
    flags.add("--prompt-file", "FILE", "The same from a file, byte for byte", "", [this](const std::string& t) { prompt_file = t; });
    flags.add("--prompt-ids", "ID,ID,…", "Token ids, used as they are", "", [&r](const std::string& t) { r.prompt_ids = parse_ids(t); });
    flags.toggle("--no-special", "Add no beginning-of-text token", no_special);
    open.add_to(flags);
    answer.add_to(flags);
    flags.integer("--logprobs", "Log-probabilities of the answer's tokens and of the N most probable ones at each place (with --json)",
                  r.logprobs, "not told", {.low = 0});
    flags.toggle("--prompt-logprobs", "Log-probabilities of the prompt's tokens (with --json)", r.prompt_logprobs);
    add_debug(flags, r.debug);
    flags.toggle("--json", "Print one JSON object on standard output: tokens, text, log-probabilities, timings", json);
  }

  CompletionRequest resolved() const {
    CompletionRequest r = answer.resolved();
    if (int(prompt.has_value()) + int(prompt_file.has_value()) + int(r.prompt_ids.has_value()) > 1)
      fail<UsageError>("complete: --prompt, --prompt-file and --prompt-ids exclude each other");
    if ((r.logprobs || r.prompt_logprobs) && !json) fail<UsageError>("complete: log-probabilities are told with --json only");
    check(r);
    r.add_special_tokens = !no_special;
    if (prompt) r.prompt = *prompt;
    else if (prompt_file) r.prompt = read_text(*prompt_file);
    else if (!r.prompt_ids) r.prompt = read_input();
    return r;
  }
};

void run_complete(std::span<const std::string> arguments) {
  CompleteFlags f;
  Flags flags("complete", "Goes on from a text.", notes);
  f.add_to(flags);
  if (!flags.parse(arguments)) return;
  const CompletionRequest request = f.resolved();

  ProgressLine line;
  LanguageModel model = f.open.open([&line](const Progress& p) { line.update(p); },
                                    [&](const LanguageModel& unread) { line.say(memory_line(unread.plan(request))); });
  line.finish();
  const Completion made = print_answer(model, request, f.json, line);
  if (!f.json && !made.debug_text.empty()) fmt::print("{}\n", made.debug_text);
}

}  // namespace

const Command complete = {"complete", "go on from a text", run_complete};

}  // namespace hearth::cli
