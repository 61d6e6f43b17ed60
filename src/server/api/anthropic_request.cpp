#include "server/api/anthropic_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace hearth::server {
namespace {

constexpr int64_t most = std::numeric_limits<int32_t>::max();
constexpr int64_t least_budget = 1024;

void add_text(std::string& to, const std::string& text, std::string_view between) {
  if (!to.empty() && !text.empty()) to += between;
  to += text;
}

// What the model reads of a list of blocks that may only be text.
std::string text_of(const Fields& owner, std::string_view name, std::string_view between) {
  const Json& value = owner.need(name);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) owner.refuse(name, "expected a text or a list of blocks");
  std::string text;
  const std::string path = owner.path_of(name);
  for (size_t i = 0; i < value.size(); ++i) {
    const Fields block(value[i], fmt::format("{}[{}]", path, i));
    const std::string type = block.need_text("type");
    if (type != "text") block.refuse("type", fmt::format("'{}', but this model takes text only", type), "unsupported");
    add_text(text, block.need_text("text"), between);
  }
  return text;
}

// Anthropic's messages as OpenAI's: results of tools are messages of their own, and what one side says in several messages is one.
class Conversation {
 public:
  void system(const std::string& text) {
    if (messages_.empty() || messages_.back()["role"] != "system") messages_.push_back({{"role", "system"}, {"content", text}});
    else append(messages_.back(), text, "\n\n");
  }

  void add(const Fields& message) {
    static constexpr std::string_view roles[] = {"user", "assistant", "system"};
    message.need_text("role");
    const std::string role = *message.word("role", roles);
    if (role == "system") return system(text_of(message, "content", "\n\n"));
    const Json& content = message.need("content");
    if (content.is_string()) return text(role, content.get<std::string>());
    if (!content.is_array()) message.refuse("content", "expected a text or a list of blocks");
    const std::string path = message.path_of("content");
    for (size_t i = 0; i < content.size(); ++i) {
      const Fields block(content[i], fmt::format("{}[{}]", path, i));
      const std::string type = block.need_text("type");
      if (type == "text") text(role, block.need_text("text"));
      else if (role == "user" && type == "tool_result") result(block);
      else if (role == "assistant" && type == "tool_use") call(block);
      else if (role == "assistant" && type == "thinking") thinking(block);
      else refuse(block, role, type);
    }
    if (content.empty()) text(role, "");
  }

  Json take() { return std::move(messages_); }

 private:
  [[noreturn]] static void refuse(const Fields& block, const std::string& role, const std::string& type) {
    static const std::set<std::string> own = {"tool_result", "tool_use", "thinking"};
    if (own.contains(type)) block.refuse("type", fmt::format("'{}' cannot be part of a message of the {}", type, role));
    if (type == "redacted_thinking") block.refuse("type", "'redacted_thinking' can be read only by those who made it", "unsupported");
    block.refuse("type", fmt::format("'{}', but this model takes text only", type), "unsupported");
  }

  static void append(Json& message, const std::string& text, std::string_view between) {
    std::string all = message["content"].is_string() ? message["content"].get<std::string>() : "";
    add_text(all, text, between);
    message["content"] = all;
  }

  // The assistant speaks on in its last message unless it has called tools there.
  void text(const std::string& role, const std::string& text) {
    const bool goes_on = !messages_.empty() && messages_.back()["role"] == role && !messages_.back().contains("tool_calls");
    if (goes_on) append(messages_.back(), text, "\n");
    else messages_.push_back({{"role", role}, {"content", text}});
  }

  Json& assistant() {
    if (messages_.empty() || messages_.back()["role"] != "assistant") messages_.push_back({{"role", "assistant"}, {"content", nullptr}});
    return messages_.back();
  }

  void thinking(const Fields& block) {
    const std::string thought = block.need_text("thinking");
    if (thought.empty()) return;
    Json& m = assistant();
    std::string all = m.value("reasoning_content", std::string());
    add_text(all, thought, "\n");
    m["reasoning_content"] = all;
  }

  void call(const Fields& block) {
    const std::string id = block.need_text("id"), name = block.need_text("name");
    const auto input = block.object("input");
    if (!input) block.refuse("input", "is missing, expected an object");
    Json& m = assistant();
    if (!m.contains("tool_calls")) m["tool_calls"] = Json::array();
    m["tool_calls"].push_back({{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", input->json().dump()}}}});
    names_[id] = name;
  }

  void result(const Fields& block) {
    const std::string id = block.need_text("tool_use_id");
    const auto name = names_.find(id);
    if (name == names_.end()) block.refuse("tool_use_id", fmt::format("'{}' is the id of no tool_use in front of it", id));
    std::string text = block.has("content") ? text_of(block, "content", "\n") : "";
    if (block.flag("is_error").value_or(false)) text = "Error: " + text;  // templates have no other place for it
    messages_.push_back({{"role", "tool"}, {"tool_call_id", id}, {"name", name->second}, {"content", text}});
  }

  Json messages_ = Json::array();
  std::map<std::string, std::string> names_;  // of calls
};

Json functions_of(const Fields& request) {
  Json made = Json::array();
  const Json* list = request.list("tools");
  if (!list) return made;
  for (size_t i = 0; i < list->size(); ++i) {
    const Fields tool((*list)[i], fmt::format("tools[{}]", i));
    if (const auto type = tool.text("type"); type && *type != "custom")
      tool.refuse("type", fmt::format("'{}', but hearth has no tools of its own: only custom is possible", *type), "unsupported");
    Json function{{"name", tool.need_text("name")}};
    if (const auto text = tool.text("description")) function["description"] = *text;
    tool.need("input_schema");
    function["parameters"] = tool.object("input_schema")->json();
    if (const auto strict = tool.flag("strict")) function["strict"] = *strict;
    made.push_back({{"type", "function"}, {"function", function}});
  }
  return made;
}

void tool_choice(const Fields& request, ChatRequest& chat) {
  using Kind = ToolChoice::Kind;
  const auto choice = request.object("tool_choice");
  if (!choice) return;
  static constexpr std::string_view types[] = {"auto", "any", "tool", "none"};
  choice->need_text("type");
  const std::string type = *choice->word("type", types);
  if (!chat.tools && (type == "any" || type == "tool")) request.refuse("tool_choice", "there are no tools");
  chat.parallel_tool_calls = !choice->flag("disable_parallel_tool_use").value_or(false);
  if (type == "any") chat.tool_choice.kind = Kind::required;
  if (type == "none") chat.tool_choice.kind = Kind::none;
  if (type != "tool") return;
  chat.tool_choice = {.kind = Kind::named, .name = choice->need_text("name")};
  const auto is_it = [&](const Json& t) { return t["function"]["name"] == chat.tool_choice.name; };
  if (std::ranges::none_of(*chat.tools, is_it)) choice->refuse("name", fmt::format("'{}' is none of the tools", chat.tool_choice.name));
}

void read_thinking(const Fields& request, const ThinkingControl& control, AnthropicRequest& made) {
  const auto thinking = request.object("thinking");
  if (!thinking) return;
  static constexpr std::string_view types[] = {"enabled", "disabled", "adaptive", "between_tools"}, displays[] = {"summarized", "omitted"};
  thinking->need_text("type");
  const std::string type = *thinking->word("type", types);
  Json& variables = made.chat.template_variables;
  if (type == "between_tools") thinking->refuse("type", "'between_tools', but the model has no such setting", "unsupported");
  // Adaptive leaves it to the model, as its template does by default.
  if (type != "adaptive") set_thinking(*thinking, "type", type == "enabled", control, variables);
  made.shows_thinking = thinking->word("display", displays).value_or("summarized") != "omitted";
  if (type != "enabled") return;
  // A target that the model need not use up; only templates with such a variable can tell it to the model.
  const auto budget = thinking->integer("budget_tokens", least_budget, most);
  if (!budget) thinking->refuse("budget_tokens", "is missing, expected an integer");
  const auto limit = made.chat.generation.max_tokens;
  if (limit && *budget >= *limit) thinking->refuse("budget_tokens", fmt::format("{}, expected less than max_tokens, {}", *budget, *limit));
  if (control.budget) variables["thinking_budget"] = *budget;
}

void output_config(const Fields& request, const ThinkingControl& control, ChatRequest& chat) {
  const auto config = request.object("output_config");
  if (!config) return;
  static constexpr std::string_view efforts[] = {"low", "medium", "high", "xhigh", "max"}, types[] = {"json_schema"};
  if (const auto effort = config->word("effort", efforts)) {
    if (control.effort) chat.template_variables["reasoning_effort"] = *effort;
    else if (*effort != "high")  // what the API does without the field
      config->refuse("effort", fmt::format("'{}', but the model's chat template has no such setting", *effort), "unsupported");
  }
  const auto format = config->object("format");
  if (!format) return;
  format->need_text("type");
  format->word("type", types);
  chat.format.kind = ResponseFormat::Kind::schema;
  chat.format.schema = format->need("schema");
}

void generation(const Fields& request, GenerationFields& made) {
  if (const auto t = request.number("temperature", 0, 1)) made.sampling.temperature = t;
  if (const auto stops = request.list("stop_sequences")) {
    constexpr size_t most_stops = 64;
    if (stops->size() > most_stops)
      request.refuse("stop_sequences", fmt::format("{} stop sequences, expected at most {}", stops->size(), most_stops));
    const std::vector<std::string> texts = *request.texts("stop_sequences");
    for (const std::string& stop : texts) {
      if (stop.empty()) request.refuse("stop_sequences", "an empty stop sequence");
      made.stop.push_back(stop);
    }
  }
  made.choices = 1;
}

void refuse_what_is_missing(const Fields& request) {
  if (const Json* servers = request.list("mcp_servers"); servers && !servers->empty())
    request.refuse("mcp_servers", "hearth calls no servers", "unsupported");
  if (request.has("container")) request.refuse("container", "hearth has no containers", "unsupported");
  static constexpr std::string_view tiers[] = {"auto", "standard_only"}, speeds[] = {"standard"};
  request.word("service_tier", tiers);
  request.word("speed", speeds);
  request.object("metadata");
}

}  // namespace

AnthropicRequest anthropic_request(const Fields& request, const ThinkingControl& thinking, GenerationFields fields, bool counting) {
  AnthropicRequest made;
  refuse_what_is_missing(request);
  made.chat.generation = std::move(fields);
  if (!counting) {
    made.chat.generation.max_tokens = request.integer("max_tokens", 1, most);
    if (!made.chat.generation.max_tokens) request.refuse("max_tokens", "is missing, expected an integer");
    generation(request, made.chat.generation);
    made.stream = request.flag("stream").value_or(false);
  }

  Conversation conversation;
  if (request.has("system")) conversation.system(text_of(request, "system", "\n\n"));
  const Json* messages = request.list("messages");
  if (!messages || messages->empty()) request.refuse("messages", messages ? "is empty, expected at least one message" : "is missing");
  for (size_t i = 0; i < messages->size(); ++i) conversation.add(Fields((*messages)[i], fmt::format("messages[{}]", i)));
  made.chat.messages = conversation.take();
  const Json& last = made.chat.messages.back();
  made.chat.continue_final_message = last["role"] == "assistant";
  if (last.contains("tool_calls"))
    request.refuse("messages", "the last message calls tools, expected a message of the user with their results behind it");

  if (Json given = functions_of(request); !given.empty()) made.chat.tools = std::move(given);
  tool_choice(request, made.chat);
  if (const auto variables = request.object("chat_template_kwargs")) made.chat.template_variables = variables->json();
  read_thinking(request, thinking, made);
  output_config(request, thinking, made.chat);
  return made;
}

}  // namespace hearth::server
