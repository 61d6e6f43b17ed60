#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/tokenizer/models.h"

namespace hearth::text::pipeline {
namespace {

struct Symbol {
  size_t begin, size;  // of its text; size 0: merged into the previous one
  size_t previous, next;
};
constexpr size_t none = ~size_t(0);

struct Candidate {
  float score;
  size_t left, size;  // the pair's first symbol; bytes of both
};
struct Worse {
  bool operator()(const Candidate& a, const Candidate& b) const { return a.score != b.score ? a.score < b.score : a.left > b.left; }
};

class ScoredPairs : public Model {
 public:
  ScoredPairs(VocabularyEntries entries, std::vector<float> scores, std::vector<bool> mergeable, int32_t unk)
      : Model(std::move(entries)), scores_(std::move(scores)), mergeable_(std::move(mergeable)), unk_(unk) {
    for (int byte = 0; byte < 256; ++byte) {
      bytes_[size_t(byte)] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
      byte_fallback_ = byte_fallback_ && bytes_[size_t(byte)] >= 0;
    }
  }

  void tokenize(std::string_view piece, std::vector<int32_t>& ids) const override {
    std::vector<Symbol> symbols;
    for (size_t at = 0; at < piece.size();) {
      const size_t size = std::min(sequence_length(piece[at]), piece.size() - at);
      symbols.push_back({at, size, symbols.empty() ? none : symbols.size() - 1, symbols.size() + 1});
      at += size;
    }
    symbols.back().next = none;
    merge(piece, symbols);

    bool unknown = false;  // the last token is the unknown one
    for (const Symbol& s : symbols) {
      if (s.size == 0) continue;
      const std::string_view text = piece.substr(s.begin, s.size);
      const int32_t id = find(text);
      if (id >= 0) {
        ids.push_back(id);
      } else if (byte_fallback_) {
        for (const char byte : text) ids.push_back(bytes_[uint8_t(byte)]);
      } else if (!unknown) {
        if (unk_ < 0) fail<WeightError>("tokenizer: no token covers '{}', and the vocabulary has no unknown token", text);
        ids.push_back(unk_);
      }
      unknown = id < 0 && !byte_fallback_;
    }
  }

 private:
  int32_t find(std::string_view text) const {
    const int32_t id = vocabulary.find(text);
    return id >= 0 && mergeable_[size_t(id)] ? id : -1;
  }

  void merge(std::string_view piece, std::vector<Symbol>& symbols) const {
    std::vector<Candidate> candidates;
    const auto candidate = [&](size_t left) {
      const size_t size = symbols[left].size + symbols[symbols[left].next].size;
      const int32_t id = find(piece.substr(symbols[left].begin, size));
      if (id >= 0) candidates.push_back({scores_[size_t(id)], left, size});
      return id >= 0;
    };
    for (size_t i = 0; i + 1 < symbols.size(); ++i) candidate(i);
    std::ranges::make_heap(candidates, Worse{});
    while (!candidates.empty()) {
      std::ranges::pop_heap(candidates, Worse{});
      const Candidate top = candidates.back();
      candidates.pop_back();
      Symbol& left = symbols[top.left];
      if (left.size == 0 || left.next == none) continue;
      Symbol& right = symbols[left.next];
      if (left.size + right.size != top.size) continue;
      left.size = top.size;
      left.next = right.next;
      right.size = 0;
      if (left.next != none) symbols[left.next].previous = top.left;
      if (left.previous != none && candidate(left.previous)) std::ranges::push_heap(candidates, Worse{});
      if (left.next != none && candidate(top.left)) std::ranges::push_heap(candidates, Worse{});
    }
  }

  std::vector<float> scores_;
  std::vector<bool> mergeable_;
  int32_t unk_;
  std::array<int32_t, 256> bytes_{};
  bool byte_fallback_ = true;
};

}  // namespace

std::unique_ptr<Model> make_scored_pairs(VocabularyEntries vocabulary, std::vector<float> scores, std::vector<bool> mergeable,
                                         int32_t unk) {
  return std::make_unique<ScoredPairs>(std::move(vocabulary), std::move(scores), std::move(mergeable), unk);
}

}  // namespace hearth::text::pipeline
