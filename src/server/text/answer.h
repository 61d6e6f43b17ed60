// How a model answers a request: what constrains its text, and what the text means (tools/).
#pragma once

#include <optional>
#include <string>

#include "server/text/chat.h"
#include "server/tools/answer_grammar.h"
#include "server/tools/answer_reader.h"

namespace hearth::server {

class AnswerFormat {
 public:
  // prompt: the rendered chat, which may end inside the reasoning. ApiError 400 for tools or a format that cannot be honored.
  AnswerFormat(const LanguageService& service, const ChatRequest& request, const std::string& prompt);

  tools::AnswerReader start() const { return {service_.tool_format(), service_.reasoning(), reader_}; }  // of one choice
  bool shows_special() const { return shows_special_; }  // special tokens are part of what is read
  // What the answer must be; null for any text.
  std::shared_ptr<const engine::ConstraintSource> constraint() const;

 private:
  const LanguageService& service_;
  tools::ReaderOptions reader_;
  tools::AnswerDemand demand_;
  std::vector<tools::Tool> callable_;
  std::string param_, source_;  // the field that the constraint comes from, and all of it as text
  bool shows_special_ = false;
};

}  // namespace hearth::server
