// The values of a template: the Python values that templates can create. They are small and cheap to copy; texts and containers are shared
// and immutable (the sandbox refuses every method that would change them), except for a namespace, an iterator, a loop and a cycler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/template/budget.h"
#include "text/template/failure.h"

namespace hearth::text::jinja {

enum class Kind : uint8_t {
  undefined,  // a missing name or element: prints nothing, is false, fails when used
  none,
  boolean,
  integer,   // of 64 bits
  wide,      // a larger int, as written: can be printed and compared; arithmetic with it is Failure::overflow
  real,      // float
  text,      // str, or Markup where `safe`
  list,      // list
  tuple,     // tuple
  dict,      // dict
  view,      // dict_keys, dict_values, dict_items
  range,     // range
  slice,     // the contents of brackets with a colon
  iterator,  // a generator: can be iterated once
  function,  // a callable: macro, bound method, global function
  space,     // namespace(), the only thing a template can change
  loop,      // the variable `loop`
};

class Value;
using List = std::vector<Value>;
using Next = std::function<bool(Value&)>;  // the next element, or false at the end

// The allocated part of a value. `depth` is 1 + the greatest depth inside it, at most Limits::nesting.
struct Object {
  explicit Object(size_t bytes, int inner_depth = 0);
  virtual ~Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  int depth;
  Taken taken;
};

class Dict;
struct Arguments;
struct UndefinedObject;
struct TextObject;
struct ListObject;
struct DictObject;
struct RangeObject;
struct SliceObject;
struct ViewObject;
struct IteratorObject;
struct FunctionObject;
struct SpaceObject;

class Value {
 public:
  Value() = default;  // undefined, without a name
  Value(bool v) : kind_(Kind::boolean) { number_.integer = v; }
  Value(int64_t v) : kind_(Kind::integer) { number_.integer = v; }
  Value(int v) : Value(int64_t(v)) {}
  Value(double v) : kind_(Kind::real) { number_.real = v; }
  Value(std::string v, bool safe = false);
  Value(std::string_view v) : Value(std::string(v)) {}
  Value(const char* v) : Value(std::string(v)) {}
  Value(Kind kind, std::shared_ptr<Object> object) : kind_(kind), object_(std::move(object)) {}
  static Value none();
  static Value whole(std::string digits);  // decimal, with a sign if negative: integer or wide
  static Value list(List items);
  static Value tuple(List items);
  static Value dict(Dict items);
  static Value iterator(std::string name, Next next, const Value& source);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_missing() const { return kind_ == Kind::undefined && !object_; }  // Value(): no value yet
  bool is_undefined() const { return kind_ == Kind::undefined; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_dict() const { return kind_ == Kind::dict; }
  bool is_integer() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }  // Python's bool is an int
  bool is_number() const { return is_integer() || kind_ == Kind::real; }
  bool is_list_or_tuple() const { return kind_ == Kind::list || kind_ == Kind::tuple; }

  // Only for a value of that kind.
  bool boolean() const { return number_.integer != 0; }
  int64_t integer() const { return number_.integer; }
  double real() const { return number_.real; }
  double as_real() const { return is(Kind::real) ? number_.real : double(number_.integer); }
  const std::string& text() const;  // of a wide integer its digits
  bool is_safe() const;             // Markup
  size_t characters() const;        // code points of a text
  const List& items() const;        // of a list or tuple
  const Dict& entries() const;      // of a dict
  template <class T> T& as() const { return static_cast<T&>(*object_); }
  const std::shared_ptr<Object>& object() const { return object_; }
  int depth() const { return object_ ? object_->depth : 0; }

  // Python's name of the type ("str", "int", "NoneType" …).
  std::string type_name() const;

 private:
  Kind kind_ = Kind::undefined;
  union {
    int64_t integer;
    double real;
  } number_{0};
  std::shared_ptr<Object> object_;
};

// The arguments of a function, filter, test or method.
struct Arguments {
  List positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Keeps the insertion order; a repeated key keeps its position and gets the new value. Keys: none, booleans, numbers, texts and tuples of
// them; others are Failure::type.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  void set(Value key, Value value);
  const Value* find(const Value& key) const;       // nullptr if absent; Failure::type for an invalid key
  const Value* named(std::string_view key) const;  // of a text
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }

 private:
  std::optional<size_t> position(const Value& key) const;

  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, size_t> index_;  // hash → position, from 16 entries on
};

struct UndefinedObject : Object {
  UndefinedObject(Failure why, std::string text) : Object(sizeof *this + text.size()), failure(why), message(std::move(text)) {}
  Failure failure;
  std::string message;  // of the error when it is used
};

struct TextObject : Object {
  TextObject(std::string text, bool markup);
  std::string text;
  bool safe;
  size_t characters;
};

struct ListObject : Object {
  explicit ListObject(List list);
  List items;
};

// The result of groupby: a tuple whose elements are also .grouper and .list.
struct GroupObject : ListObject {
  using ListObject::ListObject;
};

struct DictObject : Object {
  explicit DictObject(Dict dict);
  Dict entries;
};

struct RangeObject : Object {
  RangeObject(int64_t from, int64_t to, int64_t by) : Object(sizeof *this), start(from), stop(to), step(by) {}
  int64_t size() const;
  int64_t start, stop, step;
};

struct SliceObject : Object {
  SliceObject(Value from, Value to, Value by)
      : Object(sizeof *this, std::max({from.depth(), to.depth(), by.depth()})),
        start(std::move(from)),
        stop(std::move(to)),
        step(std::move(by)) {}
  Value start, stop, step;
};

struct ViewObject : Object {
  enum class Part { keys, values, items };
  ViewObject(Value of, Part which) : Object(sizeof *this, of.depth()), dict(std::move(of)), part(which) {}
  Value dict;
  Part part;
};

struct IteratorObject : Object {
  IteratorObject(std::string kind, Next step, int inner_depth)
      : Object(sizeof *this, inner_depth), name(std::move(kind)), next(std::move(step)) {}
  std::string name;  // Python's type name
  Next next;
};

struct FunctionObject : Object {
  using Body = std::function<Value(Arguments&)>;
  FunctionObject(std::string type, std::string title, Body body, int inner_depth = 0)
      : Object(sizeof *this, inner_depth), type_name(std::move(type)), name(std::move(title)), call(std::move(body)) {}
  std::string type_name, name;
  Body call;
};

struct SpaceObject : Object {
  explicit SpaceObject(Dict dict) : Object(sizeof *this), entries(std::move(dict)) {}
  void set(const std::string& name, const Value& value);
  Dict entries;
};

// loop and cycler: objects whose attributes are computed on access.
struct AttributesObject : Object {
  using Object::Object;
  virtual std::string type_name() const = 0;
  // nullopt if there is none. `self` is the value that holds this object: a bound method keeps it alive.
  virtual std::optional<Value> attribute(const Value& self, std::string_view name) = 0;
  virtual std::optional<Value> call(Arguments&) { return {}; }  // nullopt if it is not callable
  virtual std::string repr() = 0;
  virtual std::optional<int64_t> size() { return {}; }
  virtual bool next(Value&) { return false; }
};

Value make_undefined(std::string message, Failure failure = Failure::undefined);
// "'name' is undefined"
Value undefined_name(std::string_view name);
// "'dict object' has no attribute 'name'", "list object has no element 3"
Value undefined_element(const Value& object, const Value& key);
// Fails with the message of the undefined value.
[[noreturn]] void fail_undefined(const Value& undefined);

Value make_function(std::string name, FunctionObject::Body body, int inner_depth = 0);

}  // namespace hearth::text::jinja
