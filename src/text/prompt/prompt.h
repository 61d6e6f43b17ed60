// Reads a prompt in the syntax of one of three programs into everything that a text encoder must encode for a run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/choices.h"
#include "text/prompt/chunks.h"
#include "text/prompt/prompt_schedule.h"

namespace hearth::text {

using hearth::Emphasis;      // models/clip/prompt_states.h describes the effect on the states
using hearth::PromptSyntax;  // README.md describes each syntax

// The tokenizer for a syntax: cleaning is that of the checkpoint, except for ComfyUI, which always uses its own.
ClipTokenizer tokenizer_for(PromptSyntax syntax, const ClipTokenizer& tokenizer);

// The text that applies up to a step.
struct PromptEntry {
  int64_t end = 0;            // as ScheduledText::end
  std::string text;           // with alternation, editing and composition resolved
  std::vector<Chunk> chunks;  // at least one
};

// One of the prompts that are combined by AND.
struct Condition {
  double weight = 1;
  std::vector<PromptEntry> entries;  // at least one; all with the same number of chunks
  bool weighted = false;             // whether a slot has a weight other than 1
};

struct Prompt {
  std::vector<Condition> conditions;  // at least one; a negative prompt has exactly one, with weight 1
  int64_t chunks = 1;                 // the largest number of chunks of a condition
  std::vector<std::string> warnings;  // one line each
};

enum class PromptRole { positive, negative };
constexpr std::string_view in_words(PromptRole role) { return role == PromptRole::positive ? "prompt" : "negative prompt"; }

struct PromptReading {
  PromptSyntax syntax = PromptSyntax::plain;
  Emphasis emphasis = Emphasis::original;  // for a1111
  int64_t steps = 1;                       // of the run
  int64_t before = 0;                      // steps of a first pass, as in prompt_schedule()
};

// The texts of a prompt without their tokens: which apply when, and which are combined.
struct PromptTexts {
  struct Condition {
    double weight = 1;
    std::vector<ScheduledText> texts;  // as PromptEntry::text
  };
  std::vector<Condition> conditions;  // as Prompt::conditions
  std::vector<std::string> warnings;  // one line each
};
// UnsupportedError for <lora:…> and the like in A1111's syntax; UsageError: see prompt_schedule.h.
PromptTexts read_texts(std::string_view prompt, PromptRole role, const PromptReading& reading);

// `tokenizer`: from tokenizer_for(). UsageError: see weighted_text.h and chunks.h. UnsupportedError for <lora:…> and the like in A1111's
// syntax.
Prompt read_prompt(std::string_view prompt, PromptRole role, const PromptReading& reading, const ClipTokenizer& tokenizer,
                   std::span<const EmbeddingName> embeddings);

}  // namespace hearth::text
