#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <queue>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/tokenizer/models.h"

namespace hearth::text::pipeline {
namespace {

uint64_t key(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

struct Merge {
  int32_t rank = 0, result = 0;
};

// A pair of neighbors that could be merged. It is outdated if either has changed.
struct Candidate {
  int32_t rank;
  uint32_t position;
  int32_t result;
};
struct Later {
  bool operator()(const Candidate& a, const Candidate& b) const { return a.rank != b.rank ? a.rank > b.rank : a.position > b.position; }
};

struct Symbol {
  int32_t id;
  uint32_t previous, next;
};
constexpr uint32_t none = ~0u;
constexpr int32_t removed = -1;

class BytePairs : public Model {
 public:
  BytePairs(VocabularyEntries entries, const Merges& merges, BytePairOptions options)
      : Model(std::move(entries)), options_(std::move(options)) {
    if (!options_.unk_token.empty()) unk_ = vocabulary.find(options_.unk_token);
    for (int byte = 0; byte < 256; ++byte) bytes_[size_t(byte)] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
    for (char32_t c = 0; c < short_[0][0].size(); ++c) {
      const std::string character = encode_utf8(std::u32string(1, c));
      for (const bool first : {false, true})
        for (const bool last : {false, true}) short_[first][last][c] = look_up_character(character, first, last);
    }
    const size_t prefix = options_.continuing_subword_prefix.size();
    int32_t rank = 0;
    std::string joined;
    for (const auto& [left, right] : merges) {
      if (right.size() < prefix)
        fail<WeightError>("tokenizer: the merge of '{}' and '{}' has no '{}'", left, right, options_.continuing_subword_prefix);
      joined.assign(left).append(right, prefix);
      const int32_t left_id = id_of(left), right_id = id_of(right);
      merges_[key(left_id, right_id)] = {rank++, id_of(joined)};
    }
  }

  void tokenize(std::string_view piece, std::vector<int32_t>& ids) const override {
    if (options_.ignore_merges) {
      if (const int32_t whole = vocabulary.find(piece); whole >= 0) return ids.push_back(whole);
    }
    for (const std::string& word : options_.whole_words)
      if (piece == word) return append_whole(piece, ids);
    const size_t begin = ids.size();
    append_characters(piece, ids);
    if (ids.size() - begin >= 2) merge(ids, begin);
  }

 private:
  int32_t id_of(const std::string& token) const {
    const int32_t id = vocabulary.find(token);
    if (id < 0) fail<WeightError>("tokenizer: a merge names the token '{}', which the vocabulary lacks", token);
    return id;
  }

  int32_t find_character(std::string_view character, bool first, bool last) const {
    if (character.size() > 2) return look_up_character(character, first, last);
    size_t at = 0;
    return short_[first][last][next_character(character, at)];
  }
  int32_t look_up_character(std::string_view character, bool first, bool last) const {
    const bool prefixed = !first && !options_.continuing_subword_prefix.empty();
    const bool suffixed = last && !options_.end_of_word_suffix.empty();
    if (!prefixed && !suffixed) return vocabulary.find(character);
    return vocabulary.find(spelled(character, prefixed, suffixed));
  }
  std::string spelled(std::string_view character, bool prefixed, bool suffixed) const {
    std::string spelling;
    if (prefixed) spelling += options_.continuing_subword_prefix;
    spelling += character;
    if (suffixed) spelling += options_.end_of_word_suffix;
    return spelling;
  }

  void append_whole(std::string_view word, std::vector<int32_t>& ids) const {
    const int32_t id = vocabulary.find(word);
    if (id >= 0 || unk_ >= 0) ids.push_back(id >= 0 ? id : unk_);
  }

  // The ids of the characters before any merge.
  void append_characters(std::string_view piece, std::vector<int32_t>& ids) const {
    bool unknown = false;  // an unknown token is pending; later bytes are emitted before it, as in the reference
    for (size_t at = 0; at < piece.size();) {
      const size_t length = sequence_length(piece[at]);
      const std::string_view character = piece.substr(at, length);
      const bool first = at == 0, last = at + length >= piece.size();
      at += length;
      if (const int32_t id = find_character(character, first, last); id >= 0) {
        if (unknown) ids.push_back(unk_);
        unknown = false;
        ids.push_back(id);
      } else if (!options_.byte_fallback || !append_bytes(character, first, last, ids)) {
        if (options_.unk_token.empty()) continue;
        if (unk_ < 0) fail<WeightError>("tokenizer: the unknown token '{}' is not in the vocabulary", options_.unk_token);
        if (unknown && !options_.fuse_unk) ids.push_back(unk_);
        unknown = true;
      }
    }
    if (unknown) ids.push_back(unk_);
  }

  bool append_bytes(std::string_view character, bool first, bool last, std::vector<int32_t>& ids) const {
    const std::string spelling = spelled(character, !first, last);
    for (const char byte : spelling)
      if (bytes_[uint8_t(byte)] < 0) return false;
    for (const char byte : spelling) ids.push_back(bytes_[uint8_t(byte)]);
    return true;
  }

  void merge(std::vector<int32_t>& ids, size_t begin) const {
    std::vector<Symbol> symbols(ids.size() - begin);
    for (size_t i = 0; i < symbols.size(); ++i)
      symbols[i] = {ids[begin + i], i == 0 ? none : uint32_t(i - 1), i + 1 == symbols.size() ? none : uint32_t(i + 1)};
    std::vector<Candidate> candidates, found;  // `found`: candidates of the current round, added at its end
    const auto find = [&](uint32_t at, std::vector<Candidate>& into) {
      const Merge* merge = merges_.find(key(symbols[at].id, symbols[symbols[at].next].id));
      if (merge) into.push_back({merge->rank, at, merge->result});
      return merge != nullptr;
    };
    const auto find_later = [&](uint32_t at) {
      if (options_.in_rounds) find(at, found);
      else if (find(at, candidates)) std::ranges::push_heap(candidates, Later{});
    };
    candidates.reserve(symbols.size());
    for (uint32_t i = 0; i + 1 < symbols.size(); ++i) find(i, candidates);
    std::ranges::make_heap(candidates, Later{});
    int32_t round = -1;
    while (true) {
      if (candidates.empty() || candidates.front().rank != round) {
        for (const Candidate& c : found) {
          candidates.push_back(c);
          std::ranges::push_heap(candidates, Later{});
        }
        found.clear();
        if (candidates.empty()) break;
        round = candidates.front().rank;
      }
      std::ranges::pop_heap(candidates, Later{});
      const Candidate top = candidates.back();
      candidates.pop_back();
      Symbol& left = symbols[top.position];
      if (left.id == removed || left.next == none) continue;
      Symbol& right = symbols[left.next];
      const Merge* merge = merges_.find(key(left.id, right.id));
      if (!merge || merge->result != top.result) continue;
      left.id = top.result;
      left.next = right.next;
      right.id = removed;
      if (left.next != none) symbols[left.next].previous = top.position;
      if (left.previous != none) find_later(left.previous);
      if (left.next != none) find_later(top.position);
    }
    size_t end = begin;
    for (const Symbol& s : symbols)
      if (s.id != removed) ids[end++] = s.id;
    ids.resize(end);
  }

  BytePairOptions options_;
  int32_t unk_ = -1;
  std::array<int32_t, 256> bytes_{};
  std::array<int32_t, 0x800> short_[2][2];  // the ids of characters of at most two bytes: [first][last][character]
  HashTable<Merge> merges_;
};

}  // namespace

std::unique_ptr<Model> make_byte_pairs(VocabularyEntries vocabulary, const Merges& merges, const BytePairOptions& options) {
  return std::make_unique<BytePairs>(std::move(vocabulary), merges, options);
}

}  // namespace hearth::text::pipeline
