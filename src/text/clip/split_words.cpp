#include "core/text/utf8.h"
#include "text/clip/clip_cleaning.h"
#include "text/tokenizer/byte_symbols.h"
#include "text/unicode.h"

namespace hearth::text {

namespace {

struct Scanner {
  std::string_view text;
  WordPattern pattern;

  enum class Class { letter, number, space, other, none };
  Class class_of(char32_t c) const {
    if (is_letter(c)) return Class::letter;
    if (is_number(c)) return Class::number;
    if (is_white_space(c)) return Class::space;
    if (c == 0x345 && pattern == WordPattern::ignore_case) return Class::none;
    return Class::other;
  }

  // The end of the literal that starts at `at`, or `at` itself if there is none.
  size_t behind(size_t at, std::string_view literal) const {
    size_t end = at;
    for (const char wanted : literal) {
      if (end == text.size()) return at;
      char32_t c = next_character(text, end);
      if (pattern == WordPattern::ignore_case && c == 0x17f) c = U's';  // ſ; everything else is already lower case
      if (c != char32_t(wanted)) return at;
    }
    return end;
  }

  // The end of the word that starts at `begin`. If there is none, `is_word` is false, and the result is the end of the character.
  size_t word_end(size_t begin, bool& is_word) const {
    is_word = true;
    if (text[begin] == '<' && pattern != WordPattern::exact)
      for (const std::string_view special : {"<|startoftext|>", "<|endoftext|>"})
        if (const size_t end = behind(begin, special); end > begin) return end;
    if (text[begin] == '\'')
      for (const std::string_view suffix : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
        if (const size_t end = behind(begin, suffix); end > begin) return end;
    size_t end = begin;
    const Class kind = class_of(next_character(text, end));
    is_word = kind != Class::space && kind != Class::none;
    if (!is_word || kind == Class::number) return end;
    for (size_t next = end; next < text.size() && class_of(next_character(text, next)) == kind;) end = next;
    return end;
  }
};

class WordSplitter : public pipeline::PreTokenizer {
 public:
  explicit WordSplitter(WordPattern pattern) : pattern_(pattern) {}

  void split(std::vector<pipeline::Text>& pieces) const override {
    std::vector<pipeline::Text> words;
    for (const pipeline::Text& piece : pieces) {
      const std::string_view text = piece.bytes;
      const std::vector<pipeline::Span> spans = split_words(text, pattern_);
      words.reserve(words.size() + spans.size());
      for (const auto& [begin, end] : spans) pipeline::append_byte_symbols(words.emplace_back().bytes, text.substr(begin, end - begin));
    }
    pieces = std::move(words);
  }

 private:
  WordPattern pattern_;
};

}  // namespace

std::vector<pipeline::Span> split_words(std::string_view text, WordPattern pattern) {
  std::vector<pipeline::Span> words;
  const Scanner scanner{text, pattern};
  for (size_t begin = 0; begin < text.size();) {
    bool is_word = false;
    const size_t end = scanner.word_end(begin, is_word);
    const std::string_view word = text.substr(begin, end - begin);
    if (pattern == WordPattern::exact_with_specials && (word == "<|startoftext|>" || word == "<|endoftext|>"))
      words.insert(words.end(), {{begin, begin + 2}, {begin + 2, end - 2}, {end - 2, end}});
    else if (is_word) words.push_back({begin, end});
    begin = end;
  }
  return words;
}

std::unique_ptr<pipeline::PreTokenizer> make_word_splitter(WordPattern pattern) { return std::make_unique<WordSplitter>(pattern); }

}  // namespace hearth::text
