#include "text/clip_cleaning.h"

#include "core/error.h"
#include "text/unicode.h"

namespace hearth::text {

namespace {

// Runs of white space become one space.
std::u32string collapse_white_space(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  bool inside = false;
  for (const char32_t c : text) {
    const bool space = is_white_space(c);
    if (!space) out.push_back(c);
    if (space && !inside) out.push_back(U' ');
    inside = space;
  }
  return out;
}

std::u32string_view strip_spaces(std::u32string_view text) {
  while (!text.empty() && text.front() == U' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == U' ') text.remove_suffix(1);
  return text;
}

// The blocks that BERT's reference code calls Chinese characters.
bool is_cjk_ideograph(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b820 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

std::u32string clean_basic(std::u32string_view text) {
  std::u32string spaced;
  spaced.reserve(text.size());
  for (const char32_t c : text) {
    if (c == U'\t' || c == U'\n' || c == U'\r' || is_space_separator(c)) {
      spaced.push_back(U' ');
    } else if (c == 0xfffd || is_other(c)) {  // unassigned ones too, also inside the blocks of ideographs
      continue;
    } else if (is_cjk_ideograph(c)) {
      spaced.append({U' ', c, U' '});
    } else {
      spaced.push_back(c);
    }
  }
  // U+2028 and U+2029 are left: no space separators, but white space to Python's split().
  return lower(strip_spaces(collapse_white_space(nfc(spaced))));
}

struct Scanner {
  std::u32string_view text;
  WordPattern pattern;

  enum class Class { letter, number, space, other, none };
  Class class_at(size_t i) const {
    const char32_t c = text[i];
    if (is_letter(c)) return Class::letter;
    if (is_number(c)) return Class::number;
    if (is_white_space(c)) return Class::space;
    if (c == 0x345 && pattern == WordPattern::ignore_case) return Class::none;
    return Class::other;
  }

  bool matches(size_t i, std::u32string_view literal) const {
    if (text.size() - i < literal.size()) return false;
    for (size_t k = 0; k < literal.size(); ++k) {
      char32_t c = text[i + k];
      if (pattern == WordPattern::ignore_case && c == 0x17f) c = U's';  // ſ; everything else is lower case by now
      if (c != literal[k]) return false;
    }
    return true;
  }

  // The length of the word at i, 0 where none begins.
  size_t word_at(size_t i) const {
    if (text[i] == U'<' && pattern != WordPattern::exact)
      for (const std::u32string_view special : {U"<|startoftext|>", U"<|endoftext|>"})
        if (matches(i, special)) return special.size();
    if (text[i] == U'\'')
      for (const std::u32string_view suffix : {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"})
        if (matches(i, suffix)) return suffix.size();
    const Class kind = class_at(i);
    if (kind == Class::space || kind == Class::none) return 0;
    size_t end = i + 1;
    if (kind != Class::number)
      while (end < text.size() && class_at(end) == kind) ++end;
    return end - i;
  }
};

}  // namespace

Cleaning cleaning_by_name(std::string_view name) {
  for (const Cleaning c : {Cleaning::ftfy, Cleaning::basic, Cleaning::fast})
    if (name == name_of(c)) return c;
  fail<UsageError>("cleaning: '{}' is unknown, needed ftfy, basic or fast", name);
}

std::string_view name_of(Cleaning cleaning) {
  switch (cleaning) {
    case Cleaning::basic: return "basic";
    case Cleaning::fast: return "fast";
    default: return "ftfy";
  }
}

std::u32string clean(std::u32string_view text, Cleaning cleaning) {
  switch (cleaning) {
    case Cleaning::basic: return clean_basic(text);
    case Cleaning::fast: return lower_each(collapse_white_space(nfc(text)));
    default: return lower(strip_spaces(collapse_white_space(fix_text(text))));
  }
}

std::vector<std::u32string_view> split_words(std::u32string_view text, WordPattern pattern) {
  std::vector<std::u32string_view> words;
  const Scanner scanner{text, pattern};
  for (size_t i = 0; i < text.size();) {
    const size_t length = scanner.word_at(i);
    if (length == 0) {
      ++i;
      continue;
    }
    const std::u32string_view word = text.substr(i, length);
    if (pattern == WordPattern::exact_with_specials && length > 4 && word.front() == U'<' && word.back() == U'>' && is_letter(word[2])) {
      words.insert(words.end(), {word.substr(0, 2), word.substr(2, length - 4), word.substr(length - 2)});
    } else {
      words.push_back(word);
    }
    i += length;
  }
  return words;
}

}  // namespace hearth::text
