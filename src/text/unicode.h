// The Unicode operations that text cleaning needs, over UTF-32. Only this file uses ICU; character properties are those of the ICU that
// hearth is linked with (72: Unicode 15.0).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::text {

std::u32string nfc(std::u32string_view text);         // canonical composition (UAX #15)
std::u32string nfkc(std::u32string_view text);        // compatibility composition
std::u32string nfd(std::u32string_view text);         // canonical decomposition
std::u32string nfkd(std::u32string_view text);        // compatibility decomposition
std::u32string lower(std::u32string_view text);       // full mapping, final sigma by context (Python's str.lower), language-independent
std::u32string lower_each(std::u32string_view text);  // full mapping of single characters: Σ is always σ (Rust's char::to_lowercase)
std::u32string upper(std::u32string_view text);       // full mapping (ß is SS)
std::u32string title(char32_t c);                     // the title case of one character (ǆ is ǅ, ß is Ss)

bool is_white_space(char32_t c);      // White_Space: \s of the regex engines
bool is_python_space(char32_t c);     // str.isspace: White_Space and U+001C … U+001F
bool is_letter(char32_t c);           // \p{L}
bool is_number(char32_t c);           // \p{N}
bool is_decimal_digit(char32_t c);    // \p{Nd}
bool is_space_separator(char32_t c);  // \p{Zs}
bool is_other(char32_t c);            // \p{C}: control, format, private, unassigned
bool is_word_character(char32_t c);   // \w: alphabetic, mark, decimal digit, connector punctuation, join control
bool is_mark(char32_t c);             // \p{M}
bool is_nonspacing_mark(char32_t c);  // \p{Mn}
bool is_punctuation(char32_t c);      // \p{P}
bool is_upper_case(char32_t c);       // Uppercase
bool is_lower_case(char32_t c);       // Lowercase
bool is_title_case(char32_t c);       // \p{Lt}
bool is_digit(char32_t c);            // Numeric_Type Decimal or Digit: superscripts too
bool is_numeric(char32_t c);          // Numeric_Type of any kind: fractions and Han numbers too

// The end, in bytes, of each user-perceived character of a valid UTF-8 text (extended grapheme clusters, UAX #29).
std::vector<size_t> grapheme_ends(std::string_view utf8);

}  // namespace hearth::text
