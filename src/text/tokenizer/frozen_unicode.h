// The older Unicode tables of tokenizers, reproduced by the ages of characters: newer characters count as unassigned.
#pragma once

#include <string>
#include <string_view>

namespace hearth::text::pipeline {

// unicode_categories 0.1 (Unicode 8): BertNormalizer, BertPreTokenizer and Punctuation.
bool is_old_other(char32_t c);  // Cc, Cf, Co; not unassigned characters
bool is_old_nonspacing_mark(char32_t c);
bool is_old_punctuation(char32_t c);

// unicode_normalization_alignments 0.1 (Unicode 9): NFC, NFD, NFKC, NFKD and StripAccents.
bool is_old_combining_mark(char32_t c);
// The script (ICU's number) in Unicode 9; any_script if it has none. For UnicodeScripts.
constexpr int any_script = -1;
int old_script(char32_t c);

// Applies a function of text/unicode.h and leaves characters newer than Unicode 9 unchanged.
std::string old_form(std::string_view utf8, std::u32string (*form)(std::u32string_view));

}  // namespace hearth::text::pipeline
