#include "text/template/chat_template.h"

#include <array>
#include <exception>

#include "core/error.h"
#include "text/template/chat_files.h"
#include "text/template/template.h"
#include "text/template/values/json.h"
#include "text/template/values/printing.h"
#include "text/template/values/python_text.h"

namespace hearth::text {

using namespace jinja;

namespace {

// What marks the end of a message that is to be continued: the reference's own words, since a template might measure it.
constexpr std::string_view open_end = "CONTINUE_FINAL_MESSAGE_TAG ";

struct Source {
  std::optional<Template> parsed;
  std::exception_ptr failure;  // why it is not parsed
};

Source read_source(const std::string& text, const std::string& name) {
  Source source;
  try {
    source.parsed = Template::parse(text, name);
  } catch (const Error&) { source.failure = std::current_exception(); }
  return source;
}

Value read(const std::string& json, const char* what) {
  try {
    return read_json(json, what);
  } catch (const IoError& e) { throw UsageError(e.what()); }
}

Value read_objects(const std::string& json, const char* what) {
  const Value list = read(json, what);
  if (!list.is(Kind::list)) fail<UsageError>("{}: a value of type {}, expected a list of objects", what, list.type_name());
  for (size_t i = 0; i < list.items().size(); ++i)
    if (!list.items()[i].is_dict())
      fail<UsageError>("{}: element {} is of type {}, expected an object", what, i, list.items()[i].type_name());
  return list;
}

Value with_entry(const Value& dict, const char* key, Value value) {
  Dict changed = dict.entries();
  changed.set(Value(key), std::move(value));
  return Value::dict(std::move(changed));
}

// The messages with the mark behind the last one's text, and that text.
struct Opened {
  Value messages;
  std::string text;
};

Opened open_last(const Value& messages) {
  List list = messages.items();
  const Value* content = list.back().entries().named("content");
  if (content && content->is_text()) {
    const std::string text = content->text();
    list.back() = with_entry(list.back(), "content", Value(text + std::string(open_end)));
    return {Value::list(std::move(list)), text};
  }
  if (content && content->is(Kind::list)) {
    List parts = content->items();
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const Value* text_value = part->is_dict() ? part->entries().named("text") : nullptr;
      if (!text_value || !text_value->is_text()) continue;
      const std::string text = text_value->text();
      *part = with_entry(*part, "text", Value(text + std::string(open_end)));
      list.back() = with_entry(list.back(), "content", Value::list(std::move(parts)));
      return {Value::list(std::move(list)), text};
    }
  }
  fail<UsageError>("messages: the last one has no text to continue");
}

std::string cut_open_end(std::string rendered, const std::string& text) {
  const std::string_view mark = strip(open_end);
  const size_t at = rendered.rfind(mark);
  if (at == std::string::npos || rendered.find(strip(text)) == std::string::npos)
    fail<UsageError>("messages: the template does not print the last one as it is, so it cannot be continued");
  const bool spaces_kept = rendered.compare(at, open_end.size(), open_end) == 0;
  rendered.resize(at);
  if (!spaces_kept) rendered = strip(rendered, Side::right);
  return rendered;
}

}  // namespace

struct ChatTemplate::Data {
  std::map<std::string, Source> templates;
  std::map<std::string, std::string> special_tokens;
  std::vector<std::string> additional_tokens;
  std::string where;

  const Source& named(const std::string& name) const {
    const auto it = templates.find(name);
    if (it != templates.end()) return it->second;
    std::string known;
    for (const auto& [other, source] : templates) known += fmt::format("{}'{}'", known.empty() ? "" : ", ", other);
    fail<UsageError>("{}: no chat template named '{}'; there is {}", where, name, known.empty() ? "none" : known);
  }
};

ChatTemplate::ChatTemplate(const std::map<std::string, std::string>& sources, std::map<std::string, std::string> special_tokens,
                           std::string where) {
  auto data = std::make_shared<Data>();
  for (const auto& [name, source] : sources)
    data->templates.emplace(name, read_source(source, sources.size() == 1 ? where : where + ": " + name));
  data->special_tokens = std::move(special_tokens);
  data->where = std::move(where);
  data_ = std::move(data);
}

ChatTemplate ChatTemplate::load(const std::filesystem::path& folder) {
  ChatFiles files = ChatFiles::read(folder);
  if (files.templates.empty())
    fail<WeightError>("{}: no chat template: no chat_template.jinja, no chat_template.json, none in tokenizer_config.json",
                      folder.string());
  ChatTemplate result(files.templates, std::move(files.special_tokens), folder.string());
  auto data = std::make_shared<Data>(*result.data_);
  data->additional_tokens = std::move(files.additional_tokens);
  result.data_ = std::move(data);
  return result;
}

std::string ChatTemplate::render(const ChatRequest& request) const {
  if (request.continue_final_message && request.add_generation_prompt)
    fail<UsageError>(
        "continue_final_message and add_generation_prompt are both set: the first goes on with a message, the second begins one");
  const std::string by_default = request.tools && data_->templates.contains("tool_use") ? "tool_use" : "default";
  const Source& source = data_->named(request.name.value_or(by_default));
  if (!source.parsed) std::rethrow_exception(source.failure);

  Value messages = read_objects(request.messages, "messages");
  if (messages.items().empty()) fail<UsageError>("messages: an empty list, expected at least one message");
  std::string continued;
  if (request.continue_final_message) {
    Opened opened = open_last(messages);
    messages = std::move(opened.messages);
    continued = std::move(opened.text);
  }

  Dict variables;
  for (const auto& [name, token] : data_->special_tokens) variables.set(name, token);
  if (!data_->additional_tokens.empty()) {
    List tokens(data_->additional_tokens.begin(), data_->additional_tokens.end());
    variables.set("additional_special_tokens", Value::list(std::move(tokens)));
  }
  const Value extra = read(request.variables, "variables");
  if (!extra.is_dict()) fail<UsageError>("variables: a value of type {}, expected an object", extra.type_name());
  for (const auto& [name, value] : extra.entries().entries()) {
    static constexpr std::array own = {"messages", "tools", "documents", "add_generation_prompt"};
    if (std::find(own.begin(), own.end(), name.text()) != own.end())
      fail<UsageError>("variables: '{}' is given in another way", name.text());
    variables.set(name, value);
  }
  variables.set("messages", std::move(messages));
  variables.set("tools", request.tools ? read_objects(*request.tools, "tools") : Value::none());
  variables.set("documents", request.documents ? read_objects(*request.documents, "documents") : Value::none());
  variables.set("add_generation_prompt", request.add_generation_prompt);

  std::string rendered = source.parsed->render(variables, {.now = request.now});
  return request.continue_final_message ? cut_open_end(std::move(rendered), continued) : rendered;
}

}  // namespace hearth::text
