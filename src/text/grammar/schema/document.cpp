#include "text/grammar/schema/document.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace hearth::text::grammar::schema {
namespace {

constexpr size_t max_schema_depth = 200;
constexpr int max_count = 100'000;

enum class Form { any, boolean, number, count, string, strings, list, schema, schemas, named_schemas, items, type, annotation };

struct Keyword {
  std::string_view name;
  Form form;
};

constexpr Keyword keywords[] = {
    {"type", Form::type},
    {"enum", Form::list},
    {"const", Form::any},
    {"properties", Form::named_schemas},
    {"required", Form::strings},
    {"additionalProperties", Form::schema},
    {"patternProperties", Form::named_schemas},
    {"propertyNames", Form::schema},
    {"minProperties", Form::count},
    {"maxProperties", Form::count},
    {"items", Form::items},
    {"prefixItems", Form::schemas},
    {"additionalItems", Form::schema},
    {"minItems", Form::count},
    {"maxItems", Form::count},
    {"contains", Form::schema},
    {"minContains", Form::count},
    {"uniqueItems", Form::boolean},
    {"minLength", Form::count},
    {"maxLength", Form::count},
    {"pattern", Form::string},
    {"format", Form::string},
    {"minimum", Form::number},
    {"maximum", Form::number},
    {"exclusiveMinimum", Form::number},
    {"exclusiveMaximum", Form::number},
    {"multipleOf", Form::number},
    {"anyOf", Form::schemas},
    {"oneOf", Form::schemas},
    {"allOf", Form::schemas},
    {"$ref", Form::string},
    {"$defs", Form::annotation},  // schemas that count only where something refers to them
    {"definitions", Form::annotation},
    {"title", Form::annotation},
    {"description", Form::annotation},
    {"default", Form::annotation},
    {"example", Form::annotation},
    {"examples", Form::annotation},
    {"deprecated", Form::annotation},
    {"readOnly", Form::annotation},
    {"writeOnly", Form::annotation},
    {"contentMediaType", Form::annotation},
    {"contentEncoding", Form::annotation},
    {"$schema", Form::annotation},
    {"$id", Form::annotation},
    {"$comment", Form::annotation},
};

bool is_schema(const Json& j) { return j.is_object() || j.is_boolean(); }

// What a value of this form must be, or "" if it is.
std::string_view wrong(const Json& v, Form form) {
  const auto all = [&](const auto& test) { return std::all_of(v.begin(), v.end(), test); };
  static constexpr std::string_view types[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
  const auto is_type = [](const Json& j) {
    return j.is_string() && std::find(std::begin(types), std::end(types), j.get_ref<const std::string&>()) != std::end(types);
  };
  switch (form) {
    case Form::any:
    case Form::annotation: return "";
    case Form::boolean: return v.is_boolean() ? "" : "true or false";
    case Form::number: return v.is_number() ? "" : "a number";
    case Form::count: return v.is_number() && v.get<double>() >= 0 && v.get<double>() == double(int64_t(v.get<double>())) ? "" : "a count";
    case Form::string: return v.is_string() ? "" : "a string";
    case Form::strings: return v.is_array() && all([](const Json& j) { return j.is_string(); }) ? "" : "a list of strings";
    case Form::list: return v.is_array() && !v.empty() ? "" : "a list that is not empty";
    case Form::schema: return is_schema(v) ? "" : "a schema";
    case Form::schemas: return v.is_array() && !v.empty() && all(is_schema) ? "" : "a list of schemas";
    case Form::named_schemas: return v.is_object() && all(is_schema) ? "" : "an object of schemas";
    case Form::items: return is_schema(v) || (v.is_array() && all(is_schema)) ? "" : "a schema or a list of schemas";
    case Form::type: return is_type(v) || (v.is_array() && !v.empty() && all(is_type)) ? "" : "one of the seven types, or a list of them";
  }
  return "";
}

std::string unescaped(const std::string& token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[++i] == '0' ? '~' : '/';
    } else if (token[i] == '%' && i + 2 < token.size() && isxdigit(uint8_t(token[i + 1])) && isxdigit(uint8_t(token[i + 2]))) {
      out += char(std::stoi(token.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += token[i];
    }
  }
  return out;
}

}  // namespace

Document::Document(const Json& root) : root_(root) { index(root); }

void Document::index(const Json& root) {
  std::vector<std::pair<const Json*, size_t>> open{{&root, 0}};
  while (!open.empty()) {
    const auto [part, depth] = open.back();
    open.pop_back();
    if (depth > max_schema_depth) fail<UnsupportedError>("schema: it is nested more than {} deep, expected less", max_schema_depth);
    if (!part->is_structured()) continue;
    size_t i = 0;
    for (auto it = part->begin(); it != part->end(); ++it, ++i) {
      places_[&*it] = {part, part->is_object() ? it.key() : std::to_string(i)};
      open.emplace_back(&*it, depth + 1);
    }
  }
}

std::string Document::pointer(const Json& part) const {
  std::string path;
  for (const Json* at = &part; at != &root_;) {
    const auto place = places_.find(at);
    if (place == places_.end()) break;
    std::string key;
    for (const char c : place->second.key) key += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    path = "/" + key + path;
    at = place->second.parent;
  }
  return "#" + path;
}

void Document::refuse(const Json& schema, std::string_view keyword, const std::string& what) const {
  fail<UnsupportedError>("schema: {}: {}: {}", pointer(schema), keyword, what);
}

void Document::invalid(const Json& schema, std::string_view keyword, const std::string& what) const {
  fail<UsageError>("schema: {}: {}: {}", pointer(schema), keyword, what);
}

const Json& Document::resolve(const Json& from, const std::string& reference) const {
  if (reference != "#" && !reference.starts_with("#/"))
    refuse(from, "$ref", "it refers to '" + reference + "', expected a part of this schema, like #/$defs/NAME");
  const Json* at = &root_;
  for (size_t start = 2; start <= reference.size();) {
    const size_t end = std::min(reference.find('/', start), reference.size());
    const std::string key = unescaped(reference.substr(start, end - start));
    const Json* next = nullptr;
    if (at->is_object()) {
      if (const auto found = at->find(key); found != at->end()) next = &*found;
    } else if (at->is_array() && !key.empty() && key.size() < 7 && key.find_first_not_of("0123456789") == std::string::npos) {
      if (const auto i = std::stoul(key); i < at->size()) next = &(*at)[i];
    }
    if (next == nullptr) invalid(from, "$ref", "'" + reference + "' does not exist, expected a part of this schema");
    at = next;
    start = end + 1;
  }
  return *at;
}

void Document::check(const Json& schema) const {
  if (schema.is_boolean()) return;
  if (!schema.is_object()) fail<UsageError>("schema: {}: expected an object, true or false", pointer(schema));
  for (auto it = schema.begin(); it != schema.end(); ++it) {
    const std::string& key = it.key();
    const auto keyword = std::find_if(std::begin(keywords), std::end(keywords), [&](const Keyword& k) { return k.name == key; });
    if (keyword == std::end(keywords)) refuse(schema, key, "the keyword is not supported, expected a schema without it");
    if (key == "$id" && &schema != &root_) refuse(schema, key, "it moves the references below it, expected one at the root only");
    if (const auto what = wrong(it.value(), keyword->form); !what.empty()) invalid(schema, key, "expected " + std::string(what));
  }
}

const Json* Document::find(const Json& schema, const char* keyword) const {
  if (!schema.is_object()) return nullptr;
  const auto found = schema.find(keyword);
  return found == schema.end() ? nullptr : &*found;
}

int Document::count(const Json& schema, const char* keyword, int otherwise) const {
  const Json* value = find(schema, keyword);
  if (value == nullptr) return otherwise;
  const double number = value->get<double>();
  if (number > max_count) refuse(schema, keyword, "more than " + std::to_string(max_count) + ", expected less");
  return int(number);
}

Items items_of(const Document& document, const Json& schema) {
  Items items;
  const Json* list = document.find(schema, "prefixItems");
  const Json* rest = document.find(schema, "items");
  if (list == nullptr && rest != nullptr && rest->is_array()) {
    list = rest;
    rest = document.find(schema, "additionalItems");
  }
  if (rest != nullptr && rest->is_array()) document.invalid(schema, "items", "expected a schema next to prefixItems");
  if (list != nullptr) {
    for (const Json& each : *list) items.first.push_back(&each);
  }
  items.others = rest;
  return items;
}

}  // namespace hearth::text::grammar::schema
