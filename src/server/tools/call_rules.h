// The grammar of calls, format by format.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/tools/tool.h"
#include "server/tools/tool_format.h"
#include "text/grammar/expression.h"

namespace hearth::server::tools {

text::grammar::Expr literal(std::string_view text);
// White space as models write it in JSON: nothing, a space, or a new line with up to 16 spaces.
text::grammar::Expr json_gap();
// The mark's own white space, or none.
text::grammar::Expr optional_gap(std::string_view gap);

// The arguments of a call: JSON, and with tags around each parameter.
text::grammar::Expr json_arguments(const Tool& tool);
text::grammar::Expr tagged_arguments(const ToolFormat& format, const Tool& tool);

// One call, or several if `parallel`, from the first mark to the last. Not for Kind::channels.
text::grammar::Expr calls_of(const ToolFormat& format, std::span<const Tool> tools, bool parallel);

// The texts in which a reader finds no call.
text::grammar::Expr text_without_calls(const ToolFormat& format);

// All that the grammar refuses becomes an ApiError about the tool.
[[noreturn]] void refuse_tool(const Tool& tool, const std::string& message);

}  // namespace hearth::server::tools
