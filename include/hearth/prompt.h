// What a text-to-image model with CLIP encoders makes of a prompt: conditions, entries by step, chunks, tokens and their weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct PromptToken {
  int32_t id = 0;
  std::string piece;  // as text
  double weight = 1;
};

// What is asked under up to a step.
struct PromptText {
  int64_t end = 0;  // the last step, as A1111 counts
  std::string text;
  std::vector<std::vector<PromptToken>> chunks;  // without start, end and padding
};

struct PromptCondition {
  double weight = 1;
  std::vector<PromptText> texts;
};

struct ReadPrompt {
  std::vector<PromptCondition> conditions;  // more than one where the prompt is composed (AND)
  std::vector<std::string> warnings;        // one line each
};

// `model`: a diffusers folder, or a tokenizer's folder, of CLIP. `syntax` and `emphasis` as in Request; `steps` of the run. UsageError for
// an unknown name, UnsupportedError for a tokenizer that is not CLIP's.
ReadPrompt read_prompt(const std::filesystem::path& model, std::string_view prompt, const std::string& syntax, const std::string& emphasis,
                       int64_t steps);

}  // namespace hearth
