// From the text of an answer, as it comes, to text, reasoning and tool calls.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/tools/answer_events.h"
#include "server/tools/tool.h"
#include "server/tools/tool_format.h"

namespace hearth::server::tools {

struct ReaderOptions {
  std::vector<Tool> tools = {};          // none (or tool_choice none): nothing is read as a call
  bool separate_reasoning = true;        // false: reasoning is text as the model wrote it
  bool inside_reasoning = false;         // the prompt has opened it: opens_reasoning()
  std::vector<std::string> hidden = {};  // special tokens that are no marks and never text: those that end an answer
};

// One reader reads one answer, whole or in pieces: however it is divided, the joined events are the same. Marks are never part of the
// text, and text that only looks like the beginning of a mark is held back until that is clear. What does not parse as a call of one of
// the tools is text, marks and all; nothing is lost. A call begins when its name is known and its arguments begin; if they then turn out
// not to be JSON, or the answer ends, the call ends incomplete and what follows is text: arguments that a client has got stay arguments.
// White space beside calls and reasoning is neither.
class AnswerReader {
 public:
  AnswerReader(const ToolFormat& format, const Reasoning& reasoning, ReaderOptions options);
  AnswerReader(AnswerReader&&) noexcept;
  AnswerReader& operator=(AnswerReader&&) noexcept;
  ~AnswerReader();

  std::vector<AnswerEvent> push(std::string_view text);
  std::vector<AnswerEvent> finish();  // nothing may follow
  int64_t calls() const;              // that have begun

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::server::tools
