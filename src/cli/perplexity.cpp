#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/language_flags.h"
#include "cli/open_flags.h"
#include "cli/progress_line.h"

namespace hearth::cli {
namespace {

void run_perplexity(std::span<const std::string> arguments) {
  LanguageFlags open;
  PerplexityRequest request;
  std::string file;
  bool json = false;
  Flags flags("perplexity", "Measure the perplexity of a language model on a text: exp of the mean negative log-likelihood of its tokens.",
              "The text is read byte for byte as one document, with a BOS token if the tokenizer's configuration says so. It is split into "
              "independent windows; the tokens that a window shares with the one before it, and its first token, are not scored.");
  open.add_model(flags);
  flags.group("Prompt");
  flags.text("-f,--file", "FILE", "Text file to evaluate", file, "standard input");
  open.add_device(flags);
  flags.integer("-c,--ctx-size", "Tokens per window", request.context, "the length that the model was trained on, at most 2048", {.low = 2})
      .also("--context,--context-length");
  flags
      .integer("--stride", "Tokens from the start of a window to the start of the next; smaller is slower and more accurate",
               request.stride, "--ctx-size")
      .also("--ppl-stride");
  add_json(flags, "perplexity, standard error, tokens, seconds", json);
  flags.example("hearth perplexity -m model.gguf -f wiki.test.raw", "Perplexity on a text file");
  if (!flags.parse(arguments)) return;

  request.text = file.empty() ? read_input() : read_text(file);
  ProgressLine line;
  open.gpu_context = request.context;
  const OnProgress progress = [&line](const Progress& p) { line.update(p); };
  LanguageModel model = open.open(progress);
  request.progress = progress;
  request.cancel = &canceled;
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

const Command perplexity = {"perplexity", "Measure the perplexity of a language model on a text", run_perplexity, "Text"};

}  // namespace hearth::cli
