// The beginning of a call: marks, and the name where it does not stand in JSON.
#pragma once

#include <functional>
#include <string>

#include "server/tools/mark_cursor.h"
#include "server/tools/tool_format.h"

namespace hearth::server::tools {

struct CallHead {
  Match match = Match::no;
  size_t size = 0;        // of the head: what follows it is { or a parameter
  bool section = false;   // it opens a section
  bool list = false;      // it opens a list
  std::string name = {};  // named, parameters
  std::string id = {};    // if the model has written one
};
// Reads the head at the beginning of the text. is_tool: whether there is a tool of that name.
CallHead read_head(const ToolFormat& format, std::string_view text, bool ended, const std::function<bool(std::string_view)>& is_tool);

}  // namespace hearth::server::tools
