#include "text/unicode.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utext.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "core/error.h"

namespace hearth::text {

namespace {

constexpr size_t icu_limit = size_t(std::numeric_limits<int32_t>::max()) / 4;

icu::UnicodeString to_icu(std::u32string_view text) {
  if (text.size() > icu_limit) fail<UnsupportedError>("text: {} characters, expected at most {} for normalization", text.size(), icu_limit);
  return icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()), int32_t(text.size()));
}

std::u32string from_icu(const icu::UnicodeString& text) {
  std::u32string out;
  out.reserve(size_t(text.length()));
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) out.push_back(char32_t(text.char32At(i)));
  return out;
}

bool is_ascii(std::u32string_view text) {
  for (const char32_t c : text)
    if (c > 0x7f) return false;
  return true;
}

// Sorts runs of marks into canonical order. ICU moves them one by one, in quadratic time.
std::u32string with_marks_in_order(std::u32string_view text) {
  const auto before = [](char32_t a, char32_t b) { return u_getCombiningClass(UChar32(a)) < u_getCombiningClass(UChar32(b)); };
  std::u32string out;
  out.reserve(text.size());
  size_t marks = 0;  // start of the current run
  const auto end_marks = [&] {
    const auto begin = out.begin() + std::ptrdiff_t(marks);
    if (!std::is_sorted(begin, out.end(), before)) std::stable_sort(begin, out.end(), before);
  };
  for (const char32_t c : text) {
    if (c == 0xf73 || c == 0xf75 || c == 0xf81) {  // the only characters without a mark's class that consist of marks
      out += {0xf71, c - 1};
    } else {
      const bool is_mark = c >= 0x300 && u_getCombiningClass(UChar32(c)) != 0;
      if (!is_mark) end_marks();
      out += c;
      if (!is_mark) marks = out.size();
    }
  }
  end_marks();
  return out;
}

std::u32string normalized(const icu::Normalizer2* form, UErrorCode status, std::u32string_view text) {
  const icu::UnicodeString result = U_FAILURE(status) ? icu::UnicodeString() : form->normalize(to_icu(with_marks_in_order(text)), status);
  if (U_FAILURE(status)) fail<IoError>("text: Unicode normalization requires ICU's data: {}", u_errorName(status));
  return from_icu(result);
}

}  // namespace

std::u32string nfc(std::u32string_view text) {
  if (is_ascii(text)) return std::u32string(text);
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFCInstance(status);
  return normalized(form, status, text);
}

std::u32string nfkc(std::u32string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFKCInstance(status);
  return normalized(form, status, text);
}

std::u32string nfd(std::u32string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFDInstance(status);
  return normalized(form, status, text);
}

std::u32string nfkd(std::u32string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFKDInstance(status);
  return normalized(form, status, text);
}

std::u32string lower(std::u32string_view text) {
  // The root locale, because a Turkish locale of the process would map I to a dotless i.
  return from_icu(to_icu(text).toLower(icu::Locale::getRoot()));
}

std::u32string lower_each(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    if (c == 0x130) out += U"i\u0307";  // İ: the only character whose lower case has two characters
    else out.push_back(char32_t(u_tolower(UChar32(c))));
  }
  return out;
}

std::u32string upper(std::u32string_view text) { return from_icu(to_icu(text).toUpper(icu::Locale::getRoot())); }

std::u32string title(char32_t c) {
  const icu::UnicodeString one = to_icu({&c, 1});
  // A character without a title case uses its upper case, which may have several characters.
  if (u_totitle(UChar32(c)) != UChar32(c)) return std::u32string(1, char32_t(u_totitle(UChar32(c))));
  const std::u32string up = from_icu(icu::UnicodeString(one).toUpper(icu::Locale::getRoot()));
  if (up.size() < 2 || is_title_case(c)) return std::u32string(1, c);
  return up.substr(0, 1) + lower(up.substr(1));
}

bool is_white_space(char32_t c) { return u_isUWhiteSpace(UChar32(c)); }
bool is_python_space(char32_t c) { return is_white_space(c) || (c >= 0x1c && c <= 0x1f); }
bool is_letter(char32_t c) { return U_GET_GC_MASK(UChar32(c)) & U_GC_L_MASK; }
bool is_number(char32_t c) { return U_GET_GC_MASK(UChar32(c)) & U_GC_N_MASK; }
bool is_decimal_digit(char32_t c) { return u_charType(UChar32(c)) == U_DECIMAL_DIGIT_NUMBER; }
bool is_space_separator(char32_t c) { return u_charType(UChar32(c)) == U_SPACE_SEPARATOR; }
bool is_other(char32_t c) { return U_GET_GC_MASK(UChar32(c)) & U_GC_C_MASK; }
bool is_word_character(char32_t c) {
  return u_isUAlphabetic(UChar32(c)) || (U_GET_GC_MASK(UChar32(c)) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) ||
         u_hasBinaryProperty(UChar32(c), UCHAR_JOIN_CONTROL);
}
bool is_upper_case(char32_t c) { return u_isUUppercase(UChar32(c)); }
bool is_lower_case(char32_t c) { return u_isULowercase(UChar32(c)); }
bool is_title_case(char32_t c) { return u_charType(UChar32(c)) == U_TITLECASE_LETTER; }
bool is_digit(char32_t c) {
  const int32_t type = u_getIntPropertyValue(UChar32(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}
bool is_numeric(char32_t c) { return u_getIntPropertyValue(UChar32(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE; }

bool is_mark(char32_t c) { return U_GET_GC_MASK(UChar32(c)) & U_GC_M_MASK; }
bool is_nonspacing_mark(char32_t c) { return u_charType(UChar32(c)) == U_NON_SPACING_MARK; }
bool is_punctuation(char32_t c) { return U_GET_GC_MASK(UChar32(c)) & U_GC_P_MASK; }

std::vector<size_t> grapheme_ends(std::string_view utf8) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
  UText text = UTEXT_INITIALIZER;
  utext_openUTF8(&text, utf8.data(), int64_t(utf8.size()), &status);
  if (U_SUCCESS(status)) breaks->setText(&text, status);
  if (U_FAILURE(status)) fail<IoError>("text: splitting into graphemes requires ICU's data: {}", u_errorName(status));
  std::vector<size_t> ends;
  for (int32_t end = breaks->next(); end != icu::BreakIterator::DONE; end = breaks->next()) ends.push_back(size_t(end));
  utext_close(&text);
  return ends;
}

}  // namespace hearth::text
