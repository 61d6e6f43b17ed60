// Tools for models whose chat template does not show them, or not as they come: a system text, and messages that every template can render.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "server/tools/tool.h"
#include "server/tools/tool_format.h"

namespace hearth::server::tools {

// What a template does with tools, found by rendering small chats.
struct TemplateSupport {
  bool tools = false;           // prints those that it is given
  bool system_tools = false;    // prints "tools", as text, of a system message instead
  bool calls = false;           // prints "tool_calls" of an assistant's message
  bool results = false;         // prints messages of the role "tool"
  bool text_arguments = false;  // takes a call's arguments as text, not as an object
  bool system = false;          // prints system messages
};

// Renders messages with tools (null: none), or throws.
using Render = std::function<std::string(const Json& messages, const Json& tools)>;
TemplateSupport template_support(const Render& render);

// The system text that describes the tools and how the model of this format calls them.
std::string tool_prompt(const ToolFormat& format, std::span<const Tool> tools);

// A call as the model writes it, with its marks. arguments: an object.
std::string written_call(const ToolFormat& format, const std::string& name, const Json& arguments);

struct PreparedChat {
  Json messages;
  bool tools = false;  // the template gets the tools, too
};
// OpenAI's messages as the template takes them. Arguments of earlier calls become objects (or text, if that is what it takes); where the
// template does not print tools, calls or results, these become text in the messages. `list`: the request's tools, as they came.
// ApiError 400 "messages[2].tool_calls[0]…" for calls without a name, and for arguments that are no JSON object.
PreparedChat prepare_chat(const ToolFormat& format, const TemplateSupport& support, const Json& messages, const Json& list,
                          std::span<const Tool> tools);

}  // namespace hearth::server::tools
