// The values of a template: Python's, as far as templates can make them. Small, copied freely; texts and containers are shared and
// never change (the sandbox refuses every method that would), except for a namespace, an iterator and a loop.
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
  undefined,  // what a missing name or element is: prints nothing, is false, fails when used
  none,
  boolean,
  integer,   // of 64 bits
  wide,      // int of more, as it was written: printed, equal to itself; what computes with it is Failure::overflow
  real,      // float
  text,      // str, or Markup where `safe`
  list,      // list
  tuple,     // tuple
  dict,      // dict
  view,      // dict_keys, dict_values, dict_items
  range,     // range
  slice,     // what stands in brackets with a colon
  iterator,  // a generator: can be gone through once
  function,  // what can be called: macro, bound method, global function
  space,     // namespace(), the only thing a template can change
  loop,      // the variable `loop`
};

class Value;
using List = std::vector<Value>;
using Next = std::function<bool(Value&)>;  // the next element, or false at the end

// What is allocated for a value. `depth` is 1 + the greatest depth inside: at most Limits::nesting.
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
  static Value whole(std::string digits);  // decimal, with a sign where it is negative: integer or wide
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

// What is given to a function, filter, test or method.
struct Arguments {
  List positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Insertion order kept; a key that comes again keeps its place and takes the new value. Keys: none, booleans, numbers, texts and
// tuples of them; others are Failure::type.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  void set(Value key, Value value);
  const Value* find(const Value& key) const;       // null where absent; Failure::type for what cannot be a key
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

Value make_undefined(std::string message, Failure failure = Failure::undefined);
// "'name' is undefined"
Value undefined_name(std::string_view name);
// "'dict object' has no attribute 'name'", "list object has no element 3"
Value undefined_element(const Value& object, const Value& key);
// Fails with the message of the undefined value.
[[noreturn]] void fail_undefined(const Value& undefined);

Value make_function(std::string name, FunctionObject::Body body, int inner_depth = 0);

}  // namespace hearth::text::jinja
