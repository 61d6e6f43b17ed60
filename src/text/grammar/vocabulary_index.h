// The tokens of a vocabulary as a tree of their bytes, with the masks that were computed for it. Make one per tokenizer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/grammar/lru.h"
#include "text/grammar/program.h"

namespace hearth::text::grammar {

// A set of token ids.
class TokenMask {
 public:
  explicit TokenMask(size_t size) : words((size + 63) / 64, 0), size_(size) {}
  bool operator[](size_t id) const { return (words[id / 64] >> (id % 64) & 1) != 0; }
  void set(size_t id) { words[id / 64] |= uint64_t(1) << (id % 64); }
  size_t size() const { return size_; }
  size_t count() const;
  bool none() const;

  std::vector<uint64_t> words;  // bit id % 64 of word id / 64; bits beyond size() are 0

 private:
  size_t size_;
};

// Which tokens may follow in one state of a rule, whatever has called the rule.
struct StateMask {
  std::vector<uint32_t> tokens;  // if they are few
  std::vector<uint64_t> words;   // else: as in TokenMask
  // Nodes of the tree in front of whose byte the rule may have ended, sorted by that byte, with the start of each byte's nodes.
  std::vector<uint32_t> after_end;
  std::vector<uint32_t> starts;  // 257, or none if after_end is empty
};

// Constant but for the masks that it keeps; any number of threads may use it. Neither copied nor moved: states refer to it.
class VocabularyIndex {
 public:
  // tokens[id]: the bytes that the token adds to the text; empty for special tokens and unused ids, which no mask ever allows. `ends`: the
  // ids that end a text (EOS, end of turn), allowed where a grammar is complete; their bytes do not count. `cache_bytes` bounds the masks.
  // UsageError for an id in `ends` that is not in the vocabulary, and for a token of more than 65535 bytes.
  VocabularyIndex(std::vector<std::string> tokens, std::vector<int32_t> ends, size_t cache_bytes = size_t(64) << 20);
  VocabularyIndex(const VocabularyIndex&) = delete;
  VocabularyIndex& operator=(const VocabularyIndex&) = delete;

  size_t size() const { return tokens_.size(); }
  // UsageError for an id that is not in the vocabulary.
  const std::string& token(int32_t id) const;
  bool is_end(int32_t id) const;
  std::span<const int32_t> ends() const { return ends_; }

  // The tree, in preorder. Node 0 is the root, which stands for no byte.
  struct Node {
    uint32_t end;          // one behind the last node below it
    uint32_t first_token;  // its tokens are ids()[first_token … first_token of the next node − 1]
    uint16_t depth;
    uint8_t byte;
    uint16_t plain_height;  // how many bytes follow below, if all of them are plain (program.h), else not_plain
  };
  static constexpr uint16_t not_plain = 0xffff;
  std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size() - 1}; }  // a node follows the last one
  std::span<const uint32_t> ids_at(size_t node) const {
    return std::span(ids_).subspan(nodes_[node].first_token, nodes_[node + 1].first_token - nodes_[node].first_token);
  }
  // Those of a node and all nodes below it.
  std::span<const uint32_t> ids_from(size_t node) const {
    return std::span(ids_).subspan(nodes_[node].first_token, nodes_[nodes_[node].end].first_token - nodes_[node].first_token);
  }
  int32_t longest() const { return longest_; }  // bytes of the longest token

  mutable Lru<Hash, StateMask> state_masks;
  mutable Lru<Hash, TokenMask> masks;

 private:
  std::vector<std::string> tokens_;
  std::vector<int32_t> ends_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> ids_;
  int32_t longest_ = 0;
};

}  // namespace hearth::text::grammar
