// Reads vocab.json and merges.txt.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "text/clip/clip_readers.h"

namespace hearth::text {

using Json = nlohmann::json;

Json parse_object(const std::string& text, const std::string& where) {
  Json json = parse_json(text, where);
  if (!json.is_object()) fail<IoError>("{}: is not a JSON object", where);
  return json;
}

int32_t token_id(const Json& value, const std::string& token, const std::string& where) {
  constexpr uint64_t largest = std::numeric_limits<int32_t>::max();
  if (!value.is_number_unsigned() || value.get<uint64_t>() > largest)
    fail<WeightError>("{}: token '{}' has id {}, expected an integer from 0 to {}", where, token, value.dump(), largest);
  return int32_t(value.get<uint64_t>());
}

void TokenList::add(const std::string& token, int32_t id, const std::string& where) {
  const auto by_name = ids_.emplace(token, id).first;
  if (by_name->second != id) fail<WeightError>("{}: token '{}' has id {}, elsewhere it has {}", where, token, id, by_name->second);
  const std::string*& by_id = tokens_[uint64_t(id)];
  if (!by_id) by_id = &by_name->first;
  if (*by_id != token) fail<WeightError>("{}: id {} belongs to '{}' and to '{}', expected one token per id", where, id, *by_id, token);
}

int32_t TokenList::find(std::string_view token) const {
  const auto it = ids_.find(token);
  return it == ids_.end() ? -1 : it->second;
}

pipeline::VocabularyEntries TokenList::entries() const {
  std::vector<std::pair<int32_t, const std::string*>> by_id;
  by_id.reserve(ids_.size());
  for (const auto& [token, id] : ids_) by_id.emplace_back(id, &token);
  std::ranges::sort(by_id);
  pipeline::VocabularyEntries entries;
  entries.reserve(by_id.size());
  for (const auto& [id, token] : by_id) entries.emplace_back(*token, id);
  return entries;
}

void read_vocabulary(TokenList& tokens, const Json& vocabulary, const std::string& where) {
  if (vocabulary.empty()) fail<WeightError>("{}: holds no tokens", where);
  tokens.reserve(vocabulary.size() + 64);
  for (const auto& [token, id] : vocabulary.items()) tokens.add(token, token_id(id, token, where), where);
}

int32_t MergeList::id_of(std::string_view token, size_t place) const {
  const int32_t id = tokens_.find(token);
  if (id < 0) fail<WeightError>("{} {}: the merge requires the token '{}', which the vocabulary lacks", where_, place, token);
  return id;
}

void MergeList::add(std::string_view left, std::string_view right, size_t place) {
  joined_.assign(left).append(right);
  const int32_t left_id = id_of(left, place), right_id = id_of(right, place);
  id_of(joined_, place);
  bool& seen = seen_[uint64_t(uint32_t(left_id)) << 32 | uint32_t(right_id)];
  if (seen) fail<WeightError>("{} {}: the merge '{} {}' occurs twice", where_, place, left, right);
  seen = true;
  merges.emplace_back(left, right);
}

pipeline::Merges read_merges(const TokenList& tokens, std::string_view text, const std::string& where) {
  // The reference reads at most this many; the rest of OpenAI's longer original file does not belong to CLIP.
  constexpr size_t most = 49152 - 256 - 2;
  constexpr std::string_view blanks = " \t\r";
  MergeList list(tokens, where + ": line");
  size_t empty_line = 0;
  for (size_t number = 1; !text.empty() && list.merges.size() < most; ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (number == 1) {
      if (line.find("#version") == line.npos) fail<WeightError>("{}: line 1 is '{}', expected '#version: …'", where, line.substr(0, 80));
      continue;
    }
    const std::string_view shown = line.substr(0, 80);
    std::string_view words[3];
    for (std::string_view& word : words) {
      line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
      word = line.substr(0, line.find_first_of(blanks));
      line.remove_prefix(word.size());
    }
    if (words[0].empty()) {
      if (empty_line == 0) empty_line = number;  // allowed only at the end
      continue;
    }
    if (empty_line != 0) fail<WeightError>("{}: line {} is empty, expected two pieces", where, empty_line);
    if (words[1].empty() || !words[2].empty()) fail<WeightError>("{}: line {} is '{}', expected two pieces", where, number, shown);
    list.add(words[0], words[1], number);
  }
  return std::move(list.merges);
}

}  // namespace hearth::text
