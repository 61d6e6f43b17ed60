// A parsed template. Constant, shared by any number of renderings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/template/functions/functions.h"
#include "text/template/values/operations.h"
#include "text/template/values/value.h"

namespace hearth::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
using Expressions = std::vector<ExpressionPtr>;

// Which variable a name means: `index` in the frame that is `out` frames further out. resolve.h fills in every Place and Scope.
struct Place {
  int out = 0, index = 0;
};

// The names that a template, a macro or a block has for itself, and what they are when it begins.
struct Scope {
  enum class Start { given, copied, missing };  // by whoever begins it; from a variable further out; undefined
  struct Variable {
    int index;
    Start start;
    Place source;  // of what is copied
  };
  std::vector<Variable> variables;
  int frame_size = 0;  // of the frame that begins with it; 0 where it shares one
};

struct CallArguments {
  Expressions positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr rest;  // *rest; null where absent
};

struct Constant {
  Value value;
};
struct Name {
  std::string name;
  Place place = {};
};
struct NamespaceAttribute {  // only as a target: name.attribute
  Name space;
  std::string attribute;
};
struct TupleOf {
  Expressions items;
};
struct ListOf {
  Expressions items;
};
struct DictOf {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Subscript {
  ExpressionPtr object, key;
};
struct SliceOf {
  ExpressionPtr start, stop, step;  // null where absent
};
struct CallOf {
  ExpressionPtr callee;
  CallArguments arguments;
};
struct FilterOf {
  ExpressionPtr input;  // null for the body of the block that is filtered
  std::string name;
  FilterFunction run;  // null: unknown, which is an error only where it is evaluated
  CallArguments arguments;
};
struct TestOf {
  ExpressionPtr input;
  std::string name;
  TestFunction run;  // null: unknown
  CallArguments arguments;
  bool negated;
};
struct Negation {
  ExpressionPtr operand;
};
struct Not {
  ExpressionPtr operand;
};
struct Arithmetic {
  Operator op;
  ExpressionPtr left, right;
};
struct Joined {  // a ~ b ~ c
  Expressions items;
};
struct Compared {  // a < b <= c: each pair of neighbors
  enum class Relation { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };
  ExpressionPtr first;
  std::vector<std::pair<Relation, ExpressionPtr>> rest;
};
struct Both {  // and
  ExpressionPtr left, right;
};
struct Either {  // or
  ExpressionPtr left, right;
};
struct Conditional {
  ExpressionPtr test, yes, no;  // `no` is null without else
};

struct Expression {
  using Node = std::variant<Constant, Name, NamespaceAttribute, TupleOf, ListOf, DictOf, Attribute, Subscript, SliceOf, CallOf, FilterOf,
                            TestOf, Negation, Not, Arithmetic, Joined, Compared, Both, Either, Conditional>;
  int line;
  int depth;  // 1 + the greatest inside, at most Limits::nesting
  Node node;
};

// Calls `f` for each expression that a node holds itself.
void each_inside(const Expression::Node& node, const std::function<void(Expression&)>& f);

struct Statement;
using Block = std::vector<Statement>;

struct Data {
  std::string text;
};
struct Print {
  ExpressionPtr value;
};
struct Set {
  ExpressionPtr target, value;
};
struct SetBlock {
  ExpressionPtr target, filter;  // filter is null without one
  Block body;
  Scope scope = {};
};
struct For {
  struct Condition {  // on an element, asked in a frame of its own
    ExpressionPtr target, test;
    Scope scope = {};
  };
  ExpressionPtr target, iterable;
  std::optional<Condition> condition;
  Block body, otherwise;
  bool uses_loop = false;
  int loop = 0;  // index of this variable, where it is used
  Scope scope = {}, otherwise_scope = {};
};
struct If {
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  Block otherwise;
};
struct Parameters {
  std::vector<std::string> names;
  Expressions defaults;  // of the last names
};
struct Macro {
  Name name;  // empty for the body of a call block
  Parameters parameters;
  Block body;
  bool uses_caller = false;  // the body asks for it
  Scope scope = {};          // variables 0, 1 … are the parameters, then caller where it is used
};
struct CallBlock {
  Macro caller;
  ExpressionPtr call;  // holds a CallOf
};
struct FilterBlock {
  ExpressionPtr filter;
  Block body;
  Scope scope = {};
};
struct Generation {  // {% generation %}: marks what an assistant said
  Macro body;        // without parameters
};
struct Break {};
struct Continue {};

struct Statement {
  using Node = std::variant<Data, Print, Set, SetBlock, For, If, Macro, CallBlock, FilterBlock, Generation, Break, Continue>;
  int line;
  Node node;
};

struct Tree {
  Block body;
  Scope scope;
  std::vector<std::string> context;  // names that are asked of the caller: the variables of the outermost frame
};

}  // namespace hearth::text::jinja
