#include "text/tokenizer/decoders.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/utf8.h"
#include "text/tokenizer/byte_symbols.h"
#include "text/tokenizer/decode_steps.h"
#include "text/tokenizer/stage_reader.h"

namespace hearth::text::pipeline {
namespace {

class ReplaceRegex : public TokenStep {
 public:
  ReplaceRegex(Next next, Regex regex, std::string content)
      : TokenStep(std::move(next)), regex_(std::move(regex)), content_(std::move(content)) {}
  void token(std::string token) override {
    std::string out;
    size_t done = 0;
    for (const Span& match : regex_.find_all(token)) {
      out.append(token, done, match.begin - done).append(content_);
      done = match.end;
    }
    emit(out.append(token, done));
  }

 private:
  Regex regex_;
  std::string content_;
};

// Converts GPT-2's characters to bytes; joins all tokens to one text.
class ByteLevel : public TokenStep {
 public:
  using TokenStep::TokenStep;
  void token(std::string token) override {
    if (!append_bytes_of_symbols(bytes_, token)) bytes_ += token;
    const size_t complete = bytes_.size() - unfinished_utf8(bytes_);
    next_->text(valid_utf8(std::string_view(bytes_).substr(0, complete)));
    bytes_.erase(0, complete);
  }
  void finish() override {
    emit(valid_utf8(std::exchange(bytes_, {})));
    next_->finish();
  }

 private:
  std::string bytes_;
};

// Converts a run of "<0x41>" to the text of those bytes, or to one U+FFFD per byte if together they are not UTF-8.
class ByteFallback : public TokenStep {
 public:
  using TokenStep::TokenStep;
  void token(std::string token) override {
    if (const int byte = byte_of(token); byte >= 0) {
      bytes_ += char(byte);
      return;
    }
    flush();
    emit(token);
  }
  void finish() override {
    flush();
    next_->finish();
  }

 private:
  static int byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return -1;
    int value = 0;
    for (const char c : token.substr(3, 2)) {
      const char lower = char(c | 0x20);
      if (c >= '0' && c <= '9') value = value * 16 + (c - '0');
      else if (lower >= 'a' && lower <= 'f') value = value * 16 + (lower - 'a' + 10);
      else return -1;
    }
    return value;
  }
  void flush() {
    if (bytes_.empty()) return;
    if (valid_utf8(bytes_) == bytes_) {
      emit(bytes_);
    } else {
      for (size_t i = 0; i < bytes_.size(); ++i) emit("\xef\xbf\xbd");
    }
    bytes_.clear();
  }
  std::string bytes_;
};

// Removes the character at most `start` times from the start of a token and `stop` times from its end.
class Strip : public Step {
 public:
  Strip(Next next, std::string character, size_t start, size_t stop)
      : Step(std::move(next)), character_(std::move(character)), start_(start), stop_(stop), left_(start) {}
  void text(std::string_view part) override {
    for (size_t at = 0; at < part.size();) {
      const std::string_view c = part.substr(at, sequence_length(part[at]));
      at += c.size();
      if (c != character_) {
        release(held_);
        left_ = 0;
        next_->text(c);
      } else if (left_ > 0) {
        --left_;
      } else if (++held_ > stop_) {
        release(1);
      }
    }
  }
  void end() override {
    held_ = 0;
    left_ = start_;
    next_->end();
  }

 private:
  void release(size_t count) {
    for (held_ -= count; count > 0; --count) next_->text(character_);
  }
  std::string character_;
  size_t start_, stop_;
  size_t left_;      // how many may still be removed at the start
  size_t held_ = 0;  // held back because they may be removed at the end
};

class Metaspace : public Step {
 public:
  Metaspace(Next next, std::string replacement, bool drops_first)
      : Step(std::move(next)), replacement_(std::move(replacement)), drop_(drops_first) {}
  void text(std::string_view part) override {
    std::string out;
    for (size_t at = 0; at < part.size();) {
      const std::string_view c = part.substr(at, sequence_length(part[at]));
      at += c.size();
      if (c != replacement_) out += c;
      else if (!drop_) out += ' ';
    }
    next_->text(out);
  }
  void end() override {
    drop_ = false;
    next_->end();
  }

 private:
  std::string replacement_;
  bool drop_;  // in the first token
};

class WordPiece : public TokenStep {
 public:
  WordPiece(Next next, std::string prefix, bool cleanup) : TokenStep(std::move(next)), prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void token(std::string token) override {
    std::string text;
    if (!first_ && token.starts_with(prefix_)) token.erase(0, prefix_.size());
    else if (!first_) text = ' ';
    first_ = false;
    text += token;
    emit(cleanup_ ? cleaned_up(std::move(text)) : text);
  }

 private:
  std::string prefix_;
  bool cleanup_, first_ = true;
};

// Replaces the suffix by a space, and removes it from the last token.
class BpeSuffix : public TokenStep {
 public:
  BpeSuffix(Next next, std::string suffix) : TokenStep(std::move(next)), suffix_(std::move(suffix)) {}
  void token(std::string token) override {
    if (last_) emit(replaced(*last_, suffix_, " "));
    last_ = std::move(token);
  }
  void finish() override {
    if (last_) emit(replaced(*last_, suffix_, ""));
    next_->finish();
  }

 private:
  std::string suffix_;
  std::optional<std::string> last_;
};

// Graves et al. 2006: removes repetitions and blanks.
class Ctc : public TokenStep {
 public:
  Ctc(Next next, std::string pad, std::string delimiter, bool cleanup)
      : TokenStep(std::move(next)), pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}
  void token(std::string token) override {
    if (last_ == token) return;
    last_ = token;
    std::string out = replaced(token, pad_, "");
    if (cleanup_) out = replaced(cleaned_up(std::move(out)), delimiter_, " ");
    if (!out.empty()) emit(out);
  }

 private:
  std::string pad_, delimiter_;
  bool cleanup_;
  std::optional<std::string> last_;
};

class SpaceBetween : public Step {
 public:
  using Step::Step;
  void text(std::string_view part) override {
    if (between_) next_->text(" ");
    between_ = false;
    next_->text(part);
  }
  void end() override {
    if (between_) next_->text(" ");
    between_ = true;
    next_->end();
  }

 private:
  bool between_ = false;  // a token has ended, and a space precedes the next
};

// A decoder that is a function of the next sink.
template <class F> class Function : public Decoder {
 public:
  explicit Function(F f) : f_(std::move(f)) {}
  Next open(Next next) const override { return f_(std::move(next)); }

 private:
  F f_;
};
template <class F> std::unique_ptr<Decoder> function(F f) { return std::make_unique<Function<F>>(std::move(f)); }

class Sequence : public Decoder {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Decoder>> steps) : steps_(std::move(steps)) {}
  Next open(Next next) const override {
    for (size_t i = steps_.size(); i-- > 0;) next = steps_[i]->open(std::move(next));
    return next;
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

std::string not_empty(const StageReader& stage, const char* name) {
  const std::string value = stage.text(name);
  if (value.empty()) stage.wrong(name, "a non-empty text");
  return value;
}

std::unique_ptr<Decoder> sequence_of(const StageReader& stage) {
  std::vector<std::unique_ptr<Decoder>> made;
  for (const auto& step : stage.list("decoders")) {
    if (step.is_null()) stage.wrong("decoders", "no null in it");
    made.push_back(make_decoder(step));
  }
  return std::make_unique<Sequence>(std::move(made));
}

std::unique_ptr<Decoder> replace_of(const StageReader& stage) {
  return function([pattern = stage.pattern("pattern"), content = stage.text("content")](Next next) -> Next {
    if (pattern.regex) return std::make_unique<ReplaceRegex>(std::move(next), *pattern.regex, content);
    return std::make_unique<ReplaceLiteral>(std::move(next), pattern.literal, content);
  });
}

std::unique_ptr<Decoder> strip_of(const StageReader& stage) {
  constexpr int64_t most = int64_t(1) << 62;
  return function(
      [c = stage.character("content"), start = size_t(stage.integer("start", 0, most)),
       stop = size_t(stage.integer("stop", 0, most))](Next next) { return std::make_unique<Strip>(std::move(next), c, start, stop); });
}

std::unique_ptr<Decoder> metaspace_of(const StageReader& stage) {
  const std::string scheme = stage.has("prepend_scheme") ? stage.text("prepend_scheme") : "always";
  const bool drops = scheme != "never" && stage.flag("add_prefix_space", true);
  return function(
      [c = stage.character("replacement"), drops](Next next) { return std::make_unique<Metaspace>(std::move(next), c, drops); });
}

template <class S> std::unique_ptr<Decoder> plain() {
  return function([](Next next) { return std::make_unique<S>(std::move(next)); });
}

}  // namespace

std::unique_ptr<Decoder> make_decoder(const nlohmann::json& json) {
  if (json.is_null()) return plain<SpaceBetween>();
  const StageReader stage(json, "decoder");
  const std::string& type = stage.type();
  if (type == "Sequence") return sequence_of(stage);
  if (type == "ByteLevel") return plain<ByteLevel>();
  if (type == "ByteFallback") return plain<ByteFallback>();
  if (type == "Fuse") return plain<Fuse>();
  if (type == "Replace") return replace_of(stage);
  if (type == "Strip") return strip_of(stage);
  if (type == "Metaspace") return metaspace_of(stage);
  if (type == "WordPiece")
    return function([prefix = stage.text("prefix"), cleanup = stage.flag("cleanup")](Next next) {
      return std::make_unique<WordPiece>(std::move(next), prefix, cleanup);
    });
  if (type == "BPEDecoder")
    return function([suffix = not_empty(stage, "suffix")](Next next) { return std::make_unique<BpeSuffix>(std::move(next), suffix); });
  if (type == "CTC")
    return function(
        [pad = not_empty(stage, "pad_token"), delimiter = not_empty(stage, "word_delimiter_token"),
         cleanup = stage.flag("cleanup")](Next next) { return std::make_unique<Ctc>(std::move(next), pad, delimiter, cleanup); });
  stage.unknown();
}

}  // namespace hearth::text::pipeline
