#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/language_flags.h"
#include "cli/progress_line.h"

namespace hearth::cli {
namespace {

void run_perplexity(std::span<const std::string> arguments) {
  LanguageFlags open;
  PerplexityRequest request;
  std::string file;
  bool json = false;
  Flags flags(
      "perplexity", "Tells how well a model foretells a text: exp of the mean negative log-probability of its tokens.",
      "The text is taken byte for byte, as one, with the beginning-of-text token that the tokenizer is configured for. It goes through "
      "the model in windows that know nothing of each other; a token that begins a window is not scored by it.");
  flags.text("-f,--file", "FILE", "The text", file, "standard input");
  open.add_to(flags);
  flags.integer("--context", "Tokens of a window", request.context, "what the model was trained for, at most 2048", {.low = 2});
  flags.integer("--stride", "Tokens between the beginnings of two windows", request.stride, "the context");
  flags.toggle("--json", "Print one JSON object", json);
  if (!flags.parse(arguments)) return;

  request.text = file.empty() ? read_input() : read_text(file);
  ProgressLine line;
  const OnProgress progress = [&line](const Progress& p) { line.update(p); };
  LanguageModel model = open.open(progress);
  request.progress = progress;
  request.cancel = &cancelled;
  const Perplexity p = model.perplexity(request);
  line.finish();
  if (!json) {
    fmt::print("perplexity {:.4f} ± {:.4f} over {} of {} tokens, windows of {}, {:.1f} tokens/s\n", p.value, p.standard_error, p.scored,
               p.tokens, p.context, double(p.tokens) / p.seconds);
    return;
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"perplexity", p.value},
                                            {"standard_error", p.standard_error},
                                            {"mean_negative_log_probability", p.mean},
                                            {"tokens", p.tokens},
                                            {"scored", p.scored},
                                            {"context", p.context},
                                            {"stride", p.stride},
                                            {"seconds", p.seconds}}
                         .dump());
}

}  // namespace

const Command perplexity = {"perplexity", "tell how well a model foretells a text", run_perplexity};

}  // namespace hearth::cli
