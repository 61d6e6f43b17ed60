// The vocabulary of a GGUF file, from its `tokenizer.ggml.*` keys. A reader of GGUF files fills it in for Tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth::text {

// tokenizer.ggml.model of SentencePiece's BPE by score, of byte-level BPE, and of RWKV's world vocabulary.
inline constexpr const char *gguf_scored_pairs = "llama", *gguf_byte_pairs = "gpt2", *gguf_world = "rwkv";

struct GgufVocabulary {
  std::string model;                 // llama: SentencePiece BPE by score; gpt2: byte-level BPE; t5: Unigram; bert: WordPiece;
                                     // rwkv: the longest token, written as Python writes bytes
  std::string pre;                   // gpt2: the name of the split pattern ("llama-bpe", "qwen2", …)
  std::vector<std::string> tokens;   // token i has id i; invalid UTF-8 counts as U+FFFD
  std::vector<float> scores;         // llama and t5: one per token
  std::vector<int32_t> token_types;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte; empty: all normal
  std::vector<std::string> merges;   // gpt2: "left right", best first
  std::optional<int32_t> bos, eos, unk, pad, sep, cls, mask;
  std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;  // empty: the default of the model
  std::string precompiled_charsmap;                                                  // t5: the normalizer of SentencePiece
};

}  // namespace hearth::text
