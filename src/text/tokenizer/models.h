// The models of a tokenizer, which turn pieces of text into tokens.
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

  // Appends the ids of a piece of text (valid UTF-8, not empty). WeightError if this requires an unknown token that the vocabulary lacks.
  virtual void tokenize(std::string_view piece, std::vector<int32_t>& ids) const = 0;

  const Vocabulary vocabulary;
};

// Byte-pair encoding over characters (Sennrich et al. 2016).
struct BytePairOptions {
  std::string unk_token;                  // empty: unknown characters are dropped
  std::string continuing_subword_prefix;  // prepended to every character except a word's first
  std::string end_of_word_suffix;         // appended to a word's last character
  bool fuse_unk = false;                  // a run of unknown characters is one token
  bool byte_fallback = false;             // an unknown character becomes tokens "<0x00>" of its bytes, if possible
  bool ignore_merges = false;             // a piece that is a token in the vocabulary becomes that token
  std::vector<std::string> whole_words;   // pieces that are never split: each is a token or unknown
  bool in_rounds = false;                 // merge all occurrences of the best pair before searching for the next best
};
using Merges = std::vector<std::pair<std::string, std::string>>;  // best first

// Merges the pair of the lowest rank first, then from the left. in_rounds matches transformers' slow tokenizers; the result differs only if
// the table lists a merge before those that produce its parts, which no trained table does. O(n log n) for a piece of n characters.
// WeightError for a merge of or to a token that is not in the vocabulary.
std::unique_ptr<Model> make_byte_pairs(VocabularyEntries vocabulary, const Merges& merges, const BytePairOptions& options);

// The same with SentencePiece's rule: any two neighbors whose joined spelling is a token may be merged, the highest score first, then from
// the left. scores and mergeable have one value per id; ids are 0, 1, 2 … A character that no merge covers becomes its token, or its bytes
// if all 256 byte tokens exist, or unk, one for a run of them.
std::unique_ptr<Model> make_scored_pairs(VocabularyEntries vocabulary, std::vector<float> scores, std::vector<bool> mergeable, int32_t unk);

// The most probable segmentation (Kudo 2018), by the Viterbi algorithm. scores: log-probabilities, one per entry; ids are 0, 1, 2 … A
// character that no token covers has the lowest score − 10; a run of them is one unknown token.
struct UnigramOptions {
  int32_t unk = -1;               // −1: text that no token covers is an error
  bool byte_fallback = false;     // an unknown run becomes tokens "<0x00>" of its bytes, if possible
  bool single_precision = false;  // add scores in f32 like SentencePiece; tokenizers uses f64
  std::vector<bool> found;        // per token, whether text may be split into it; empty: all may
};
std::unique_ptr<Model> make_unigram(const std::vector<std::pair<std::string, double>>& scores, UnigramOptions options);

// The longest token first, from the left (Devlin et al. 2019); a word that cannot be covered in this way, or is longer than
// max_input_chars_per_word, becomes one unk_token.
std::unique_ptr<Model> make_word_piece(VocabularyEntries vocabulary, std::string unk_token, std::string continuing_subword_prefix,
                                       int64_t max_input_chars_per_word);

// Whole words only.
std::unique_ptr<Model> make_word_level(VocabularyEntries vocabulary, std::string unk_token);

}  // namespace hearth::text::pipeline
