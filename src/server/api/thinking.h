// What the model's chat template lets a request say about reasoning.
#pragma once

#include <string>
#include <string_view>

#include "server/fields.h"

namespace hearth::server {

struct ThinkingControl {
  std::string toggle;   // the variable that turns reasoning on and off: "enable_thinking" or "thinking"; empty: there is none
  bool effort = false;  // the variable reasoning_effort
  bool budget = false;  // the variable thinking_budget
  bool thinks = false;  // the model reasons: the template has marks for it, or one of these variables
};
// From the source of the template; no variables in one that cannot be read.
ThinkingControl thinking_control(std::string_view chat_template);

// OpenAI's reasoning effort, the field `name`, as template variables. With a toggle alone, "none" turns reasoning off and every other
// effort turns it on. Without either, "medium", which is what the API does by default, and "none" for a model that does not reason, are
// honored already. ApiError 400 for anything else.
void set_effort(const Fields& request, std::string_view name, const ThinkingControl& control, Json& variables);

// Turns reasoning on or off. ApiError 400 about the field `name` if the template cannot.
void set_thinking(const Fields& request, std::string_view name, bool on, const ThinkingControl& control, Json& variables);

}  // namespace hearth::server
