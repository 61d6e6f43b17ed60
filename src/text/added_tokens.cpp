#include "text/added_tokens.h"

#include <algorithm>

#include "core/utf8.h"
#include "text/unicode.h"

namespace hearth::text {

void Finder::add(std::u32string content, size_t index) {
  if (content.empty()) return;
  std::vector<Entry>& entries = by_first_[content.front()];
  const auto longer = [](const Entry& a, const Entry& b) { return a.content.size() > b.content.size(); };
  const Entry entry{std::move(content), index};
  entries.insert(std::upper_bound(entries.begin(), entries.end(), entry, longer), entry);
}

std::vector<Finder::Match> Finder::find(std::u32string_view text) const {
  std::vector<Match> matches;
  for (size_t i = 0; i < text.size();) {
    const auto entries = by_first_.find(text[i]);
    size_t end = i;
    if (entries != by_first_.end()) {
      for (const Entry& entry : entries->second) {
        if (!text.substr(i).starts_with(entry.content)) continue;
        end = i + entry.content.size();
        matches.push_back({i, end, entry.index});
        break;
      }
    }
    i = std::max(end, i + 1);
  }
  return matches;
}

AddedTokenSplitter::AddedTokenSplitter(const std::vector<AddedToken>& tokens, Cleaning cleaning) : tokens_(tokens), cleaning_(cleaning) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::u32string content = decode_utf8(tokens_[i].content);
    index_of_.emplace(content, i);
    if (cleaning_ == Cleaning::fast && tokens_[i].normalized) normalized_.add(clean(content, cleaning_), i);
    else raw_.add(content, i);
  }
}

std::vector<Section> AddedTokenSplitter::split(std::u32string_view text) const {
  if (cleaning_ != Cleaning::fast) return split_then_clean(text);
  // First the tokens that are sought in the prompt as typed, then, in what is left and cleaned, the others.
  std::vector<Section> sections;
  for (Section& section : split_fast(text, raw_)) {
    if (section.id >= 0) {
      sections.push_back(std::move(section));
      continue;
    }
    for (Section& part : split_fast(clean(section.text, cleaning_), normalized_)) sections.push_back(std::move(part));
  }
  return sections;
}

std::vector<Section> AddedTokenSplitter::split_then_clean(std::u32string_view text) const {
  std::vector<std::u32string> parts;
  size_t begin = 0;
  for (const Finder::Match& match : raw_.find(text)) {
    if (match.begin > begin) parts.emplace_back(text.substr(begin, match.begin - begin));
    parts.emplace_back(text.substr(match.begin, match.end - match.begin));
    begin = match.end;
  }
  if (begin < text.size()) parts.emplace_back(text.substr(begin));

  // The reference edits the list in place: a neighbour that takes in a single_word token is plain text from then on, even if
  // it was a token itself. lstrip has no effect: cleaning drops that white space anyway.
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto it = index_of_.find(parts[i]);
    if (it == index_of_.end()) continue;
    const AddedToken& token = tokens_[it->second];
    std::u32string* left = i > 0 && !parts[i - 1].empty() ? &parts[i - 1] : nullptr;
    std::u32string* right = i + 1 < parts.size() && !parts[i + 1].empty() ? &parts[i + 1] : nullptr;
    const bool left_blocks = left && left->back() != U' ';
    const bool right_blocks = right && right->front() != U' ';
    if (token.rstrip && right) right->erase(0, size_t(std::find_if_not(right->begin(), right->end(), is_python_space) - right->begin()));
    if (token.single_word && left_blocks) {
      *left += parts[i];
      parts[i].clear();
    } else if (token.single_word && right_blocks) {
      *right = parts[i] + *right;
      parts[i].clear();
    }
  }

  std::vector<Section> sections;
  for (std::u32string& part : parts) {
    if (part.empty()) continue;
    const auto it = index_of_.find(part);
    if (it != index_of_.end()) sections.push_back({std::move(part), tokens_[it->second].id});
    else sections.push_back({clean(part, cleaning_), -1});
  }
  return sections;
}

std::vector<Section> AddedTokenSplitter::split_fast(std::u32string_view text, const Finder& finder) const {
  std::vector<Section> sections;
  size_t done = 0;
  for (const Finder::Match& match : finder.find(text)) {
    const AddedToken& token = tokens_[match.index];
    if (token.single_word) {
      if (match.begin > 0 && is_word_character(text[match.begin - 1])) continue;
      if (match.end < text.size() && is_word_character(text[match.end])) continue;
    }
    size_t begin = match.begin, end = match.end;
    if (token.lstrip)
      while (begin > done && is_white_space(text[begin - 1])) --begin;
    if (token.rstrip)
      while (end < text.size() && is_white_space(text[end])) ++end;
    if (begin > done) sections.push_back({std::u32string(text.substr(done, begin - done)), -1});
    sections.push_back({std::u32string(text.substr(begin, end - begin)), token.id});
    done = end;
  }
  if (done < text.size()) sections.push_back({std::u32string(text.substr(done)), -1});
  return sections;
}

}  // namespace hearth::text
