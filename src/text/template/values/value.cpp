#include "text/template/values/value.h"

#include <charconv>

#include "core/text/utf8.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

namespace {

constexpr size_t index_from = 16;

int depth_of(const List& items) {
  int depth = 0;
  for (const Value& v : items) depth = std::max(depth, v.depth());
  return depth;
}

int depth_of(const Dict& dict) {
  int depth = 0;
  for (const auto& [key, value] : dict.entries()) depth = std::max({depth, key.depth(), value.depth()});
  return depth;
}

}  // namespace

Object::Object(size_t bytes, int inner_depth) : depth(inner_depth + 1), taken(bytes) {
  if (depth > Limits::nesting) refuse(Failure::limit, "values nested more than {} deep", int(Limits::nesting));
}

TextObject::TextObject(std::string utf8, bool markup)
    : Object(sizeof *this + utf8.size()), text(std::move(utf8)), safe(markup), characters(count_characters(text)) {}

ListObject::ListObject(List list) : Object(sizeof *this + list.size() * sizeof(Value), depth_of(list)), items(std::move(list)) {}

DictObject::DictObject(Dict dict) : Object(sizeof *this + dict.size() * sizeof(Dict::Entry), depth_of(dict)), entries(std::move(dict)) {}

int64_t RangeObject::size() const {
  if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

void SpaceObject::set(const std::string& name, const Value& value) {
  taken.more(sizeof(Dict::Entry));
  entries.set(name, value);
}

Value::Value(std::string v, bool safe) : kind_(Kind::text), object_(std::make_shared<TextObject>(std::move(v), safe)) {}

Value Value::none() {
  Value v;
  v.kind_ = Kind::none;
  return v;
}
Value Value::whole(std::string digits) {
  int64_t value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc()) return value;
  return {Kind::wide, std::make_shared<TextObject>(std::move(digits), false)};
}
Value Value::list(List items) { return {Kind::list, std::make_shared<ListObject>(std::move(items))}; }
Value Value::tuple(List items) { return {Kind::tuple, std::make_shared<ListObject>(std::move(items))}; }
Value Value::dict(Dict items) { return {Kind::dict, std::make_shared<DictObject>(std::move(items))}; }
Value Value::iterator(std::string name, Next next, const Value& source) {
  return {Kind::iterator, std::make_shared<IteratorObject>(std::move(name), std::move(next), source.depth())};
}

const std::string& Value::text() const { return as<TextObject>().text; }
bool Value::is_safe() const { return is_text() && as<TextObject>().safe; }
size_t Value::characters() const { return as<TextObject>().characters; }
const List& Value::items() const { return as<ListObject>().items; }
const Dict& Value::entries() const { return as<DictObject>().entries; }

std::string Value::type_name() const {
  switch (kind_) {
    case Kind::undefined: return "Undefined";
    case Kind::none: return "NoneType";
    case Kind::boolean: return "bool";
    case Kind::integer:
    case Kind::wide: return "int";
    case Kind::real: return "float";
    case Kind::text: return is_safe() ? "Markup" : "str";
    case Kind::list: return "list";
    case Kind::tuple: return "tuple";
    case Kind::dict: return "dict";
    case Kind::range: return "range";
    case Kind::slice: return "slice";
    case Kind::iterator: return as<IteratorObject>().name;
    case Kind::function: return as<FunctionObject>().type_name;
    case Kind::space: return "Namespace";
    case Kind::view:
      switch (as<ViewObject>().part) {
        case ViewObject::Part::keys: return "dict_keys";
        case ViewObject::Part::values: return "dict_values";
        case ViewObject::Part::items: return "dict_items";
      }
      break;
    case Kind::loop: return "LoopContext";
  }
  return "object";
}

std::optional<size_t> Dict::position(const Value& key) const {
  const size_t wanted = hash(key);
  if (entries_.size() < index_from) {
    for (size_t i = 0; i < entries_.size(); ++i)
      if (equal(entries_[i].first, key)) return i;
    return {};
  }
  const auto [begin, end] = index_.equal_range(wanted);
  for (auto it = begin; it != end; ++it)
    if (equal(entries_[it->second].first, key)) return it->second;
  return {};
}

void Dict::set(Value key, Value value) {
  if (const auto i = position(key)) {
    entries_[*i].second = std::move(value);
    return;
  }
  entries_.emplace_back(std::move(key), std::move(value));
  if (entries_.size() < index_from) return;
  for (size_t i = index_.empty() ? 0 : entries_.size() - 1; i < entries_.size(); ++i) index_.emplace(hash(entries_[i].first), i);
}

const Value* Dict::find(const Value& key) const {
  const auto i = position(key);
  return i ? &entries_[*i].second : nullptr;
}

const Value* Dict::named(std::string_view key) const {
  if (entries_.size() >= index_from) return find(Value(key));
  for (const auto& [name, value] : entries_)
    if (name.is_text() && name.text() == key) return &value;
  return nullptr;
}

Value make_undefined(std::string message, Failure failure) {
  return {Kind::undefined, std::make_shared<UndefinedObject>(failure, std::move(message))};
}

Value undefined_name(std::string_view name) { return make_undefined(repr(Value(name)) + " is undefined"); }

Value undefined_element(const Value& object, const Value& key) {
  std::string owner = object.is_none() ? "None" : object.type_name() + " object";
  const bool macro = object.is(Kind::function) && object.as<FunctionObject>().type_name == "Macro";
  if (object.is(Kind::loop) || macro) owner.insert(0, "jinja2.runtime.");
  if (object.is(Kind::space)) owner.insert(0, "jinja2.utils.");
  if (object.is_safe()) owner.insert(0, "markupsafe.");
  if (!key.is_text()) return make_undefined(owner + " has no element " + repr(key));
  return make_undefined(fmt::format("{} has no attribute {}", repr(Value(owner)), repr(key)));
}

void fail_undefined(const Value& undefined) {
  if (!undefined.object()) refuse(Failure::undefined, "a value is undefined");
  const auto& u = undefined.as<UndefinedObject>();
  throw TemplateError(u.failure, u.message);
}

Value make_function(std::string name, FunctionObject::Body body, int inner_depth) {
  return {Kind::function, std::make_shared<FunctionObject>("builtin_function_or_method", std::move(name), std::move(body), inner_depth)};
}

}  // namespace hearth::text::jinja
