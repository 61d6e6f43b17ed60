// How an image model with CLIP text encoders parses a prompt: conditions, texts by step, chunks, tokens and their weights.
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
  std::string piece;  // as text; for an embedding its name
  double weight = 1;
  int64_t vector = 0, vectors = 0;  // for an embedding: the number of this vector, from 1, and the count; 0: a token
};

// The prompt text that applies up to a step.
struct PromptText {
  int64_t end = 0;  // the last step, counted as in A1111
  std::string text;
  std::vector<std::vector<PromptToken>> chunks;  // without start, end and padding
};

struct PromptCondition {
  double weight = 1;
  std::vector<PromptText> texts;
};

struct ReadPrompt {
  std::string encoder;                      // "text_encoder"; empty if only a tokenizer was read
  std::vector<PromptCondition> conditions;  // more than one if the prompt is composed with AND
  std::vector<std::string> warnings;        // one line each
};

struct PromptReading {
  std::optional<PromptSyntax> syntax;  // as in Request; absent: plain
  std::optional<Emphasis> emphasis;    // as in Request
  int64_t steps = 20;                  // steps of the run
  std::vector<Embedding> embeddings;   // as in Request
  std::filesystem::path config;        // as OpenOptions::config
};

// The prompt as parsed for each text encoder of `model`, in their order. `model`: a diffusers folder, a DDUF file or a single file; or the
// folder of a CLIP tokenizer, which does not support embeddings. UsageError for an unknown name, UnsupportedError for a tokenizer other
// than CLIP's, and the errors of opening the model and the embeddings.
std::vector<ReadPrompt> read_prompt(const std::filesystem::path& model, std::string_view prompt, const PromptReading& reading = {});

}  // namespace hearth
