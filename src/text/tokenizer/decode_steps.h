// The steps of decoders, which pass on parts of tokens.
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

// A step that receives whole tokens.
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

// Joins all tokens into one.
class Fuse : public Step {
 public:
  using Step::Step;
  void end() override {}
  void finish() override {
    next_->end();
    next_->finish();
  }
};

// Replaces a literal in a text that arrives in parts: holds back a possible prefix of the literal.
class LiteralReplacer {
 public:
  LiteralReplacer(std::string literal, std::string content) : literal_(std::move(literal)), content_(std::move(content)) {}

  std::string feed(std::string_view part);  // the text that is now certain
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

// Replaces every occurrence of the literal in a complete text.
std::string replaced(std::string_view text, const std::string& literal, const std::string& content);
// The clean-up of the WordPiece and CTC decoders for each token if `cleanup` is set; unlike transformers' clean_up it includes "do not".
std::string cleaned_up(std::string text);

}  // namespace hearth::text::pipeline
