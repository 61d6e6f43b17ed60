// Converts weighted text of any length to rows of tokens for a CLIP text encoder.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/clip/clip_tokenizer.h"
#include "text/prompt/weighted_text.h"

namespace hearth::text {

// An embedding, used in prompts by its name (textual inversion, Gal et al. 2022, arXiv 2208.01618).
struct EmbeddingName {
  std::string name;       // in prompts
  int64_t vectors = 1;    // number of tokens
  std::string file_name;  // an alternative name in ComfyUI's syntax; may be empty
};

// One position of a row: a token, or a vector of an embedding that replaces a row of the encoder's table.
struct Slot {
  int32_t id = 0;
  float weight = 1;
  int32_t embedding = -1;  // index of the embedding; −1: a token
  int32_t vector = 0;      // index of the vector in the embedding

  bool operator==(const Slot&) const = default;
};

// start, at most model_max_length − 2 tokens, end, padding: model_max_length slots in total. Only the tokens can have a weight other than
// 1.
using Chunk = std::vector<Slot>;

// A1111: chunks of 75. A full chunk ends after its last comma if that is among its last 20 tokens; a chunk_break ends it at once; an
// embedding that does not fit in the rest of a chunk starts a new one. Embeddings are found by the tokens of their names, the longest
// first. UsageError if the text names an embedding of more than 75 vectors.
std::vector<Chunk> a1111_chunks(const std::vector<WeightedText>& text, const ClipTokenizer& tokenizer,
                                std::span<const EmbeddingName> embeddings);

// ComfyUI: chunks of 75. A span (or an embedding) of less than 8 tokens that does not fit in the rest of a chunk starts a new one, a longer
// one is split. "embedding:NAME" at the start of a span or after white space selects the embedding; a comma after the name is text.
// UsageError for an unknown name.
std::vector<Chunk> comfyui_chunks(const std::vector<WeightedText>& text, const ClipTokenizer& tokenizer,
                                  std::span<const EmbeddingName> embeddings);

// diffusers: one chunk, without weights. Embeddings are found by their names anywhere in the text, before it is split into words.
struct Truncated {
  Chunk chunk;
  int64_t tokens = 0, dropped = 0;  // tokens of the prompt in the chunk, and those that did not fit
  std::string dropped_text;
};
Truncated truncated_chunk(std::string_view prompt, const ClipTokenizer& tokenizer, std::span<const EmbeddingName> embeddings);

// The chunk of an empty prompt.
Chunk empty_chunk(const ClipTokenizer& tokenizer);

}  // namespace hearth::text
