// What an answer consists of: text, reasoning, tool calls. tools/ knows how each model writes them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/text/chat.h"
#include "text/grammar/expression.h"

namespace hearth::server {

struct AnswerEvent {
  enum class Kind { text, reasoning, call, arguments };
  Kind kind = Kind::text;
  std::string text;   // text or reasoning; a call's name; a piece of its arguments
  std::string id;     // of a call
  int64_t index = 0;  // of a call
};

// Of one choice.
class AnswerParser {
 public:
  virtual ~AnswerParser() = default;
  virtual std::vector<AnswerEvent> push(const std::string& text) = 0;
  virtual std::vector<AnswerEvent> finish() = 0;
  virtual int64_t calls() const = 0;
};

// How the model answers this request: what constrains it, and what its text means.
class AnswerFormat {
 public:
  // prompt: the rendered chat, which may end inside the reasoning.
  AnswerFormat(const LanguageService& service, const ChatRequest& request, const std::string& prompt);

  std::unique_ptr<AnswerParser> start() const;
  bool shows_special() const { return shows_special_; }  // special tokens are part of what is parsed
  const std::optional<text::grammar::Rules>& rules() const { return rules_; }
  const std::string& param() const { return param_; }  // the field that the rules come from

 private:
  std::optional<text::grammar::Rules> rules_;
  std::string param_;
  bool shows_special_ = false;
};

}  // namespace hearth::server
