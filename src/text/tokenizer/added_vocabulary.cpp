#include "text/tokenizer/added_vocabulary.h"

#include <algorithm>

#include "core/text/utf8.h"
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

// The start of the white space at the end of the text.
size_t space_at_end(std::string_view text) {
  size_t begin = text.size();
  for (size_t at = begin; at > 0 && is_white_space(previous_character(text, at));) begin = at;
  return begin;
}

// The end of the white space at the start of the text.
size_t space_at_start(std::string_view text, bool (*is_space)(char32_t)) {
  size_t end = 0;
  for (size_t at = 0; at < text.size() && is_space(next_character(text, at));) end = at;
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
    // The reference uses the number of tokens in the model, regardless of their ids.
    const auto size = int32_t(model.vocabulary.size());
    id = max_id() >= size || (size == 0 && !tokens_.empty()) ? max_id() + 1 : size;
  }
  ids_[token.content] = id;
  tokens_[id] = token;
  if (!special_.contains(token.content)) other_order_.push_back(token);
}

void AddedVocabulary::finish(const Normalizer* normalizer, CutRule rule) {
  rule_ = rule;
  raw_ = {};
  normalized_ = {};
  for (const auto* order : {&special_order_, &other_order_})
    for (const AddedToken& token : *order) {
      const int32_t id = find(token.content);
      if (!token.normalized || rule == CutRule::slow) {
        raw_.add(token.content, id);
        continue;
      }
      Text content{.bytes = token.content, .origin = 0};
      if (normalizer) normalizer->apply(content);
      if (!content.bytes.empty()) normalized_.add(content.bytes, id);
    }
}

// The leftmost, longest non-overlapping tokens.
std::vector<AddedVocabulary::Segment> AddedVocabulary::matches(std::string_view text, const Trie& trie, bool parse_special) const {
  std::vector<Segment> found;
  for (size_t at = 0; !trie.empty() && at < text.size();) {
    Trie::Node node = Trie::root;
    Segment match{at, at + 1, -1};
    for (size_t i = at; i < text.size() && (node = trie.step(node, text[i])) != Trie::nowhere; ++i)
      if (trie.value(node) >= 0) match = {at, i + 1, trie.value(node)};
    at = match.end;
    if (match.id >= 0 && (parse_special || !special_.contains(tokens_.at(match.id).content))) found.push_back(match);
  }
  return found;
}

std::vector<AddedVocabulary::Segment> AddedVocabulary::cut(std::string_view text, const Trie& trie, bool parse_special) const {
  std::vector<Segment> parts;
  size_t done = 0;
  for (auto [begin, end, id] : matches(text, trie, parse_special)) {
    const AddedToken& token = tokens_.at(id);
    if (token.single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end)))) continue;
    if (token.lstrip) begin = std::max(space_at_end(text.substr(0, begin)), done);
    if (token.rstrip) end += space_at_start(text.substr(end), is_white_space);
    if (done < begin) parts.push_back({done, begin, -1});
    parts.push_back({begin, end, id});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), -1});
  return parts;
}

std::vector<AddedVocabulary::Segment> AddedVocabulary::cut_slow(std::string& text, bool parse_special) const {
  const std::vector<Segment> found = matches(text, raw_, parse_special);
  if (found.empty()) return text.empty() ? std::vector<Segment>() : std::vector<Segment>{{0, text.size(), -1}};

  std::vector<std::string> stretches;
  size_t done = 0;
  for (const Segment& match : found) {
    if (done < match.begin) stretches.push_back(text.substr(done, match.begin - done));
    stretches.push_back(text.substr(match.begin, match.end - match.begin));
    done = match.end;
  }
  if (done < text.size()) stretches.push_back(text.substr(done));

  // The reference edits this list in place, and reads each entry in its current state.
  const auto token_of = [&](const std::string& stretch) {
    const AddedToken* found_token = token(find(stretch));
    return found_token && (parse_special || !special_.contains(stretch)) ? found_token : nullptr;
  };
  for (size_t i = 0; i < stretches.size(); ++i) {
    const AddedToken* own = token_of(stretches[i]);
    if (!own) continue;
    std::string* left = i > 0 && !stretches[i - 1].empty() ? &stretches[i - 1] : nullptr;
    std::string* right = i + 1 < stretches.size() && !stretches[i + 1].empty() ? &stretches[i + 1] : nullptr;
    const bool left_blocks = left && left->back() != ' ', right_blocks = right && right->front() != ' ';
    if (own->rstrip && right) right->erase(0, space_at_start(*right, is_python_space));
    if (!own->single_word || (!left_blocks && !right_blocks)) continue;
    if (left_blocks) left->append(stretches[i]);
    else right->insert(0, stretches[i]);
    stretches[i].clear();
  }

  text.clear();
  std::vector<Segment> parts;
  for (const std::string& stretch : stretches) {
    if (stretch.empty()) continue;
    parts.push_back({text.size(), text.size() + stretch.size(), token_of(stretch) ? find(stretch) : -1});
    text += stretch;
  }
  return parts;
}

std::vector<AddedVocabulary::Segment> AddedVocabulary::cut_raw(std::string& text, bool parse_special) const {
  return rule_ == CutRule::slow ? cut_slow(text, parse_special) : cut(text, raw_, parse_special);
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
