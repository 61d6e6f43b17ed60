// What a text-to-image model with CLIP encoders makes of a prompt: conditions, entries by step, chunks, tokens and their weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/hearth.h"

namespace hearth {

struct PromptToken {
  int32_t id = 0;
  std::string piece;  // as text; of an embedding its name
  double weight = 1;
  int64_t vector = 0, vectors = 0;  // of an embedding: which of its vectors stands here, from 1 on, and of how many; 0: a token
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
  std::string encoder;                      // "text_encoder"; empty where there is only a tokenizer
  std::vector<PromptCondition> conditions;  // more than one where the prompt is composed (AND)
  std::vector<std::string> warnings;        // one line each
};

struct PromptReading {
  std::optional<PromptSyntax> syntax;  // as in Request; absent: plain
  std::optional<Emphasis> emphasis;    // as in Request
  int64_t steps = 20;                  // of the run
  std::vector<Embedding> embeddings;   // as in Request
  std::filesystem::path config;        // as OpenOptions::config
};

// The prompt as each text encoder of `model` reads it, in their order: a diffusers folder, a DDUF file, a single file; or the folder of a
// CLIP tokenizer, which has no use for embeddings. UsageError for an unknown name, UnsupportedError for a tokenizer that is not CLIP's, and
// what opening the model and the embeddings throws.
std::vector<ReadPrompt> read_prompt(const std::filesystem::path& model, std::string_view prompt, const PromptReading& reading = {});

}  // namespace hearth
