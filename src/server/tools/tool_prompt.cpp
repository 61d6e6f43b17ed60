#include "server/tools/tool_prompt.h"

#include <fmt/format.h>

#include "core/error.h"
#include "server/api_error.h"
#include "server/tools/parameter_types.h"

namespace hearth::server::tools {
namespace {

using Kind = ToolFormat::Kind;

[[noreturn]] void refuse_message(const std::string& path, const std::string& message) {
  throw ApiError(400, one_line(fmt::format("{}: {}", path, message)), path);
}

std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Python's spacing, as chat templates print JSON.
std::string spaced(const Json& value) {
  std::string out;
  bool in_string = false, escaped = false;
  for (const char c : dumped(value)) {
    out += c;
    if (in_string) {
      if (!escaped && c == '"') in_string = false;
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',' || c == ':') {
      out += ' ';
    }
  }
  return out;
}

Json system_message(const std::string& text) { return {{"role", "system"}, {"content", text}}; }
Json user_message(const std::string& text) { return {{"role", "user"}, {"content", text}}; }

// Whether the rendered text shows the word; false if the template refuses the chat.
bool shows(const Render& render, const Json& messages, const Json& tools, std::string_view word) {
  try {
    return render(messages, tools).find(word) != std::string::npos;
  } catch (const std::exception&) { return false; }
}

std::string tagged(const ToolFormat& format, const std::string& name, const Json& arguments) {
  std::string all = fmt::format("{}{}{}", format.open, name, format.after_name);
  const std::string_view line = format.value_lines ? "\n" : "";
  for (const auto& [key, value] : arguments.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : spaced(value);
    all += fmt::format("{}{}{}{}{}{}{}{}{}{}", format.gap, format.key_open, key, format.key_close,
                       format.value_open.empty() ? "" : format.gap, format.value_open, line, text, line, format.value_close);
  }
  return fmt::format("{}{}{}", all, format.gap, format.close);
}

}  // namespace

std::string written_call(const ToolFormat& format, const std::string& name, const Json& arguments) {
  std::string call;
  switch (format.kind) {
    case Kind::objects: {
      const Json object = {{std::string(format.name_key), name}, {std::string(format.arguments_key), arguments}};
      if (format.bare) return spaced(object);
      const std::string_view open = format.list ? "[" : "", close = format.list ? "]" : "";
      call = fmt::format("{}{}{}{}{}{}{}", format.open, format.gap, open, spaced(object), close, format.close.empty() ? "" : format.gap,
                         format.close);
      break;
    }
    case Kind::named:
      call = fmt::format("{}{}{}{}{}{}{}{}", format.open, format.before_name, name, format.ids == ToolFormat::Ids::counted ? ":0" : "",
                         format.after_name, spaced(arguments), format.after_arguments, format.close);
      break;
    case Kind::parameters: call = tagged(format, name, arguments); break;
    case Kind::channels:
      return fmt::format("<|channel|>commentary to=functions.{} <|constrain|>json<|message|>{}<|call|>", name, spaced(arguments));
  }
  if (format.section_open.empty()) return call;
  return fmt::format("{}{}{}{}{}", format.section_open, format.gap, call, format.gap, format.section_close);
}

std::string tool_prompt(const ToolFormat& format, std::span<const Tool> tools) {
  std::string text = "You can call tools. Each line is a tool: its name, what it does, and a JSON schema of its arguments.\n\n<tools>\n";
  for (const Tool& tool : tools)
    text += spaced({{"name", tool.name}, {"description", tool.description}, {"parameters", tool.parameters}}) + "\n";
  text += "</tools>\n\nTo call a tool, answer in exactly this form, with its name and your arguments in place of the example's:\n\n";
  text += written_call(format, "example_tool", {{"example_argument", "value"}, {"another_argument", 1}});
  return text +
         "\n\nIf no tool is needed, answer as usual. Results of calls are given to you between <tool_response> and </tool_response>.";
}

TemplateSupport template_support(const Render& render) {
  constexpr std::string_view word = "probe_q7x";
  const std::string name(word);
  const Json tool = {
      {"type", "function"},
      {"function",
       {{"name", name},
        {"description", "d"},
        {"parameters", {{"type", "object"}, {"properties", {{"a", {{"type", "string"}, {"description", "d"}}}}}, {"required", {"a"}}}}}}};
  const Json tools = Json::array({tool}), ask = user_message("q");
  TemplateSupport found;
  found.tools = shows(render, {ask}, tools, word) || shows(render, {system_message("s"), ask}, tools, word);
  found.system = shows(render, {system_message(name), ask}, nullptr, word);
  Json system = system_message("s");
  system["tools"] = name;
  found.system_tools = !found.tools && shows(render, {system, ask}, nullptr, word);
  const auto chat = [&](const Json& arguments, const std::string& argument_word, const std::string& result) {
    const Json call = {{"id", "abcdefghi"}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", arguments}}}};
    return std::pair(Json::array({ask,
                                  {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}},
                                  {{"role", "tool"}, {"tool_call_id", "abcdefghi"}, {"name", "f"}, {"content", result}},
                                  ask}),
                     argument_word);
  };
  const auto shows_call = [&](const Json& arguments, const std::string& wanted) {
    const auto [messages, argument_word] = chat(arguments, wanted, "r");
    for (const size_t length : {size_t(4), size_t(3), size_t(2)}) {
      Json part = Json::array();
      for (size_t i = 0; i < length; ++i) part.push_back(messages[i]);
      if (shows(render, part, tools, argument_word)) return true;
    }
    return false;
  };
  const Json object = {{"a", name}};
  // A template that expects text may print an object as Python does.
  const bool as_object = shows_call(object, name) && !shows_call(object, "{'a': 'probe_q7x'}");
  const std::string text = R"({"a": "probe_q7x"})";
  const bool as_text = !as_object && shows_call(text, text);
  found.calls = as_object || as_text;
  found.text_arguments = as_text;
  const Json arguments = as_text ? Json(text) : object;
  const Json messages = chat(arguments, "", "result_q7x").first;
  for (const size_t length : {size_t(4), size_t(3)}) {
    Json part = Json::array();
    for (size_t i = 0; i < length; ++i) part.push_back(messages[i]);
    found.results = found.results || shows(render, part, tools, "result_q7x");
  }
  return found;
}

namespace {

std::string content_of(const Json& message) {
  const Json* content = find_member(message, "content");
  if (!content) return "";
  if (content->is_string()) return content->get<std::string>();
  std::string all;
  if (content->is_array()) {
    for (const Json& part : *content) {
      const Json* text = part.is_object() ? find_member(part, "text") : nullptr;
      if (text && text->is_string()) all += text->get<std::string>();
    }
  }
  return all;
}

// The arguments of an earlier call as an object.
Json arguments_of(const Json& function, const std::string& path) {
  const Json* given = find_member(function, "arguments");
  if (!given || *given == "") return Json::object();
  Json value = *given;
  if (value.is_string()) value = Json::parse(given->get_ref<const std::string&>(), nullptr, false);
  if (!value.is_object()) refuse_message(path + ".arguments", "expected a JSON object, as text");
  return value;
}

// Appends to the system message, which is made if there is none; to the first other message if the template prints none.
void add_instructions(Json& messages, const std::string& text, bool system) {
  if (messages.empty()) return;
  Json& first = messages[0];
  const Json* role = find_member(first, "role");
  const bool is_system = role && (*role == "system" || *role == "developer");
  if (!is_system && system) {
    messages.insert(messages.begin(), system_message(text));
    return;
  }
  if (const Json* content = find_member(first, "content"); content && content->is_array()) {
    const Json part = {{"type", "text"}, {"text", is_system ? "\n\n" + text : text + "\n\n"}};
    Json& parts = first["content"];
    parts.insert(is_system ? parts.end() : parts.begin(), part);
  } else {
    const std::string before = content_of(first);
    first["content"] = is_system ? before + (before.empty() ? "" : "\n\n") + text : text + "\n\n" + before;
  }
}

}  // namespace

PreparedChat prepare_chat(const ToolFormat& format, const TemplateSupport& support, const Json& messages, const Json& list,
                          std::span<const Tool> tools) {
  PreparedChat chat{.messages = Json::array()};
  for (size_t i = 0; i < messages.size(); ++i) {
    Json message = messages[i];
    const std::string path = fmt::format("messages[{}]", i);
    if (!message.is_object()) refuse_message(path, "expected an object");
    const Json* role = find_member(message, "role");
    const Json* given = find_member(message, "tool_calls");
    if (given && !given->is_array()) refuse_message(path + ".tool_calls", "expected a list");
    if (given) {
      Json calls = *given;
      std::string written;
      for (size_t k = 0; k < calls.size(); ++k) {
        const std::string at = fmt::format("{}.tool_calls[{}].function", path, k);
        const Json* function = calls[k].is_object() ? find_member(calls[k], "function") : nullptr;
        const Json* name = function && function->is_object() ? find_member(*function, "name") : nullptr;
        if (!name || !name->is_string()) refuse_message(at, "expected an object with a name");
        const Json arguments = arguments_of(*function, at);
        if (!support.calls) written += (written.empty() ? "" : "\n") + written_call(format, name->get<std::string>(), arguments);
        calls[k]["function"]["arguments"] = support.text_arguments ? Json(spaced(arguments)) : arguments;
      }
      if (support.calls) {
        message["tool_calls"] = calls;
      } else if (!written.empty()) {
        const std::string before = content_of(message);
        message["content"] = before + (before.empty() ? "" : "\n") + written;
        message.erase("tool_calls");
      }
    } else if (role && *role == "tool" && !support.results) {
      const std::string text = "<tool_response>\n" + content_of(message) + "\n</tool_response>";
      // Results of one answer's calls stand in one message, because many templates want roles to alternate.
      Json* last = chat.messages.empty() ? nullptr : &chat.messages.back();
      if (last && last->contains("from_tools")) (*last)["content"] = (*last)["content"].get<std::string>() + "\n" + text;
      else chat.messages.push_back({{"role", "user"}, {"content", text}, {"from_tools", true}});
      continue;
    }
    chat.messages.push_back(std::move(message));
  }
  for (Json& message : chat.messages)
    if (message.is_object()) message.erase("from_tools");
  if (tools.empty()) return chat;
  chat.tools = support.tools && format.known;
  if (chat.tools) return chat;
  if (support.system_tools && format.known) {
    const Json* role = chat.messages.empty() ? nullptr : find_member(chat.messages[0], "role");
    if (!role || *role != "system") chat.messages.insert(chat.messages.begin(), system_message(""));
    chat.messages[0]["tools"] = dumped(list);
    return chat;
  }
  add_instructions(chat.messages, tool_prompt(format, tools), support.system);
  return chat;
}

}  // namespace hearth::server::tools
