// What happens to a prompt before CLIP's pattern splits it into words, and the pattern. Three programs do three different things
// (README.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/normalizers.h"
#include "text/tokenizer/pre_tokenizers.h"

namespace hearth::text {

enum class Cleaning {
  // OpenAI's CLIP, open_clip, A1111, diffusers with transformers 4.x and the package ftfy: ftfy 6.3.1's fix_text, then white
  // space collapsed and stripped, then Python's lower(). The repair of mis-decoded text (mojibake) is not part of it: that is
  // ftfy.fix_text(text, fix_encoding=False).
  ftfy,
  // ComfyUI, and diffusers with transformers 4.x without ftfy: BERT's BasicTokenizer as CLIPTokenizer calls it (accents kept,
  // punctuation not split).
  basic,
  // CLIPTokenizerFast, and every CLIPTokenizer of transformers 5: the normalizer of tokenizer.json.
  fast,
};

std::string_view name_of(Cleaning cleaning);  // "ftfy", "basic" or "fast"

// One stretch of a prompt that holds no special token, cleaned; and the same as a stage of a tokenizer.
std::u32string clean(std::u32string_view text, Cleaning cleaning);
std::unique_ptr<pipeline::Normalizer> make_cleaning(Cleaning cleaning);

// ftfy.fix_text(text, fix_encoding=False): per line until nothing changes: HTML references expanded (unless this line or one
// before it holds '<'), C1 controls read as Windows-1252, Latin ligatures and digraphs taken apart, full- and half-width forms
// made ordinary, quotes straightened, line breaks made \n, terminal escapes and control characters removed, NFC.
std::u32string fix_text(std::u32string_view text);

// CLIP's pattern, in its three readings.
enum class WordPattern {
  // regex with IGNORECASE (CLIPTokenizer 4.x): "ſ" counts as "s"; U+0345, whose case variants are letters while it is none
  // itself, belongs to no class and separates words; "<|startoftext|>" and "<|endoftext|>" are words.
  ignore_case,
  // Oniguruma, no special tokens (CLIPTokenizerFast 4.x and published tokenizer.json files).
  exact,
  // Oniguruma, special tokens split off first and then taken apart again by the byte-level stage (transformers 5).
  exact_with_specials,
};

// The words of cleaned text, valid UTF-8: 's 't 're 've 'm 'll 'd, runs of letters, single numbers, runs of anything else but white
// space. By hand, because Oniguruma takes as long for this pattern as everything else together, and its letters are those of Unicode 14.
std::vector<pipeline::Span> split_words(std::string_view text, WordPattern pattern);
// The same as a stage: words, in GPT-2's characters for bytes.
std::unique_ptr<pipeline::PreTokenizer> make_word_splitter(WordPattern pattern);

}  // namespace hearth::text
