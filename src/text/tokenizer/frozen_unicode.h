// The older tables of Unicode that tokenizers is built with, by the ages of characters: what is younger counts as unassigned there.
#pragma once

#include <string>
#include <string_view>

namespace hearth::text::pipeline {

// unicode_categories 0.1 (Unicode 8): BertNormalizer, BertPreTokenizer and Punctuation.
bool is_old_other(char32_t c);  // Cc, Cf, Co; not what is unassigned
bool is_old_nonspacing_mark(char32_t c);
bool is_old_punctuation(char32_t c);

// unicode_normalization_alignments 0.1 (Unicode 9): NFC, NFD, NFKC, NFKD and StripAccents.
bool is_old_combining_mark(char32_t c);
// The script (ICU's number), and any_script for what has none or had none in Unicode 9: UnicodeScripts.
constexpr int any_script = -1;
int old_script(char32_t c);

// A form of text/unicode.h with characters younger than that left as they are.
std::string old_form(std::string_view utf8, std::u32string (*form)(std::u32string_view));

}  // namespace hearth::text::pipeline
