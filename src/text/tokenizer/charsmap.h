// SentencePiece's precompiled normalization: a table from strings to what replaces them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

// The bytes are a length, a double-array trie (darts-clone) whose values are places in the rest, and the rest: texts that end with
// a zero. Nothing of it is trusted: a walk that leaves the trie finds nothing.
class Charsmap {
 public:
  // WeightError where the bytes cannot be one. No bytes at all: nothing is replaced.
  static Charsmap from_bytes(std::string_view bytes);
  static Charsmap from_base64(std::string_view text);

  // As tokenizers' Precompiled does: a grapheme of less than 6 bytes is replaced whole as soon as any beginning of it has an entry, by
  // the entry of the shortest; otherwise each of its characters is looked up alone.
  std::string normalize(std::string_view utf8) const;
  // As SentencePiece does: at each place the longest entry.
  std::string normalize_longest(std::string_view utf8) const;

 private:
  struct Entry {
    size_t length = 0;  // of the key; 0: none
    std::string_view replacement;
  };
  enum class Which { shortest, longest };
  Entry find(std::string_view key, Which which) const;

  std::vector<uint32_t> trie_;
  std::string texts_;
};

}  // namespace hearth::text::pipeline
