// A prompt, read as one of three programs reads it: everything that a text encoder is asked for during a run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/choices.h"
#include "text/prompt/chunks.h"

namespace hearth::text {

using hearth::Emphasis;      // how they act on states is said in models/clip/prompt_states.h
using hearth::PromptSyntax;  // README.md says what each of them does

// How a tokenizer cleans text for a syntax: as its checkpoint says, but ComfyUI has a cleaning of its own.
ClipTokenizer tokenizer_for(PromptSyntax syntax, const ClipTokenizer& tokenizer);

// What holds up to a step.
struct PromptEntry {
  int64_t end = 0;            // as ScheduledText::end
  std::string text;           // without what has been read: alternation, editing, composition
  std::vector<Chunk> chunks;  // one at least
};

// One of the prompts that act together.
struct Condition {
  double weight = 1;
  std::vector<PromptEntry> entries;  // one at least; all of the same number of chunks
  bool weighted = false;             // some slot's weight is not 1
};

struct Prompt {
  std::vector<Condition> conditions;  // one at least; a negative prompt has one, of weight 1
  int64_t chunks = 1;                 // the most that a condition has
  std::vector<std::string> warnings;  // one line each
};

enum class PromptRole { positive, negative };

struct PromptReading {
  PromptSyntax syntax = PromptSyntax::plain;
  Emphasis emphasis = Emphasis::original;  // of a1111
  int64_t steps = 1;                       // of the run
  int64_t before = 0;                      // of a first pass, as prompt_schedule() has it
};

// `tokenizer` as tokenizer_for() gives it. UsageError, UnsupportedError: see weighted_text.h and chunks.h; <lora:…> and its like in
// A1111's syntax.
Prompt read_prompt(std::string_view prompt, PromptRole role, const PromptReading& reading, const ClipTokenizer& tokenizer,
                   std::span<const EmbeddingName> embeddings);

}  // namespace hearth::text
