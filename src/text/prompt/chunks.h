// Weighted text to the rows of tokens that a CLIP text encoder takes, however long it is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/clip/clip_tokenizer.h"
#include "text/prompt/weighted_text.h"

namespace hearth::text {

// Vectors that stand for a name in prompts (textual inversion, Gal et al. 2022, arXiv 2208.01618).
struct EmbeddingName {
  std::string name;       // as prompts have it
  int64_t vectors = 1;    // tokens that it takes
  std::string file_name;  // another name for it in ComfyUI's syntax; may be empty
};

// One place of a row: a token, or a vector of an embedding in place of its row of the encoder's table.
struct Slot {
  int32_t id = 0;
  float weight = 1;
  int32_t embedding = -1;  // index into the embeddings; −1: the token
  int32_t vector = 0;      // of the embedding

  bool operator==(const Slot&) const = default;
};

// start, at most model_max_length − 2 tokens, end, padding: model_max_length slots in all. All but the tokens have weight 1.
using Chunk = std::vector<Slot>;

// A1111: chunks of 75. A chunk that is full ends behind its last comma, if that is among its last 20 tokens; a chunk_break ends it at
// once; an embedding that does not fit into what is left begins a new one. Embeddings go by their names' tokens, the longest first.
// UsageError for an embedding of more than 75 vectors that the text names.
std::vector<Chunk> a1111_chunks(const std::vector<WeightedText>& text, const ClipTokenizer& tokenizer,
                                std::span<const EmbeddingName> embeddings);

// ComfyUI: chunks of 75. A stretch (or an embedding) of less than 8 tokens that does not fit into what is left begins a new one, a longer
// one is cut. "embedding:NAME" at the beginning of a stretch or behind white space stands for the embedding; a comma behind the name is
// text. UsageError for a name that is not among the embeddings.
std::vector<Chunk> comfyui_chunks(const std::vector<WeightedText>& text, const ClipTokenizer& tokenizer,
                                  std::span<const EmbeddingName> embeddings);

// diffusers: one chunk, without weights. Embeddings go by their names wherever these stand, before the text is split.
struct Truncated {
  Chunk chunk;
  int64_t tokens = 0, dropped = 0;  // of the prompt: in the chunk, and too many
  std::string dropped_text;
};
Truncated truncated_chunk(std::string_view prompt, const ClipTokenizer& tokenizer, std::span<const EmbeddingName> embeddings);

// A chunk of no text.
Chunk empty_chunk(const ClipTokenizer& tokenizer);

}  // namespace hearth::text
