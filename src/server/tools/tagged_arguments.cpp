// The grammar of parameters in tags.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "server/tools/call_rules.h"
#include "server/tools/parameter_types.h"
#include "text/grammar/automaton.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/schema/constraints.h"

namespace hearth::server::tools {

namespace grammar = text::grammar;
using grammar::Automaton;
using grammar::choice;
using grammar::Expr;
using grammar::optional;
using grammar::repeat;
using grammar::sequence;

namespace {

constexpr size_t max_states = 100'000;

Automaton automaton(const Expr& e) { return grammar::automaton_of(e, max_states, "parameter"); }

// Tags write one parameter after the other, so nothing else may depend on which of them there are.
void check_top(const Json& schema) {
  constexpr std::string_view possible[] = {"type",     "properties", "required",  "additionalProperties", "$defs",   "definitions",
                                           "$schema",  "$id",        "title",     "description",          "default", "examples",
                                           "$comment", "strict",     "deprecated"};
  for (const auto& [key, value] : schema.items())
    if (std::ranges::find(possible, key) == std::end(possible))
      fail<UnsupportedError>("schema: #: {}: this model writes each argument on its own, expected only properties and required", key);
}

// Texts as they are between tags: what ends a value cannot be part of it.
Expr between_tags(const ToolFormat& format, const Automaton* value) {
  const std::string mark(format.value_close);
  const Expr plain = grammar::text_without(std::span(&mark, 1));
  if (!value) return plain;
  return grammar::expression_of(grammar::product(*value, automaton(plain), grammar::Product::both, max_states, "parameter"));
}

// enum and const of strings.
Expr listed_texts(const ToolFormat& format, const Json& values) {
  std::vector<Expr> all;
  for (const Json& value : values) {
    if (!value.is_string()) continue;
    const auto& text = value.get_ref<const std::string&>();
    if (text.find(format.value_close) == std::string::npos) all.push_back(literal(text));
  }
  return choice(std::move(all));
}

Expr text_value(const ToolFormat& format, const Tool& tool, const Json& schema) {
  if (const Json* one = find_member(schema, "const")) return listed_texts(format, Json::array({*one}));
  if (const Json* values = find_member(schema, "enum")) return listed_texts(format, *values);
  for (const char* keyword : {"anyOf", "oneOf", "allOf", "not", "if", "$ref"})
    if (schema.contains(keyword))
      fail<UnsupportedError>("schema: {} beside \"type\": \"string\", expected constraints of one schema", keyword);
  const grammar::schema::Document document(tool.parameters);
  document.check(schema);
  grammar::schema::Patterns patterns;
  const grammar::schema::Constraints found = grammar::schema::constraints_of(document, {&schema}, patterns);
  const grammar::schema::Strings& strings = found.strings;
  if (strings.forms.empty() && strings.min == 0 && strings.max < 0) return between_tags(format, nullptr);
  const Automaton values = grammar::schema::values_of(strings);
  return between_tags(format, &values);
}

// Whether any string is valid, as far as that is plain.
bool allows_any_text(const Json& root, const Json& schema) {
  if (schema.is_boolean()) return schema.get<bool>();
  for (const auto& [key, value] : schema.items()) {
    if (key == "type") {
      const bool text = value == "string" || (value.is_array() && std::ranges::find(value, Json("string")) != value.end());
      if (!text) return false;
    } else if (key == "anyOf") {
      if (!value.is_array() || std::ranges::none_of(value, [&](const Json& s) { return allows_any_text(root, resolved(root, s)); }))
        return false;
    } else if (key != "title" && key != "description" && key != "default" && key != "examples" && key != "deprecated") {
      return false;
    }
  }
  return true;
}

// Texts that a reader takes for a string, because they are no JSON and do not look like its beginning.
Expr plain_text(const ToolFormat& format) {
  grammar::ByteSet space, ascii;
  for (const char c : std::string_view(" \n\r\t")) space.set(uint8_t(c));
  for (int b = 33; b < 127; ++b) ascii.set(size_t(b));
  for (const char c : std::string_view("{[\"-0123456789")) ascii.reset(uint8_t(c));
  const grammar::CharRange wide{0x80, 0x10ffff};
  const Expr spaces = repeat(grammar::bytes(space), 0, -1), rest = repeat(grammar::any_character(), 0, -1);
  const Expr begin = choice({grammar::bytes(ascii), grammar::characters(std::span(&wide, 1))});
  std::vector<Expr> words;
  for (const char* word : {"true", "false", "null", "True", "False", "None"}) words.push_back(literal(word));
  const Automaton text = grammar::product(automaton(sequence({spaces, begin, rest})), automaton(sequence({spaces, choice(words), spaces})),
                                          grammar::Product::first_without_second, max_states, "parameter");
  return between_tags(format, &text);
}

// The property's schema as a document of its own.
Json with_definitions(const Json& root, const Json& schema) {
  if (!schema.is_object()) return schema;
  Json document = schema;
  for (const char* key : {"$defs", "definitions"})
    if (const Json* found = find_member(root, key); found && !document.contains(key)) document[key] = *found;
  return document;
}

Expr value_of(const ToolFormat& format, const Tool& tool, const std::string& name, const Json& schema) {
  if (schema.is_object() && parameter_type(tool, name) == ParameterType::text)
    return text_value(format, tool, *property_schema(tool, name));
  const Expr json = grammar::embed(grammar::json_schema(with_definitions(tool.parameters, schema)));
  if (!allows_any_text(tool.parameters, resolved(tool.parameters, schema))) return json;
  return choice({json, plain_text(format)});
}

Expr parameter(const ToolFormat& format, const Expr& name, const Expr& value) {
  const Expr gap = optional_gap(format.gap), line = literal(format.value_lines ? "\n" : "");
  return sequence({gap, literal(format.key_open), name, literal(format.key_close), format.value_open.empty() ? literal("") : gap,
                   literal(format.value_open), line, value, line, literal(format.value_close)});
}

}  // namespace

Expr tagged_arguments(const ToolFormat& format, const Tool& tool) {
  const Json& schema = tool.parameters;
  check_top(schema);
  static const Json none = Json::object(), anything = true;
  const Json* given = find_member(schema, "properties");
  const Json& properties = given ? *given : none;
  if (!properties.is_object()) fail<UsageError>("schema: #: properties: expected an object");
  std::vector<std::string> required;
  if (const Json* names = find_member(schema, "required")) {
    if (!names->is_array()) fail<UsageError>("schema: #: required: expected a list");
    for (const Json& name : *names) {
      if (!name.is_string()) fail<UsageError>("schema: #: required: expected names");
      required.push_back(name.get<std::string>());
    }
  }
  const Json* others = find_member(schema, "additionalProperties");
  std::vector<Expr> parts;
  const auto add = [&](const std::string& name, const Json& value_schema, bool needed) {
    if (name.empty() || name.find_first_of("<>\"\n\r\t ") != std::string::npos)
      fail<UnsupportedError>("schema: #: properties: this model writes names between tags, expected none like '{}'", name);
    const Expr one = parameter(format, literal(name), value_of(format, tool, name, value_schema));
    parts.push_back(needed ? one : optional(one));
  };
  for (const auto& [name, value] : properties.items()) {
    if (value == Json(false)) continue;
    add(name, value, std::ranges::find(required, name) != required.end());
  }
  for (const std::string& name : required)
    if (!properties.contains(name)) add(name, others ? *others : anything, true);
  if (parts.empty() && !(others && *others == Json(false))) {  // any names
    grammar::ByteSet letters;
    for (int b = 'a'; b <= 'z'; ++b) letters.set(size_t(b));
    letters.set('_');
    const Expr name = repeat(grammar::bytes(letters), 1, 40);
    parts.push_back(repeat(
        parameter(format, name, grammar::embed(grammar::json_schema(with_definitions(schema, others ? *others : anything)))), 0, 30));
  }
  return sequence(std::move(parts));
}

}  // namespace hearth::server::tools
