// What turns a piece of text into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace hearth::text::pipeline {

class Model {
 public:
  explicit Model(VocabularyEntries entries) : vocabulary(std::move(entries)) {}
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Appends the ids of a piece of text (valid UTF-8, not empty). WeightError where it needs an unknown token that the vocabulary lacks.
  virtual void tokenize(std::string_view piece, std::vector<int32_t>& ids) const = 0;

  const Vocabulary vocabulary;
};

// Byte-pair encoding over characters (Sennrich et al. 2016).
struct BytePairOptions {
  std::string unk_token;                  // empty: unknown characters vanish
  std::string continuing_subword_prefix;  // written before every character but a word's first
  std::string end_of_word_suffix;         // written behind a word's last character
  bool fuse_unk = false;                  // a run of unknown characters is one token
  bool byte_fallback = false;             // an unknown character is tried as tokens "<0x00>" of its bytes first
  bool ignore_merges = false;             // a piece that is a token as a whole is that token
  std::vector<std::string> whole_words;   // pieces that are never split: each is a token or unknown
  bool in_rounds = false;                 // all places of the best pair are merged before the next best is looked for
};
using Merges = std::vector<std::pair<std::string, std::string>>;  // best first

// The lowest rank first, then from the left. With in_rounds as transformers' slow tokenizers have it; that differs only where a merge
// stands before one that makes its parts, which no trained table has. O(n log n) for a piece of n characters. WeightError for a merge of or
// to a token that is not in the vocabulary.
std::unique_ptr<Model> make_byte_pairs(VocabularyEntries vocabulary, const Merges& merges, const BytePairOptions& options);

// The same with the rule of SentencePiece: any two neighbors may be merged whose joined spelling is a token, the one of the highest
// score first, then from the left. scores and mergeable: one for each id, which are 0, 1, 2 … What no merge covers is a token, or its
// bytes where all 256 byte tokens are there, or unk, one for a run of them.
std::unique_ptr<Model> make_scored_pairs(VocabularyEntries vocabulary, std::vector<float> scores, std::vector<bool> mergeable, int32_t unk);

// The most probable split (Kudo 2018), by Viterbi's algorithm. scores: log-probabilities, one for each entry, whose ids are 0, 1, 2 …
// A character that no token covers costs the lowest score − 10; a run of them is one unknown token.
struct UnigramOptions {
  int32_t unk = -1;               // −1: text that no token covers is an error
  bool byte_fallback = false;     // an unknown run is tried as tokens "<0x00>" of its bytes first
  bool single_precision = false;  // adds scores as SentencePiece does; tokenizers adds them in double precision
  std::vector<bool> found;        // whether text may be split into this token, one for each; none: any may
};
std::unique_ptr<Model> make_unigram(const std::vector<std::pair<std::string, double>>& scores, UnigramOptions options);

// The longest token first, from the left (Devlin et al. 2019); a word that cannot be covered so, or is longer than
// max_input_chars_per_word, is unk_token as a whole.
std::unique_ptr<Model> make_word_piece(VocabularyEntries vocabulary, std::string unk_token, std::string continuing_subword_prefix,
                                       int64_t max_input_chars_per_word);

// Whole words only.
std::unique_ptr<Model> make_word_level(VocabularyEntries vocabulary, std::string unk_token);

}  // namespace hearth::text::pipeline
