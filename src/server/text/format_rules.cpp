#include "server/text/format_rules.h"

#include "core/error.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/regex.h"

namespace hearth::server {

namespace grammar = text::grammar;

std::string param_of(ResponseFormat::Kind kind) {
  switch (kind) {
    case ResponseFormat::Kind::regex: return "guided_regex";
    case ResponseFormat::Kind::grammar: return "guided_grammar";
    case ResponseFormat::Kind::choice: return "guided_choice";
    default: return "response_format";
  }
}

std::string source_of(const ResponseFormat& format) {
  if (format.kind == ResponseFormat::Kind::free) return {};
  return Json{int(format.kind), format.schema, format.text, format.choices}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<grammar::Rules> format_rules(const ResponseFormat& format) {
  try {
    switch (format.kind) {
      case ResponseFormat::Kind::free: return {};
      case ResponseFormat::Kind::json: return grammar::json_object();
      case ResponseFormat::Kind::schema: return grammar::json_schema(format.schema);
      case ResponseFormat::Kind::regex: return grammar::only("root", grammar::regex(format.text, grammar::RegexMatch::whole));
      case ResponseFormat::Kind::grammar: return grammar::gbnf(format.text);
      case ResponseFormat::Kind::choice: return grammar::choices(format.choices);
    }
  } catch (const Error& e) { throw ApiError(400, e.what(), param_of(format.kind), "unsupported_grammar"); }
  return {};
}

ResponseFormat response_format(const Fields& request) {
  ResponseFormat made;
  std::string from;
  const auto is = [&](ResponseFormat::Kind kind, const std::string& name) {
    if (!from.empty()) request.refuse(name, "only one of this and " + from + " can be honored");
    made.kind = kind, from = name;
  };
  if (const auto format = request.object("response_format")) {
    static constexpr std::string_view types[] = {"text", "json_object", "json_schema", "regex", "grammar"};
    format->need_text("type");
    const std::string type = *format->word("type", types);
    if (type == "json_object") {
      is(ResponseFormat::Kind::json, "response_format");
      if (format->has("schema")) made.kind = ResponseFormat::Kind::schema, made.schema = format->need("schema");
    } else if (type == "json_schema") {
      is(ResponseFormat::Kind::schema, "response_format");
      const auto schema = format->object("json_schema");
      if (!schema && !format->has("schema")) format->refuse("json_schema", "is missing");
      made.schema = schema ? schema->need("schema") : format->need("schema");
    } else if (type == "regex") {
      is(ResponseFormat::Kind::regex, "response_format");
      made.text = format->need_text("pattern");
    } else if (type == "grammar") {
      is(ResponseFormat::Kind::grammar, "response_format");
      made.text = format->need_text("grammar");
    }
  }
  for (const char* name : {"guided_json", "json_schema"})
    if (const Json* schema = request.value(name)) {
      is(ResponseFormat::Kind::schema, name);
      if (schema->is_string()) {
        try {
          made.schema = Json::parse(schema->get<std::string>());
        } catch (const Json::exception&) { request.refuse(name, "is not JSON"); }
      } else {
        made.schema = *schema;
      }
    }
  if (const auto pattern = request.text("guided_regex")) is(ResponseFormat::Kind::regex, "guided_regex"), made.text = *pattern;
  for (const char* name : {"guided_grammar", "grammar"})
    if (const auto text = request.text(name)) is(ResponseFormat::Kind::grammar, name), made.text = *text;
  if (request.has("guided_choice")) {
    is(ResponseFormat::Kind::choice, "guided_choice");
    made.choices = *request.texts("guided_choice");
    if (made.choices.empty()) request.refuse("guided_choice", "is empty, expected texts");
  }
  return made;
}

}  // namespace hearth::server
