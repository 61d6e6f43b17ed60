#include "core/error.h"
#include "core/text/utf8.h"
#include "text/tokenizer/models.h"

namespace hearth::text::pipeline {
namespace {

int32_t unknown_id(const Vocabulary& vocabulary, const std::string& unk_token) {
  const int32_t id = vocabulary.find(unk_token);
  if (id < 0) fail<WeightError>("tokenizer: the unknown token '{}' is not in the vocabulary", unk_token);
  return id;
}

class WordPiece : public Model {
 public:
  WordPiece(VocabularyEntries entries, std::string unk_token, const std::string& prefix, int64_t longest)
      : Model(std::move(entries)), unk_token_(std::move(unk_token)), longest_(longest) {
    for (const auto& [spelling, id] : vocabulary.entries())
      if (!spelling.empty()) trie_.add(spelling, int32_t(id));
    inside_ = trie_.walk(Trie::root, prefix);
  }

  void tokenize(std::string_view piece, std::vector<int32_t>& ids) const override {
    int64_t characters = 0;
    for (const char byte : piece) characters += is_continuation(byte) ? 0 : 1;
    const size_t before = ids.size();
    if (characters <= longest_ && append_longest(piece, ids)) return;
    ids.resize(before);
    ids.push_back(unknown_id(vocabulary, unk_token_));
  }

 private:
  bool append_longest(std::string_view piece, std::vector<int32_t>& ids) const {
    for (size_t at = 0; at < piece.size();) {
      Trie::Node node = at == 0 ? Trie::root : inside_;
      int32_t best = -1;
      size_t best_end = at;
      for (size_t end = at; node != Trie::nowhere && end < piece.size();) {
        node = trie_.step(node, piece[end++]);
        const bool whole = end == piece.size() || !is_continuation(piece[end]);
        if (node != Trie::nowhere && whole && trie_.value(node) >= 0) {
          best = trie_.value(node);
          best_end = end;
        }
      }
      if (best < 0) return false;
      ids.push_back(best);
      at = best_end;
    }
    return true;
  }

  std::string unk_token_;
  int64_t longest_;
  Trie trie_;
  Trie::Node inside_ = Trie::root;  // node where tokens that continue a word start
};

class WordLevel : public Model {
 public:
  WordLevel(VocabularyEntries entries, std::string unk_token) : Model(std::move(entries)), unk_token_(std::move(unk_token)) {}

  void tokenize(std::string_view piece, std::vector<int32_t>& ids) const override {
    const int32_t id = vocabulary.find(piece);
    ids.push_back(id >= 0 ? id : unknown_id(vocabulary, unk_token_));
  }

 private:
  std::string unk_token_;
};

}  // namespace

std::unique_ptr<Model> make_word_piece(VocabularyEntries vocabulary, std::string unk_token, std::string continuing_subword_prefix,
                                       int64_t max_input_chars_per_word) {
  return std::make_unique<WordPiece>(std::move(vocabulary), std::move(unk_token), continuing_subword_prefix, max_input_chars_per_word);
}

std::unique_ptr<Model> make_word_level(VocabularyEntries vocabulary, std::string unk_token) {
  return std::make_unique<WordLevel>(std::move(vocabulary), std::move(unk_token));
}

}  // namespace hearth::text::pipeline
