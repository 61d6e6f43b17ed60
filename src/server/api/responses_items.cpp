#include "server/api/responses_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/text/utf8.h"
#include "server/api/base64.h"
#include "server/api/stream.h"

namespace hearth::server {
namespace {

constexpr std::string_view seal = "hearth-";

std::string opened_reasoning(const Fields& item, const std::string& sealed) {
  const auto text = sealed.starts_with(seal) ? from_base64(std::string_view(sealed).substr(seal.size())) : std::nullopt;
  if (!text || !is_utf8(*text)) item.refuse("encrypted_content", "was not made by hearth", "invalid_encrypted_content");
  return *text;
}

std::string id_of(const Fields& item, const char* prefix) {
  auto id = item.text("id");
  return id && !id->empty() ? *id : new_id(prefix);
}

std::string status_of(const Fields& item) {
  static constexpr std::string_view words[] = {"in_progress", "completed", "incomplete"};
  return item.word("status", words).value_or("completed");
}

// A text, or a list of parts that are texts of these types. The first type is that of a plain text.
Json parts_of(const Fields& owner, std::string_view name, std::initializer_list<std::string_view> types) {
  const auto made = [](std::string_view type, const std::string& text) {
    Json part{{"type", type}, {type == "refusal" ? "refusal" : "text", text}};
    if (type == "output_text") part["annotations"] = Json::array(), part["logprobs"] = Json::array();
    return part;
  };
  const Json& value = owner.need(name);
  Json parts = Json::array();
  if (value.is_string()) {
    parts.push_back(made(*types.begin(), value.get<std::string>()));
    return parts;
  }
  if (!value.is_array()) owner.refuse(name, "expected a text or a list of parts");
  const std::string path = owner.path_of(name);
  for (size_t i = 0; i < value.size(); ++i) {
    const Fields part(value[i], fmt::format("{}[{}]", path, i));
    const std::string type = part.need_text("type");
    if (std::find(types.begin(), types.end(), type) == types.end()) {
      const bool other = type == "input_image" || type == "input_file" || type == "input_audio" || type == "input_video";
      if (other) part.refuse("type", fmt::format("'{}', but this model takes text only", type), "unsupported");
      part.refuse("type", fmt::format("'{}', expected one of {}", type, fmt::join(types, ", ")));
    }
    parts.push_back(made(type, part.need_text(type == "refusal" ? "refusal" : "text")));
  }
  return parts;
}

Json read_message(const Fields& item) {
  static constexpr std::string_view roles[] = {"user", "assistant", "system", "developer"};
  item.need_text("role");
  const std::string role = *item.word("role", roles);
  const Json content =
      role == "assistant" ? parts_of(item, "content", {"output_text", "input_text", "refusal"}) : parts_of(item, "content", {"input_text"});
  return {{"id", id_of(item, "msg_")}, {"type", "message"}, {"status", status_of(item)}, {"role", role}, {"content", content}};
}

Json read_call(const Fields& item) {
  const std::string arguments = item.need_text("arguments"), status = status_of(item);
  const Json parsed = Json::parse(arguments.empty() ? "{}" : arguments, nullptr, false);
  if (status == "completed" && !parsed.is_object()) item.refuse("arguments", "is no JSON object");
  return {{"id", id_of(item, "fc_")},
          {"type", "function_call"},
          {"status", status},
          {"call_id", item.need_text("call_id")},
          {"name", item.need_text("name")},
          {"arguments", arguments.empty() ? "{}" : arguments}};
}

Json read_output(const Fields& item) {
  const Json& output = item.need("output");
  return {{"id", id_of(item, "fco_")},
          {"type", "function_call_output"},
          {"status", status_of(item)},
          {"call_id", item.need_text("call_id")},
          {"output", output.is_string() ? output : parts_of(item, "output", {"input_text"})}};
}

// The summary says nothing that the model has not thought, so it is given back and not read.
Json read_reasoning(const Fields& item) {
  Json made{{"id", id_of(item, "rs_")}, {"type", "reasoning"}, {"status", status_of(item)}};
  made["summary"] = item.has("summary") ? parts_of(item, "summary", {"summary_text"}) : Json::array();
  made["content"] = item.has("content") ? parts_of(item, "content", {"reasoning_text"}) : Json::array();
  if (const auto sealed = item.text("encrypted_content"); sealed && !sealed->empty()) {
    const std::string text = opened_reasoning(item, *sealed);
    if (made["content"].empty()) made["content"].push_back({{"type", "reasoning_text"}, {"text", text}});
    made["encrypted_content"] = *sealed;
  }
  return made;
}

Json read_item(const Fields& item, const ItemLookup& find_item) {
  const auto given = item.text("type");
  const std::string type = given ? *given : item.has("role") ? "message" : item.has("id") ? "item_reference" : "";
  if (type == "message") return read_message(item);
  if (type == "function_call") return read_call(item);
  if (type == "function_call_output") return read_output(item);
  if (type == "reasoning") return read_reasoning(item);
  if (type != "item_reference") {
    if (!given) item.refuse("type", "is missing, expected a text");
    static constexpr std::string_view known = "message, function_call, function_call_output, reasoning, item_reference";
    item.refuse("type", fmt::format("'{}', expected one of {}", type, known), "unsupported");
  }
  const std::string id = item.need_text("id");
  const auto found = find_item(id);
  if (!found)
    throw ApiError(404, fmt::format("the item '{}' does not exist, or is no longer kept", id), item.path_of("id"), "item_not_found");
  return *found;
}

std::string joined(const Json& parts) {
  if (parts.is_string()) return parts.get<std::string>();
  std::string text;
  for (const Json& part : parts) text += part.value(part["type"] == "refusal" ? "refusal" : "text", std::string());
  return text;
}

// Builds the messages of the assistant out of several items.
class Conversation {
 public:
  explicit Conversation(const std::optional<std::string>& instructions) {
    if (instructions) messages_.push_back({{"role", "system"}, {"content", *instructions}});
  }

  void add(const Json& item) {
    const std::string type = item["type"];
    if (type == "message") message(item);
    else if (type == "reasoning") reasoning(item);
    else if (type == "function_call") call(item);
    else output(item);
  }
  Json take() { return std::move(messages_); }

 private:
  void message(const Json& item) {
    const std::string role = item["role"] == "developer" ? "system" : item["role"].get<std::string>(), text = joined(item["content"]);
    if (role == "assistant") {
      Json& m = assistant(std::array{"content", "tool_calls"});
      m["content"] = text;
    } else if (role == "system" && messages_.size() == 1 && messages_[0]["role"] == "system") {
      messages_[0]["content"] = messages_[0]["content"].get<std::string>() + "\n\n" + text;
    } else {
      messages_.push_back({{"role", role}, {"content", text}});
    }
  }
  void reasoning(const Json& item) {
    const std::string text = joined(item["content"]);
    if (text.empty()) return;
    assistant(std::array{"content", "tool_calls", "reasoning_content"})["reasoning_content"] = text;
  }
  void call(const Json& item) {
    if (item["status"] == "incomplete") return;
    Json& m = assistant(std::array<const char*, 0>{});
    if (!m.contains("tool_calls")) m["tool_calls"] = Json::array();
    m["tool_calls"].push_back(
        {{"id", item["call_id"]}, {"type", "function"}, {"function", {{"name", item["name"]}, {"arguments", item["arguments"]}}}});
    names_[item["call_id"]] = item["name"];
  }
  void output(const Json& item) {
    const std::string id = item["call_id"];
    const auto name = names_.find(id);
    if (name == names_.end())
      throw ApiError(400, fmt::format("input: the output of call '{}' has no function_call with this call_id in front of it", id), "input");
    messages_.push_back({{"role", "tool"}, {"tool_call_id", id}, {"name", name->second}, {"content", joined(item["output"])}});
  }

  // The assistant's last message, or a new one if that has one of these already.
  template <size_t N> Json& assistant(const std::array<const char*, N>& without) {
    bool fits = !messages_.empty() && messages_.back()["role"] == "assistant";
    for (const char* name : without) fits = fits && !messages_.back().contains(name);
    if (!fits) messages_.push_back({{"role", "assistant"}});
    return messages_.back();
  }

  Json messages_ = Json::array();
  std::map<std::string, std::string> names_;  // of calls
};

}  // namespace

Json read_items(const Fields& request, const ItemLookup& find_item) {
  const Json& input = request.need("input");
  Json items = Json::array();
  if (input.is_string()) {
    const Json message{{"role", "user"}, {"content", input}};
    items.push_back(read_message(Fields(message, "input")));
    return items;
  }
  if (!input.is_array()) request.refuse("input", "expected a text or a list of items");
  for (size_t i = 0; i < input.size(); ++i) items.push_back(read_item(Fields(input[i], fmt::format("input[{}]", i)), find_item));
  return items;
}

Json messages_of_items(const Json& items, const std::optional<std::string>& instructions) {
  Conversation made(instructions);
  for (const Json& item : items) made.add(item);
  Json messages = made.take();
  // Templates want to find the text of every message.
  for (Json& m : messages)
    if (!m.contains("content")) m["content"] = m.contains("tool_calls") ? Json() : Json("");
  return messages;
}

std::string sealed_reasoning(const std::string& text) { return std::string(seal) + base64(text); }

}  // namespace hearth::server
