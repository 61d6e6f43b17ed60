#include "text/tokenizer/added_vocabulary.h"

#include <algorithm>

#include "core/utf8.h"
#include "text/unicode.h"

namespace hearth::text::pipeline {
namespace {

bool ends_with_word(std::string_view text) {
  size_t at = text.size();
  return at > 0 && is_word_character(previous_character(text, at));
}

bool starts_with_word(std::string_view text) {
  size_t at = 0;
  return !text.empty() && is_word_character(next_character(text, at));
}

// Where the white space at the end of the text begins.
size_t space_at_end(std::string_view text) {
  size_t begin = text.size();
  for (size_t at = begin; at > 0 && is_white_space(previous_character(text, at));) begin = at;
  return begin;
}

// Where the white space at the beginning of the text ends.
size_t space_at_start(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size() && is_white_space(next_character(text, at));) end = at;
  return end;
}

}  // namespace

void AddedVocabulary::add(const AddedToken& token, const Model& model) {
  if (token.content.empty()) return;
  const auto same = [&](const auto& known) { return known.second == token; };
  const int32_t known = find(token.content);
  if (token.special && special_.insert(token.content).second) special_order_.push_back(token);
  if (known >= 0 && same(*tokens_.find(known))) return;

  int32_t id = known >= 0 ? known : model.vocabulary.find(token.content);
  if (id < 0) {
    // The reference counts the tokens of the model, whatever their ids are.
    const auto size = int32_t(model.vocabulary.size());
    id = max_id() >= size || (size == 0 && !tokens_.empty()) ? max_id() + 1 : size;
  }
  ids_[token.content] = id;
  tokens_[id] = token;
  if (!special_.contains(token.content)) other_order_.push_back(token);
}

void AddedVocabulary::finish(const Normalizer* normalizer) {
  raw_ = {};
  normalized_ = {};
  for (const auto* order : {&special_order_, &other_order_})
    for (const AddedToken& token : *order) {
      const int32_t id = find(token.content);
      if (!token.normalized) {
        raw_.add(token.content, id);
        continue;
      }
      Text content{.bytes = token.content, .origin = 0};
      if (normalizer) normalizer->apply(content);
      if (!content.bytes.empty()) normalized_.add(content.bytes, id);
    }
}

std::vector<AddedVocabulary::Part> AddedVocabulary::cut(std::string_view text, const Trie& trie, bool parse_special) const {
  std::vector<Part> parts;
  size_t done = 0;
  for (size_t at = 0; !trie.empty() && at < text.size();) {
    Trie::Node node = Trie::root;
    int32_t id = -1;
    size_t match_end = at;
    for (size_t i = at; i < text.size() && (node = trie.step(node, text[i])) != Trie::nowhere; ++i)
      if (trie.value(node) >= 0) {
        id = trie.value(node);
        match_end = i + 1;
      }
    if (id < 0) {
      ++at;
      continue;
    }
    size_t begin = at, end = match_end;
    at = match_end;
    const AddedToken& token = tokens_.at(id);
    if (!parse_special && special_.contains(token.content)) continue;
    if (token.single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end)))) continue;
    if (token.lstrip) begin = std::max(space_at_end(text.substr(0, begin)), done);
    if (token.rstrip) end += space_at_start(text.substr(end));
    if (done < begin) parts.push_back({done, begin, -1});
    parts.push_back({begin, end, id});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), -1});
  return parts;
}

const AddedToken* AddedVocabulary::token(int32_t id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? nullptr : &found->second;
}

int32_t AddedVocabulary::find(std::string_view content) const {
  const auto found = ids_.find(std::string(content));
  return found == ids_.end() ? -1 : found->second;
}

}  // namespace hearth::text::pipeline
