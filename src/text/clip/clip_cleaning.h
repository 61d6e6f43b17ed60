// The cleaning of a prompt before CLIP's pattern splits it into words, and the pattern. Programs differ in both (README.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/normalizers.h"
#include "text/tokenizer/pre_tokenizers.h"

namespace hearth::text {

enum class Cleaning {
  // OpenAI's CLIP, open_clip, A1111, diffusers with transformers 4.x and the package ftfy: ftfy 6.3.1's fix_text, then white space
  // collapsed and stripped, then Python's lower(). Without the repair of mis-decoded text (mojibake): ftfy.fix_text(text,
  // fix_encoding=False).
  ftfy,
  // ComfyUI, and diffusers with transformers 4.x without ftfy: BERT's BasicTokenizer as CLIPTokenizer calls it (accents kept,
  // punctuation not split).
  basic,
  // CLIPTokenizerFast, and every CLIPTokenizer of transformers 5: the normalizer of tokenizer.json.
  fast,
};

std::string_view name_of(Cleaning cleaning);  // "ftfy", "basic" or "fast"

// Cleans a span of a prompt that contains no special token; and the same as a stage of a tokenizer.
std::u32string clean(std::u32string_view text, Cleaning cleaning);
std::unique_ptr<pipeline::Normalizer> make_cleaning(Cleaning cleaning);

// ftfy.fix_text(text, fix_encoding=False). Repeats for each line until nothing changes: expand HTML references (unless this line or an
// earlier one contains '<'), read C1 controls as Windows-1252, split Latin ligatures and digraphs, normalize full- and half-width forms,
// straighten quotes, convert line breaks to \n, remove terminal escapes and control characters, apply NFC.
std::u32string fix_text(std::u32string_view text);

// CLIP's pattern in its three implementations.
enum class WordPattern {
  // regex with IGNORECASE (CLIPTokenizer 4.x): "ſ" matches "s"; U+0345, which is not a letter but has letters as case variants, belongs to
  // no class and separates words; "<|startoftext|>" and "<|endoftext|>" are words.
  ignore_case,
  // Oniguruma, no special tokens (CLIPTokenizerFast 4.x and published tokenizer.json files).
  exact,
  // Oniguruma; special tokens are split off first and then split again by the byte-level stage (transformers 5).
  exact_with_specials,
};

// The words of cleaned text, valid UTF-8: 's 't 're 've 'm 'll 'd, runs of letters, single numbers, runs of anything else except white
// space. Implemented without Oniguruma, which takes as long for this pattern as all other steps together, and whose letters are those of
// Unicode 14.
std::vector<pipeline::Span> split_words(std::string_view text, WordPattern pattern);
// The same as a stage: words in GPT-2's characters for bytes.
std::unique_ptr<pipeline::PreTokenizer> make_word_splitter(WordPattern pattern);

}  // namespace hearth::text
