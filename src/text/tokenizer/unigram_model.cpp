#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/tokenizer/models.h"

namespace hearth::text::pipeline {
namespace {

VocabularyEntries numbered(const std::vector<std::pair<std::string, double>>& scores) {
  VocabularyEntries entries;
  for (const auto& [spelling, score] : scores) entries.emplace_back(spelling, int64_t(entries.size()));
  return entries;
}

class Unigram : public Model {
 public:
  Unigram(const std::vector<std::pair<std::string, double>>& scores, UnigramOptions options)
      : Model(numbered(scores)), unk_(options.unk), options_(std::move(options)) {
    if (unk_ >= int32_t(scores.size())) fail<WeightError>("tokenizer: unk_id is {}, the vocabulary has {} tokens", unk_, scores.size());
    double lowest = std::numeric_limits<double>::infinity();
    for (const auto& [spelling, score] : scores) {
      if (!(std::abs(score) < 1e30)) fail<WeightError>("tokenizer: the token '{}' has the score {}", spelling, score);
      const bool sought = options_.found.empty() || options_.found[scores_.size()];
      if (!spelling.empty() && sought) trie_.add(spelling, int32_t(scores_.size()));
      scores_.push_back(score);
      if (sought) lowest = std::min(lowest, score);
    }
    constexpr double penalty = 10;
    unk_score_ = rounded(lowest - penalty);
    for (int byte = 0; byte < 256; ++byte) bytes_[size_t(byte)] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
  }

  void tokenize(std::string_view piece, std::vector<int32_t>& ids) const override {
    std::vector<Step> steps = best_steps(piece);
    // Follow the best path backward; a run of unknown characters is one token.
    std::vector<Step> path;
    for (size_t end = piece.size(); end > 0;) {
      const Step step = steps[end];
      if (!path.empty() && step.id == unk_ && path.back().id == unk_) path.back().begin = step.begin;
      else path.push_back(step);
      end = step.begin;
    }
    std::ranges::reverse(path);
    for (size_t i = 0; i < path.size(); ++i) {
      const size_t end = i + 1 < path.size() ? path[i + 1].begin : piece.size();
      append(path[i].id, piece.substr(path[i].begin, end - path[i].begin), ids);
    }
  }

 private:
  // The best segmentation up to a position of the text: its score, its last token and the start of that token.
  struct Step {
    double score = 0;
    size_t begin = nowhere;
    int32_t id = 0;
  };
  static constexpr size_t nowhere = ~size_t(0);

  double rounded(double sum) const { return options_.single_precision ? double(float(sum)) : sum; }

  std::vector<Step> best_steps(std::string_view piece) const {
    std::vector<Step> steps(piece.size() + 1);
    const auto offer = [&steps, this](size_t begin, size_t end, int32_t id, double score) {
      Step& step = steps[end];
      const double total = rounded(score + steps[begin].score);
      if (step.begin == nowhere || total > step.score) step = {total, begin, id};
    };
    for (size_t begin = 0; begin < piece.size();) {
      const size_t length = sequence_length(piece[begin]);
      bool covered = false;  // the single character is a token
      Trie::Node node = Trie::root;
      for (size_t end = begin; end < piece.size();) {
        node = trie_.step(node, piece[end++]);
        if (node == Trie::nowhere) break;
        if (const int32_t id = trie_.value(node); id >= 0) {
          offer(begin, end, id, scores_[size_t(id)]);
          covered = covered || end - begin == length;
        }
      }
      if (!covered) {
        if (unk_ < 0) fail<WeightError>("tokenizer: no token covers '{}', and unk_id is null", piece.substr(begin, length));
        offer(begin, begin + length, unk_, unk_score_);
      }
      begin += length;
    }
    return steps;
  }

  void append(int32_t id, std::string_view text, std::vector<int32_t>& ids) const {
    if (id != unk_) return ids.push_back(id);
    // A run of unknown characters may itself spell a token.
    const Trie::Node node = trie_.walk(Trie::root, text);
    if (node != Trie::nowhere && trie_.value(node) >= 0) return ids.push_back(trie_.value(node));
    const bool all = options_.byte_fallback && std::ranges::all_of(text, [this](char byte) { return bytes_[uint8_t(byte)] >= 0; });
    if (!all) return ids.push_back(unk_);
    for (const char byte : text) ids.push_back(bytes_[uint8_t(byte)]);
  }

  int32_t unk_;
  UnigramOptions options_;
  double unk_score_ = 0;
  std::vector<double> scores_;
  Trie trie_;
  std::array<int32_t, 256> bytes_{};
};

}  // namespace

std::unique_ptr<Model> make_unigram(const std::vector<std::pair<std::string, double>>& scores, UnigramOptions options) {
  return std::make_unique<Unigram>(scores, std::move(options));
}

}  // namespace hearth::text::pipeline
