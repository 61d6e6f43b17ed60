// The flags of every verb that opens a language model, and of those that make text with it.
#pragma once

#include "cli/flags.h"
#include "cli/progress_line.h"
#include "hearth/language.h"

namespace hearth::cli {

struct LanguageFlags {
  std::string model, variant, device = "cpu", precision = "auto", cache_type = "f32";
  int threads = 0;
  bool pin = false;

  void add_to(Flags& flags);  // --model --variant --device --threads --pin-threads --precision --cache-type
  LanguageOptions options() const;
  // before_loading as in LanguageOptions.
  LanguageModel open(const OnProgress& progress, const std::function<void(const LanguageModel&)>& before_loading = {}) const;
};

// --temperature … --sampling-order, --max-tokens, --context, --stop …: all that decides the answer but the prompt.
struct AnswerFlags {
  CompletionRequest request;
  std::vector<std::string> dry_breakers;

  void add_to(Flags& flags);
  CompletionRequest resolved() const;
};

// Answers, until `cancelled` is set, and prints the text as it comes, or as json {"prompt_tokens": …, "tokens": …, "text": …,
// "finish_reason": …, …, "timings": {…}} on one line. An answer that breaks off ends its line as others do.
Completion print_answer(LanguageModel& model, CompletionRequest request, bool json, ProgressLine& line);

// "hearth: memory: …": what a run will take.
std::string memory_line(const LanguageModel::Plan& plan);

// {"prompt": …, "ids": […]}
std::string prompt_json(const RenderedChat& rendered);

}  // namespace hearth::cli
