#include "server/api/thinking.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "server/tools/tool_format.h"
#include "text/template/syntax/lexer.h"

namespace hearth::server {
namespace {

using Token = text::jinja::Token;

constexpr std::array<std::string_view, 7> efforts = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};

// Whether the template reads `name` from outside: it asks whether the name is defined or gives it a default, or it never sets it itself.
bool is_variable(const std::vector<Token>& tokens, std::string_view name) {
  bool read = false, asked = false, set = false;
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (!tokens[i].is_name(name)) continue;
    const bool attribute = i > 0 && tokens[i - 1].is_symbol("."), keyword = tokens[i + 1].is_symbol("=");
    if (attribute) continue;
    if (i > 0 && (tokens[i - 1].is_name("set") || tokens[i - 1].is_name("for"))) {
      set = true;
      continue;
    }
    if (keyword) continue;
    read = true;
    const size_t what = i + 2 + (tokens[i + 2].is_name("not") ? 1 : 0);
    asked |= tokens[i + 1].is_name("is") && what < tokens.size() && (tokens[what].is_name("defined") || tokens[what].is_name("undefined"));
    asked |= tokens[i + 1].is_symbol("|") && tokens[i + 2].is_name("default");
  }
  return asked || (read && !set);
}

}  // namespace

ThinkingControl thinking_control(std::string_view chat_template) {
  ThinkingControl made{.thinks = !tools::find_reasoning(chat_template).none()};
  std::vector<Token> tokens;
  try {
    tokens = text::jinja::tokenize(chat_template);
  } catch (const std::exception&) { return made; }  // rendering it reports what is wrong
  for (const char* toggle : {"enable_thinking", "thinking"})
    if (made.toggle.empty() && is_variable(tokens, toggle)) made.toggle = toggle;
  made.effort = is_variable(tokens, "reasoning_effort");
  made.budget = is_variable(tokens, "thinking_budget");
  made.thinks |= made.effort || !made.toggle.empty();
  return made;
}

void set_effort(const Fields& request, std::string_view name, const ThinkingControl& control, Json& variables) {
  const auto effort = request.word(name, efforts);
  if (!effort) return;
  const bool none = *effort == "none";
  if (!control.toggle.empty()) variables[control.toggle] = !none;
  if (control.effort) variables["reasoning_effort"] = *effort;
  if (!control.toggle.empty() || control.effort || *effort == "medium" || (none && !control.thinks)) return;
  request.refuse(name,
                 none ? "'none', but the model's chat template cannot turn reasoning off"
                      : fmt::format("'{}', but the model's chat template has no such setting", *effort),
                 "unsupported");
}

void set_thinking(const Fields& request, std::string_view name, bool on, const ThinkingControl& control, Json& variables) {
  if (!control.toggle.empty()) variables[control.toggle] = on;
  else if (on && !control.thinks) request.refuse(name, "this model's chat template knows no reasoning", "unsupported");
  else if (!on && control.thinks) request.refuse(name, "this model's chat template cannot turn reasoning off", "unsupported");
}

}  // namespace hearth::server
