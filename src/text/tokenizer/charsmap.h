// SentencePiece's precompiled normalization: a table from strings to replacements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::pipeline {

// The bytes are a length, a double-array trie (darts-clone) whose values are offsets into the rest, and the rest: zero-terminated texts.
// All of it is untrusted: a walk that leaves the trie finds nothing.
class Charsmap {
 public:
  // WeightError for malformed bytes. An empty map replaces nothing.
  static Charsmap from_bytes(std::string_view bytes);
  static Charsmap from_base64(std::string_view text);

  // Like tokenizers' Precompiled: a grapheme of less than 6 bytes is replaced as a whole if any prefix of it has an entry, by the entry of
  // the shortest one; otherwise each of its characters is looked up separately.
  std::string normalize(std::string_view utf8) const;
  // Like SentencePiece: the longest entry at each position.
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
