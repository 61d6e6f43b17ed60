// What an answer may be, as a grammar: reasoning, then text, calls, or a given form. An answer that matches is read back by AnswerReader as
// calls of the given tools whose arguments are valid for their schemas.
//
// With required = false the grammar allows any text that does not hold the beginning of a call, and calls behind it. It has few states
// there, so masks come from the cache, and nothing needs to switch the constraint on when a call begins.
#pragma once

#include <optional>
#include <span>

#include "server/tools/tool.h"
#include "server/tools/tool_format.h"
#include "text/grammar/expression.h"

namespace hearth::server::tools {

struct AnswerDemand {
  std::span<const Tool> tools = {};               // that may be called; tool_choice by name: that one, with required
  bool required = false;                          // the answer is a call, without text in front of it
  bool parallel = true;                           // false: at most one call
  std::optional<text::grammar::Rules> text = {};  // what an answer without a call must be, all of it; none: any text
  bool inside_reasoning = false;                  // the prompt has opened it
};

// Where the model thinks, the demand applies to what follows. ApiError 400 with the path of the tool for a schema that cannot be honored:
// the errors of json_schema(), and for parameters in tags "anyOf" and the like at the top of the schema.
text::grammar::Rules answer_grammar(const ToolFormat& format, const Reasoning& reasoning, const AnswerDemand& demand);

}  // namespace hearth::server::tools
