// What decoders are made of: steps that hand on the parts of tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "text/tokenizer/decoders.h"

namespace hearth::text::pipeline {

using Next = std::unique_ptr<TokenSink>;

class Step : public TokenSink {
 public:
  explicit Step(Next next) : next_(std::move(next)) {}
  void text(std::string_view part) override { next_->text(part); }
  void end() override { next_->end(); }
  void finish() override { next_->finish(); }

 protected:
  void emit(std::string_view token) const {
    next_->text(token);
    next_->end();
  }
  Next next_;
};

// A step that sees each token whole.
class TokenStep : public Step {
 public:
  using Step::Step;
  void text(std::string_view part) override { token_ += part; }
  void end() override { token(std::exchange(token_, {})); }

 protected:
  virtual void token(std::string token) = 0;

 private:
  std::string token_;
};

// All tokens become one.
class Fuse : public Step {
 public:
  using Step::Step;
  void end() override {}
  void finish() override {
    next_->end();
    next_->finish();
  }
};

// Replaces a literal in a text that comes in parts: holds back what may be its beginning.
class LiteralReplacer {
 public:
  LiteralReplacer(std::string literal, std::string content) : literal_(std::move(literal)), content_(std::move(content)) {}

  std::string feed(std::string_view part);  // what is certain now
  std::string rest() { return std::exchange(held_, {}); }

 private:
  std::string literal_, content_, held_;
};

class ReplaceLiteral : public Step {
 public:
  ReplaceLiteral(Next next, const std::string& literal, const std::string& content) : Step(std::move(next)), replacer_(literal, content) {}
  void text(std::string_view part) override { next_->text(replacer_.feed(part)); }
  void end() override { emit(replacer_.rest()); }

 private:
  LiteralReplacer replacer_;
};

// A whole text with every literal replaced.
std::string replaced(std::string_view text, const std::string& literal, const std::string& content);
// What the WordPiece and CTC decoders do to each token where `cleanup` is set; unlike transformers' clean_up it knows "do not".
std::string cleaned_up(std::string text);

}  // namespace hearth::text::pipeline
