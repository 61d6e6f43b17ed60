// Added tokens, which are found in a text before any other step: special tokens, and tokens that were added after training.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/tokenizer/models.h"
#include "text/tokenizer/normalizers.h"

namespace hearth::text::pipeline {

struct AddedToken {
  std::string content;
  bool single_word = false;  // matches only if no word character is adjacent
  bool lstrip = false;       // consumes the white space before it
  bool rstrip = false;       // consumes the white space after it
  bool normalized = true;    // normalized, and searched for in the normalized text
  bool special = false;      // omitted by skip_special_tokens
  bool operator==(const AddedToken&) const = default;
};

// The rules for matching added tokens.
enum class CutRule {
  fast,  // tokenizers
  // The Python tokenizers of transformers 4.x. All tokens are searched for in the text as typed. A `single_word` token counts only between
  // spaces; anywhere else it joins its neighbors, and they all become plain text, even a neighbor that is a token itself. `lstrip` has no
  // effect: the normalizers of these tokenizers already strip the text before a token.
  slow,
};

class AddedVocabulary {
 public:
  // A token of the model's vocabulary keeps its id; any other gets the next free one. A token that was added before is unchanged, or gets
  // the new flags.
  void add(const AddedToken& token, const Model& model);
  // Call after the last add().
  void finish(const Normalizer* normalizer, CutRule rule = CutRule::fast);

  struct Segment {
    size_t begin, end;
    int32_t id;  // of the token, or -1 for text between tokens
  };
  // Splits a text: cut_raw() at the tokens that are not normalized, cut_normalized() at the others. `parse_special` false: special tokens
  // are text. With CutRule::slow the white space that `rstrip` consumes is removed from `text`.
  std::vector<Segment> cut_raw(std::string& text, bool parse_special) const;
  std::vector<Segment> cut_normalized(std::string_view text, bool parse_special) const { return cut(text, normalized_, parse_special); }

  const AddedToken* token(int32_t id) const;  // nullptr if there is none
  int32_t find(std::string_view content) const;
  bool is_special(std::string_view content) const { return special_.contains(std::string(content)); }
  int32_t max_id() const { return tokens_.empty() ? -1 : tokens_.rbegin()->first; }
  const std::map<int32_t, AddedToken>& tokens() const { return tokens_; }

 private:
  std::vector<Segment> matches(std::string_view text, const Trie& trie, bool parse_special) const;
  std::vector<Segment> cut(std::string_view text, const Trie& trie, bool parse_special) const;
  std::vector<Segment> cut_slow(std::string& text, bool parse_special) const;

  std::map<int32_t, AddedToken> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_set<std::string> special_;
  std::vector<AddedToken> special_order_, other_order_;  // in order of addition: the first of equal contents counts
  CutRule rule_ = CutRule::fast;
  Trie raw_, normalized_;
};

}  // namespace hearth::text::pipeline
