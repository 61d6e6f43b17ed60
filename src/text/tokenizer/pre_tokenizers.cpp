#include "text/tokenizer/pre_tokenizers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/text/utf8.h"
#include "text/tokenizer/byte_symbols.h"
#include "text/tokenizer/frozen_unicode.h"
#include "text/tokenizer/scripts.h"
#include "text/tokenizer/stage_reader.h"
#include "text/unicode.h"

namespace hearth::text::pipeline {

const char* const gpt2_pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::vector<Span> split_at(const std::vector<Span>& matches, size_t size, Behavior behavior, bool invert) {
  struct SplitPart {
    Span span;
    bool match;
  };
  std::vector<SplitPart> parts;
  size_t done = 0;
  for (const Span& match : matches) {
    if (done != match.begin) parts.push_back({{done, match.begin}, invert});
    parts.push_back({match, !invert});
    done = match.end;
  }
  if (done != size) parts.push_back({{done, size}, invert});

  std::vector<Span> spans;
  if (behavior == Behavior::merged_with_next) {
    bool after = false;  // the part to the right is a match
    for (size_t i = parts.size(); i-- > 0;) {
      if (parts[i].match && !after && !spans.empty()) spans.back().begin = parts[i].span.begin;
      else spans.push_back(parts[i].span);
      after = parts[i].match;
    }
    std::ranges::reverse(spans);
    return spans;
  }
  bool before = false;  // the part to the left is a match
  for (const SplitPart& part : parts) {
    const bool joins =
        behavior == Behavior::contiguous ? part.match == before : behavior == Behavior::merged_with_previous && part.match && !before;
    if (behavior == Behavior::removed && part.match) continue;
    if (joins && !spans.empty()) spans.back().end = part.span.end;
    else spans.push_back(part.span);
    before = part.match;
  }
  return spans;
}

namespace {

// f(Text&&, out) appends a piece's parts.
template <class F> void split_each(std::vector<Text>& pieces, F f) {
  std::vector<Text> out;
  out.reserve(pieces.size());
  for (Text& piece : pieces) f(std::move(piece), out);
  std::erase_if(out, [](const Text& t) { return t.bytes.empty(); });
  pieces = std::move(out);
}

void append_parts(const Text& whole, const std::vector<Span>& spans, std::vector<Text>& out) {
  for (const Span& s : spans) out.push_back({whole.bytes.substr(s.begin, s.end - s.begin), whole.origin - std::min(whole.origin, s.begin)});
}

// Each single character for which `is` returns true.
template <class Is> std::vector<Span> matches_of(std::string_view text, Is is) {
  std::vector<Span> found;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (is(next_character(text, at))) found.push_back({begin, at});
  }
  return found;
}

template <class Is> void split_by_character(std::vector<Text>& pieces, Is is, Behavior behavior) {
  split_each(pieces,
             [&](Text&& t, std::vector<Text>& out) { append_parts(t, split_at(matches_of(t.bytes, is), t.bytes.size(), behavior), out); });
}

bool is_punctuation_mark(char32_t c) {
  const bool ascii = (c >= 0x21 && c <= 0x2f) || (c >= 0x3a && c <= 0x40) || (c >= 0x5b && c <= 0x60) || (c >= 0x7b && c <= 0x7e);
  return ascii || is_old_punctuation(c);
}

// A pre-tokenizer that is a function of the pieces.
template <class F> class Function : public PreTokenizer {
 public:
  explicit Function(F f) : f_(std::move(f)) {}
  void split(std::vector<Text>& pieces) const override { f_(pieces); }

 private:
  F f_;
};
template <class F> std::unique_ptr<PreTokenizer> function(F f) { return std::make_unique<Function<F>>(std::move(f)); }

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
  void split(std::vector<Text>& pieces) const override {
    for (const auto& step : steps_) step->split(pieces);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

void prepend(Text& text, const std::string& prefix) {
  text.bytes.insert(0, prefix);
  if (text.origin > 0) text.origin += prefix.size();
}

struct ByteLevel {
  bool add_prefix_space;
  std::optional<Regex> regex;

  void operator()(std::vector<Text>& pieces) const {
    split_each(pieces, [this](Text&& t, std::vector<Text>& out) {
      if (add_prefix_space && !t.bytes.starts_with(' ')) prepend(t, " ");
      if (regex) append_parts(t, split_at(regex->find_all(t.bytes), t.bytes.size(), Behavior::isolated), out);
      else out.push_back(std::move(t));
    });
    for (Text& t : pieces) {
      std::string symbols;
      append_byte_symbols(symbols, t.bytes);
      std::string first;
      append_byte_symbols(first, std::string_view(t.bytes).substr(0, t.origin));
      t = {std::move(symbols), first.size()};
    }
  }
};

struct Metaspace {
  enum class Scheme { always, first, never };
  std::string replacement;
  Scheme scheme;
  bool split;

  void operator()(std::vector<Text>& pieces) const {
    split_each(pieces, [this](Text&& t, std::vector<Text>& out) {
      Text marked{.bytes = "", .origin = 0};
      for (size_t at = 0; at < t.bytes.size(); ++at) {
        if (t.bytes[at] == ' ') marked.bytes += replacement;
        else marked.bytes += t.bytes[at];
        if (at < t.origin) marked.origin = marked.bytes.size();
      }
      if (scheme == Scheme::always || (scheme == Scheme::first && marked.origin > 0))
        if (!marked.bytes.starts_with(replacement)) prepend(marked, replacement);
      if (split)
        append_parts(marked, split_at(find_literal(marked.bytes, replacement), marked.bytes.size(), Behavior::merged_with_next), out);
      else out.push_back(std::move(marked));
    });
  }
};

Behavior behavior_of(const StageReader& stage) {
  const std::string name = stage.text("behavior");
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  stage.wrong("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

std::unique_ptr<PreTokenizer> metaspace_of(const StageReader& stage) {
  const std::string name = stage.has("prepend_scheme") ? stage.text("prepend_scheme") : "always";
  auto scheme = Metaspace::Scheme::always;
  if (name == "first") scheme = Metaspace::Scheme::first;
  else if (name == "never") scheme = Metaspace::Scheme::never;
  else if (name != "always") stage.wrong("prepend_scheme", "always, first or never");
  // Older files use this switch instead.
  if (!stage.flag("add_prefix_space", true)) {
    if (stage.has("prepend_scheme") && scheme != Metaspace::Scheme::never)
      stage.wrong("prepend_scheme", "never, because add_prefix_space is false");
    scheme = Metaspace::Scheme::never;
  }
  return function(Metaspace{stage.character("replacement"), scheme, stage.flag("split", true)});
}

std::unique_ptr<PreTokenizer> split_of(const StageReader& stage) {
  return function(
      [pattern = stage.pattern("pattern"), behavior = behavior_of(stage), invert = stage.flag("invert")](std::vector<Text>& pieces) {
        split_each(pieces, [&](Text&& t, std::vector<Text>& out) {
          append_parts(t, split_at(pattern.find_all(t.bytes), t.bytes.size(), behavior, invert), out);
        });
      });
}

std::unique_ptr<PreTokenizer> sequence_of(const StageReader& stage) {
  std::vector<std::unique_ptr<PreTokenizer>> made;
  for (const auto& step : stage.list("pretokenizers")) made.push_back(make_pre_tokenizer(step));
  std::erase(made, nullptr);
  return std::make_unique<Sequence>(std::move(made));
}

// Runs of word characters, and runs of characters that are neither word characters nor white space.
void split_words(std::vector<Text>& pieces) {
  enum class Kind { space, word, other };
  const auto kind_of = [](char32_t c) { return is_white_space(c) ? Kind::space : is_word_character(c) ? Kind::word : Kind::other; };
  split_each(pieces, [&](Text&& t, std::vector<Text>& out) {
    std::vector<Span> spans;
    Kind before = Kind::space;
    for (size_t at = 0; at < t.bytes.size();) {
      const size_t begin = at;
      const Kind kind = kind_of(next_character(t.bytes, at));
      if (kind != Kind::space) {
        if (kind == before) spans.back().end = at;
        else spans.push_back({begin, at});
      }
      before = kind;
    }
    append_parts(t, spans, out);
  });
}

void split_lengths(std::vector<Text>& pieces, int64_t length) {
  split_each(pieces, [length](Text&& t, std::vector<Text>& out) {
    std::vector<Span> spans;
    int64_t count = 0;
    for (size_t at = 0; at < t.bytes.size(); ++count) {
      const size_t begin = at;
      next_character(t.bytes, at);
      if (count % length == 0) spans.push_back({begin, at});
      else spans.back().end = at;
    }
    append_parts(t, spans, out);
  });
}

void split_scripts(std::vector<Text>& pieces) {
  split_each(pieces, [](Text&& t, std::vector<Text>& out) { append_parts(t, script_runs(t.bytes), out); });
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const nlohmann::json& json) {
  if (json.is_null()) return nullptr;
  const StageReader stage(json, "pre-tokenizer");
  const std::string& type = stage.type();
  if (type == "Sequence") return sequence_of(stage);
  if (type == "Split") return split_of(stage);
  if (type == "Metaspace") return metaspace_of(stage);
  if (type == "ByteLevel") {
    const bool regex = stage.flag("use_regex", true);
    return function(ByteLevel{stage.flag("add_prefix_space"), regex ? std::optional(Regex(gpt2_pattern)) : std::nullopt});
  }
  if (type == "Whitespace") return function(split_words);
  if (type == "WhitespaceSplit") return function([](std::vector<Text>& p) { split_by_character(p, is_white_space, Behavior::removed); });
  if (type == "BertPreTokenizer")
    return function([](std::vector<Text>& p) {
      split_by_character(p, is_white_space, Behavior::removed);
      split_by_character(p, is_punctuation_mark, Behavior::isolated);
    });
  if (type == "Punctuation")
    return function([behavior = stage.has("behavior") ? behavior_of(stage) : Behavior::isolated](std::vector<Text>& p) {
      split_by_character(p, is_punctuation_mark, behavior);
    });
  if (type == "Digits")
    return function([behavior = stage.flag("individual_digits") ? Behavior::isolated : Behavior::contiguous](std::vector<Text>& p) {
      split_by_character(p, is_number, behavior);
    });
  if (type == "CharDelimiterSplit") {
    const std::string delimiter = stage.character("delimiter");
    size_t at = 0;
    return function([c = next_character(delimiter, at)](std::vector<Text>& p) {
      split_by_character(
          p, [c](char32_t other) { return other == c; }, Behavior::removed);
    });
  }
  if (type == "FixedLength")
    return function([length = stage.has("length") ? stage.integer("length", 1, int64_t(1) << 62) : 5](std::vector<Text>& p) {
      split_lengths(p, length);
    });
  if (type == "UnicodeScripts") return function(split_scripts);
  stage.unknown();
}

}  // namespace hearth::text::pipeline
