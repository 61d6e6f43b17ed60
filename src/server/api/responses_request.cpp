#include "server/api/responses_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace hearth::server {
namespace {

constexpr int64_t most = std::numeric_limits<int32_t>::max();

// Fields that hearth has nothing for, with the one value that asks for nothing.
void refuse_what_is_missing(const Fields& r) {
  for (const char* name : {"conversation", "prompt", "moderation"})
    if (r.has(name)) r.refuse(name, "is not supported", "unsupported");
  if (const Json* edits = r.list("context_management"); edits && !edits->empty())
    r.refuse("context_management", "hearth does not compact conversations", "unsupported");
  static constexpr std::string_view truncations[] = {"auto", "disabled"},
                                    tiers[] = {"auto", "default", "flex", "fast", "priority", "scale"},
                                    retentions[] = {"in_memory", "in-memory", "24h"};
  r.word("truncation", truncations);
  r.word("service_tier", tiers);
  r.word("prompt_cache_retention", retentions);
  if (const auto options = r.object("stream_options")) {
    if (!r.flag("stream").value_or(false)) r.refuse("stream_options", "needs stream: true");
    if (options->flag("include_obfuscation").value_or(false))
      options->refuse("include_obfuscation", "events are not padded", "unsupported");
  }
}

Json metadata(const Fields& r) {
  constexpr size_t most_pairs = 16, most_key = 64, most_value = 512;
  const auto object = r.object("metadata");
  if (!object) return Json::object();
  if (object->json().size() > most_pairs) r.refuse("metadata", fmt::format("expected at most {} pairs", most_pairs));
  for (const auto& [key, value] : object->json().items()) {
    if (key.size() > most_key) object->refuse(key, fmt::format("expected a key of at most {} bytes", most_key));
    if (!value.is_string() || value.get_ref<const std::string&>().size() > most_value)
      object->refuse(key, fmt::format("expected a text of at most {} bytes", most_value));
  }
  return object->json();
}

struct Tools {
  Json echo = Json::array(), chat = Json::array();
};
Tools tools_of(const Fields& r) {
  Tools made;
  const Json* list = r.list("tools");
  if (!list) return made;
  for (size_t i = 0; i < list->size(); ++i) {
    const Fields tool((*list)[i], fmt::format("tools[{}]", i));
    const std::string type = tool.need_text("type"), where = tool.path_of("type");
    if (type != "function")
      tool.refuse("type", fmt::format("'{}', but hearth runs no tools: only function is possible", type), "unsupported");
    Json function{{"name", tool.need_text("name")}};
    if (const auto text = tool.text("description")) function["description"] = *text;
    if (const auto parameters = tool.object("parameters")) function["parameters"] = parameters->json();
    const bool strict = tool.flag("strict").value_or(true);  // arguments obey the schema in either case
    function["strict"] = strict;
    made.chat.push_back({{"type", "function"}, {"function", function}});
    made.echo.push_back({{"type", "function"},
                         {"name", function["name"]},
                         {"description", function.value("description", Json())},
                         {"parameters", function.value("parameters", Json())},
                         {"strict", strict}});
  }
  return made;
}

std::string function_name(const Fields& choice) {
  const std::string type = choice.need_text("type");
  if (type != "function") choice.refuse("type", fmt::format("'{}', but only function tools are possible", type), "unsupported");
  return choice.need_text("name");
}

// allowed_tools: only those tools remain.
void restrict_tools(const Fields& choice, ChatRequest& chat) {
  static constexpr std::string_view modes[] = {"auto", "required"};
  choice.need_text("mode");
  chat.tool_choice.kind = *choice.word("mode", modes) == "auto" ? ToolChoice::Kind::automatic : ToolChoice::Kind::required;
  const Json* allowed = choice.list("tools");
  if (!allowed || allowed->empty()) choice.refuse("tools", "is missing or empty, expected tools");
  Json kept = Json::array();
  for (size_t i = 0; i < allowed->size(); ++i) {
    const Fields one((*allowed)[i], fmt::format("{}[{}]", choice.path_of("tools"), i));
    const std::string name = function_name(one);
    const auto found = std::ranges::find_if(*chat.tools, [&](const Json& t) { return t["function"]["name"] == name; });
    if (found == chat.tools->end()) one.refuse("name", fmt::format("'{}' is none of the tools", name));
    kept.push_back(*found);
  }
  chat.tools = kept;
}

// Returns what the response says about it.
Json tool_choice(const Fields& r, ChatRequest& chat) {
  using Kind = ToolChoice::Kind;
  const Json* value = r.value("tool_choice");
  if (!value) return "auto";
  std::string type;
  if (value->is_string()) {
    static constexpr std::string_view words[] = {"auto", "none", "required"};
    type = *r.word("tool_choice", words);
    chat.tool_choice.kind = type == "none" ? Kind::none : type == "required" ? Kind::required : Kind::automatic;
  } else {
    type = r.object("tool_choice")->need_text("type");
  }
  if (!chat.tools && type != "auto" && type != "none") r.refuse("tool_choice", "there are no tools");
  if (value->is_string()) return *value;
  const Fields choice = *r.object("tool_choice");
  if (type == "allowed_tools") {
    restrict_tools(choice, chat);
    return *value;
  }
  chat.tool_choice = {.kind = Kind::named, .name = function_name(choice)};
  const auto is_it = [&](const Json& t) { return t["function"]["name"] == chat.tool_choice.name; };
  if (std::ranges::none_of(*chat.tools, is_it)) choice.refuse("name", fmt::format("'{}' is none of the tools", chat.tool_choice.name));
  return {{"type", "function"}, {"name", chat.tool_choice.name}};
}

// The field "text": how the answer must look.
Json text_config(const Fields& r, ResponseFormat& format) {
  Json echo{{"format", {{"type", "text"}}}, {"verbosity", "medium"}};
  const auto text = r.object("text");
  if (!text) return echo;
  static constexpr std::string_view verbosities[] = {"low", "medium", "high"}, types[] = {"text", "json_object", "json_schema"};
  if (const auto verbosity = text->word("verbosity", verbosities); verbosity && *verbosity != "medium")
    text->refuse("verbosity", fmt::format("'{}', but the model has no such setting", *verbosity), "unsupported");
  const auto wanted = text->object("format");
  if (!wanted) return echo;
  wanted->need_text("type");
  const std::string type = *wanted->word("type", types);
  if (type == "json_object") format.kind = ResponseFormat::Kind::json;
  echo["format"] = {{"type", type}};
  if (type != "json_schema") return echo;
  format.kind = ResponseFormat::Kind::schema;
  format.schema = wanted->need("schema");
  if (!format.schema.is_object() && !format.schema.is_boolean()) wanted->refuse("schema", "expected a JSON schema");
  echo["format"] = {{"type", type},
                    {"name", wanted->need_text("name")},
                    {"description", wanted->text("description") ? Json(*wanted->text("description")) : Json()},
                    {"schema", format.schema},
                    {"strict", wanted->flag("strict").value_or(true)}};
  return echo;
}

Json reasoning(const Fields& r, const ThinkingControl& control, Json& variables) {
  Json echo{{"effort", nullptr}, {"summary", nullptr}};
  const auto object = r.object("reasoning");
  if (!object) return echo;
  set_effort(*object, "effort", control, variables);
  if (const auto effort = object->text("effort")) echo["effort"] = *effort;
  // "auto" is the best that a model has: these have none.
  static constexpr std::string_view summaries[] = {"auto", "concise", "detailed"};
  for (const char* name : {"summary", "generate_summary"})
    if (const auto summary = object->word(name, summaries); summary && *summary != "auto")
      object->refuse(name, fmt::format("'{}', but reasoning is not summarized: it is in the item itself", *summary), "unsupported");
  return echo;
}

void read_include(const Fields& r, ResponsesRequest& made) {
  // Of tools that cannot occur, so that nothing is left out; "message.input_image.image_url" likewise.
  static constexpr std::array<std::string_view, 6> empty = {"file_search_call.results",
                                                            "web_search_call.results",
                                                            "web_search_call.action.sources",
                                                            "message.input_image.image_url",
                                                            "computer_call_output.output.image_url",
                                                            "code_interpreter_call.outputs"};
  bool logprobs = false;
  if (const Json* list = r.list("include"))
    for (size_t i = 0; i < list->size(); ++i) {
      const Json& what = (*list)[i];
      if (what == "reasoning.encrypted_content") made.sealed_reasoning = true;
      else if (what == "message.output_text.logprobs") logprobs = true;
      else if (!what.is_string() || std::ranges::find(empty, what.get<std::string>()) == empty.end())
        r.refuse("include", fmt::format("{} cannot be included", what.dump()));
    }
  const auto top = r.integer("top_logprobs", 0, 20);
  if (logprobs || top.value_or(0) > 0) made.chat.generation.logprobs = top.value_or(0);
}

Json text_or_null(const Fields& r, std::string_view name) {
  const auto text = r.text(name);
  return text ? Json(*text) : Json();
}

}  // namespace

ResponsesRequest responses_request(const Fields& r, ResponseStore& store, const ThinkingControl& thinking, GenerationFields generation) {
  refuse_what_is_missing(r);
  ResponsesRequest made;
  made.chat.generation = std::move(generation);
  made.stream = r.flag("stream").value_or(false);
  made.store = r.flag("store").value_or(true);
  made.background = r.flag("background").value_or(false);
  if (made.background && !made.store) r.refuse("background", "needs store: true");
  made.drop_oldest = r.text("truncation").value_or("disabled") == "auto";

  const auto previous = r.text("previous_response_id");
  if (previous) {
    made.previous = store.find(*previous);
    if (!made.previous)
      throw ApiError(404, fmt::format("the response '{}' does not exist, or is no longer kept", *previous), "previous_response_id",
                     "previous_response_not_found");
  }
  made.input = read_items(r, [&](const std::string& id) { return store.item(id); });
  made.context = made.previous ? made.previous->context() : Json::array();
  for (const Json& item : made.input) made.context.push_back(item);
  if (made.context.empty()) r.refuse("input", "is empty, expected at least one item");
  made.instructions = r.text("instructions");

  Tools given = tools_of(r);
  if (!given.chat.empty()) made.chat.tools = std::move(given.chat);
  const Json choice = tool_choice(r, made.chat);
  made.chat.parallel_tool_calls = r.flag("parallel_tool_calls").value_or(true);
  const Json text = text_config(r, made.chat.format);
  if (const auto variables = r.object("chat_template_kwargs")) made.chat.template_variables = variables->json();
  const Json thought = reasoning(r, thinking, made.chat.template_variables);
  read_include(r, made);
  const auto limit = r.integer("max_output_tokens", 1, most), calls = r.integer("max_tool_calls", 1, most);
  made.chat.generation.max_tokens = limit;
  made.chat.generation.choices = 1;

  made.echo = {{"background", made.background},
               {"instructions", made.instructions ? Json(*made.instructions) : Json()},
               {"max_output_tokens", limit ? Json(*limit) : Json()},
               {"max_tool_calls", calls ? Json(*calls) : Json()},
               {"metadata", metadata(r)},
               {"parallel_tool_calls", made.chat.parallel_tool_calls},
               {"previous_response_id", previous ? Json(*previous) : Json()},
               {"prompt_cache_key", text_or_null(r, "prompt_cache_key")},
               {"reasoning", thought},
               {"safety_identifier", text_or_null(r, "safety_identifier")},
               {"service_tier", "default"},
               {"store", made.store},
               {"text", text},
               {"tool_choice", choice},
               {"tools", given.echo},
               {"top_logprobs", made.chat.generation.logprobs.value_or(0)},
               {"truncation", made.drop_oldest ? "auto" : "disabled"},
               {"user", text_or_null(r, "user")}};
  return made;
}

namespace {

bool stays(const Json& item) { return item["type"] == "message" && (item["role"] == "system" || item["role"] == "developer"); }

}  // namespace

std::vector<size_t> droppable(const Json& context) {
  std::vector<size_t> counts;
  size_t before = 0;
  for (const Json& item : context) {
    if (stays(item)) continue;
    if (before > 0 && item["type"] == "message" && item["role"] == "user") counts.push_back(before);
    ++before;
  }
  return counts;
}

Json without_oldest(const Json& context, size_t count) {
  Json kept = Json::array();
  for (const Json& item : context)
    if (stays(item) || count == 0) kept.push_back(item);
    else --count;
  return kept;
}

}  // namespace hearth::server
