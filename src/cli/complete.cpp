#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "cli/debug_flag.h"
#include "cli/input.h"
#include "cli/language_flags.h"
#include "cli/log.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"
#include "core/error.h"

namespace hearth::cli {
namespace {

constexpr const char* notes =
    "The prompt comes from --prompt, --prompt-file, --prompt-token-ids, or else from standard input. It is read byte for byte: special "
    "tokens in it are recognized, and a BOS token is added only if the tokenizer's configuration says so.\n"
    "The completion goes to stdout as it is generated. To score a text, pass --max-tokens 0 --prompt-logprobs --json.\n"
    "Ctrl-C ends the run. Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.";

struct CompleteFlags {
  LanguageFlags open;
  SamplingFlags sampling;
  std::optional<std::string> prompt, prompt_file;
  bool no_special_tokens = false, json = false;
  std::string state;

  void add_to(Flags& flags) {
    CompletionRequest& r = sampling.request;
    open.add_model(flags);
    flags.group("Prompt");
    flags.text("-p,--prompt", "TEXT", "Text to continue", prompt, "standard input").in_basic_help();
    flags.text("-f,--prompt-file", "FILE", "Read the prompt from this file", prompt_file, "standard input").also("--file").in_basic_help();
    flags
        .add("--prompt-token-ids", "ID[,ID]", "The prompt as token ids", "standard input",
             [&r](const std::string& t) { r.prompt_ids = parse_ids(t); })
        .also("--prompt-ids");
    flags.toggle("--no-special-tokens", "Do not add a BOS token", no_special_tokens).also("--no-special");
    flags.text("--state", "FILE",
               "Continue from this file if it exists, and write to it what the model stores of prompt and completion: a later prompt that "
               "begins with them is not computed again",
               state, "none");
    sampling.add_to(flags);
    open.add_device(flags);
    flags.group("Output");
    sampling.add_logprobs(flags);
    flags.toggle("--prompt-logprobs", "With --json: log-probabilities of the prompt's tokens", r.prompt_logprobs);
    add_json(flags, "tokens, text, log-probabilities, timings", json).in_basic_help();
    add_debug(flags, r.debug);
    flags.example("hearth complete -p \"Once upon a time\"", "Continue a text with the demo model");
    flags.example("hearth complete -m my-language-model -f story.txt -n 200 --temperature 0.8 --seed 1",
                  "Sample 200 tokens from a checkpoint");
    flags.example("hearth complete -m model.gguf -p \"2 + 2 =\" -n 4 --json", "Get token ids, text and timings as JSON");
  }

  CompletionRequest resolved() const {
    CompletionRequest r = sampling.resolved();
    if (int(prompt.has_value()) + int(prompt_file.has_value()) + int(r.prompt_ids.has_value()) > 1)
      fail<UsageError>("complete: --prompt, --prompt-file and --prompt-token-ids exclude each other, expected one of them");
    if ((r.logprobs || r.prompt_logprobs) && !json) fail<UsageError>("complete: log-probabilities are printed as JSON only; add --json");
    check(r);
    r.add_special_tokens = !no_special_tokens;
    if (prompt) r.prompt = *prompt;
    else if (prompt_file) r.prompt = read_text(*prompt_file);
    else if (!r.prompt_ids) r.prompt = read_input();
    return r;
  }
};

void run_complete(std::span<const std::string> arguments) {
  CompleteFlags f;
  Flags flags("complete", "Continue a text with a language model.", notes);
  f.add_to(flags);
  if (!flags.parse(arguments)) return;
  const CompletionRequest request = f.resolved();
  f.open.gpu_context = request.context;

  ProgressLine line;
  LanguageModel model = f.open.open([&line](const Progress& p) { line.update(p); },
                                    [&](const LanguageModel& unread) { log_info(memory_text(unread.plan(request))); });
  line.finish();
  if (!f.state.empty() && std::filesystem::exists(f.state)) model.load_state(f.state);
  const Completion made = print_completion(model, request, f.json, line);
  if (!f.state.empty()) model.save_state(f.state);
  if (!f.json && !made.debug_text.empty()) fmt::print("{}\n", made.debug_text);
}

}  // namespace

const Command complete = {"complete", "Continue a text with a language model", run_complete, "Text"};

}  // namespace hearth::cli
