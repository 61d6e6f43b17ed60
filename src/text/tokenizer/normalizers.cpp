#include "text/tokenizer/normalizers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/text/utf8.h"
#include "text/tokenizer/byte_symbols.h"
#include "text/tokenizer/charsmap.h"
#include "text/tokenizer/frozen_unicode.h"
#include "text/tokenizer/stage_reader.h"
#include "text/unicode.h"

namespace hearth::text::pipeline {
namespace {

// Replaces the text by `bytes`. The replacement of the first character still counts as the start of the prompt.
void replace_all(Text& text, std::string bytes) {
  text.bytes = std::move(bytes);
  if (text.origin > 0) text.origin = text.bytes.empty() ? 0 : sequence_length(text.bytes[0]);
}

// f(character, out) appends the replacement of the character; nothing if it is removed.
template <class F> void replace_each(Text& text, F f) {
  std::string out;
  out.reserve(text.bytes.size());
  size_t origin = 0;
  for (size_t at = 0; at < text.bytes.size();) {
    const bool at_origin = at < text.origin;
    f(next_character(text.bytes, at), out);
    if (at_origin) origin = out.size();
  }
  text.bytes = std::move(out);
  text.origin = origin;
}

// A normalizer that is a function of the text.
template <class F> class Function : public Normalizer {
 public:
  explicit Function(F f) : f_(std::move(f)) {}
  void apply(Text& text) const override { f_(text); }

 private:
  F f_;
};
template <class F> std::unique_ptr<Normalizer> function(F f) { return std::make_unique<Function<F>>(std::move(f)); }

class Sequence : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  void apply(Text& text) const override {
    for (const auto& step : steps_) step->apply(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

using UnicodeForm = std::u32string (*)(std::u32string_view);
void apply_form(Text& text, UnicodeForm form) {
  const auto ascii = [](char c) { return uint8_t(c) < 0x80; };
  if (!std::ranges::all_of(text.bytes, ascii)) replace_all(text, old_form(text.bytes, form));
}

void lowercase(Text& text) {
  replace_each(text, [](char32_t c, std::string& out) {
    if (c < 0x80) out += c >= 'A' && c <= 'Z' ? char(c + 32) : char(c);
    else
      for (const char32_t lower : lower_each(std::u32string_view(&c, 1))) append_utf8(out, lower);
  });
}

void strip_left(Text& text) {
  size_t kept = 0;
  for (size_t at = 0; at < text.bytes.size() && is_white_space(next_character(text.bytes, at));) kept = at;
  text.bytes.erase(0, kept);
  text.origin -= std::min(text.origin, kept);
}

void strip_right(Text& text) {
  size_t kept = text.bytes.size();
  for (size_t at = kept; at > 0 && is_white_space(previous_character(text.bytes, at));) kept = at;
  text.bytes.resize(kept);
  text.origin = std::min(text.origin, kept);
}

void prepend(Text& text, const std::string& prefix) {
  if (text.bytes.empty()) return;
  text.bytes.insert(0, prefix);
  if (text.origin > 0) text.origin += prefix.size();
}

void replace(Text& text, const Pattern& pattern, const std::string& content) {
  const std::vector<Span> found = pattern.find_all(text.bytes);
  if (found.empty()) return;
  std::string out;
  size_t origin = 0, done = 0;
  const auto mark = [&](size_t end) {
    if (end <= text.origin && text.origin > 0) origin = out.size();
  };
  for (const Span& match : found) {
    out.append(text.bytes, done, match.begin - done);
    if (match.begin > done && done < text.origin) origin = out.size() - (match.begin > text.origin ? match.begin - text.origin : 0);
    out += content;
    mark(match.end);
    done = match.end;
  }
  if (done < text.origin) origin = out.size() + text.origin - done;
  out.append(text.bytes, done);
  text.bytes = std::move(out);
  text.origin = origin;
}

// SentencePiece's rules for machine translation: removes control characters, replaces separators by spaces.
void nmt(Text& text) {
  replace_each(text, [](char32_t c, std::string& out) {
    const bool removed = (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
    const bool space = c == '\t' || c == '\n' || c == 0x0c || c == '\r' || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
                       c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
    if (space) out += ' ';
    else if (!removed) append_utf8(out, c);
  });
}

void byte_level(Text& text) {
  std::string out;
  append_byte_symbols(out, text.bytes);
  std::string first;
  append_byte_symbols(first, std::string_view(text.bytes).substr(0, text.origin));
  text.bytes = std::move(out);
  text.origin = first.size();
}

void remove_marks(Text& text, bool (*is_mark)(char32_t)) {
  replace_each(text, [is_mark](char32_t c, std::string& out) {
    if (!is_mark(c)) append_utf8(out, c);
  });
}

bool is_cjk(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

struct Bert {
  bool clean_text, handle_chinese_chars, strip_accents, lowercase_too;

  void operator()(Text& text) const {
    if (clean_text)
      replace_each(text, [](char32_t c, std::string& out) {
        const bool blank = c == '\t' || c == '\n' || c == '\r';
        if (blank || is_white_space(c)) {
          if (blank || !is_old_other(c)) out += ' ';
        } else if (c != 0 && c != 0xfffd && !is_old_other(c)) {
          append_utf8(out, c);
        }
      });
    if (handle_chinese_chars)
      replace_each(text, [](char32_t c, std::string& out) {
        if (is_cjk(c)) out += ' ';
        append_utf8(out, c);
        if (is_cjk(c)) out += ' ';
      });
    if (strip_accents) {
      apply_form(text, nfd);
      remove_marks(text, is_old_nonspacing_mark);
    }
    if (lowercase_too) lowercase(text);
  }
};

std::unique_ptr<Normalizer> sequence_of(const StageReader& stage) {
  std::vector<std::unique_ptr<Normalizer>> made;
  for (const auto& step : stage.list("normalizers")) made.push_back(make_normalizer(step));
  std::erase(made, nullptr);
  return std::make_unique<Sequence>(std::move(made));
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const nlohmann::json& json) {
  if (json.is_null()) return nullptr;
  const StageReader stage(json, "normalizer");
  const std::string& type = stage.type();
  if (type == "Sequence") return sequence_of(stage);
  if (type == "NFC") return function([](Text& t) { apply_form(t, nfc); });
  if (type == "NFD") return function([](Text& t) { apply_form(t, nfd); });
  if (type == "NFKC") return function([](Text& t) { apply_form(t, nfkc); });
  if (type == "NFKD") return function([](Text& t) { apply_form(t, nfkd); });
  if (type == "Lowercase") return function(lowercase);
  if (type == "Nmt") return function(nmt);
  if (type == "ByteLevel") return function(byte_level);
  if (type == "StripAccents") return function([](Text& t) { remove_marks(t, is_old_combining_mark); });
  if (type == "Strip")
    return function([left = stage.flag("strip_left"), right = stage.flag("strip_right")](Text& t) {
      if (left) strip_left(t);
      if (right) strip_right(t);
    });
  if (type == "Prepend") return function([prefix = stage.text("prepend")](Text& t) { prepend(t, prefix); });
  if (type == "Replace")
    return function([pattern = stage.pattern("pattern"), content = stage.text("content")](Text& t) { replace(t, pattern, content); });
  if (type == "Precompiled")
    return function([map = Charsmap::from_base64(stage.text("precompiled_charsmap"))](Text& t) { replace_all(t, map.normalize(t.bytes)); });
  if (type == "BertNormalizer") {
    const bool lower = stage.flag("lowercase");
    return function(Bert{stage.flag("clean_text"), stage.flag("handle_chinese_chars"), stage.flag("strip_accents", lower), lower});
  }
  stage.unknown();
}

}  // namespace hearth::text::pipeline
