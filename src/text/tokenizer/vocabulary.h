// Tokens by spelling and by id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/hash_table.h"

namespace hearth::text::pipeline {

using VocabularyEntries = std::vector<std::pair<std::string, int64_t>>;

// Immutable after construction. Not movable, because it holds views of its own entries.
class Vocabulary {
 public:
  // WeightError for an id that is negative or does not fit in 32 bits, and for a duplicate id or spelling.
  explicit Vocabulary(VocabularyEntries entries);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // -1 if there is none.
  int32_t find(std::string_view spelling) const;
  // nullptr if there is none.
  const std::string* spelling(int32_t id) const;
  size_t size() const { return entries_.size(); }
  int32_t max_id() const { return entries_.empty() ? -1 : int32_t(entries_.back().second); }
  const VocabularyEntries& entries() const { return entries_; }  // by id

 private:
  size_t place(std::string_view spelling) const;

  VocabularyEntries entries_;
  std::vector<uint32_t> slots_;  // 1 + index into entries_, 0: free
};

// A trie of strings, over bytes.
class Trie {
 public:
  // The first of equal strings counts. `value` is not negative.
  void add(std::string_view text, int32_t value);

  using Node = uint32_t;
  static constexpr Node root = 0;
  static constexpr Node nowhere = ~0u;
  Node step(Node node, char byte) const;
  int32_t value(Node node) const { return values_[node]; }  // -1 if no string ends here
  Node walk(Node node, std::string_view text) const;
  bool empty() const { return values_.size() == 1 && values_[0] < 0; }

 private:
  HashTable<Node> steps_;
  std::vector<int32_t> values_ = {-1};
  std::vector<Node> from_root_ = std::vector<Node>(256, nowhere);
};

}  // namespace hearth::text::pipeline
