// A parsed template. Constant, shared by any number of renderings.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/template/functions.h"
#include "text/template/operations.h"
#include "text/template/value.h"

namespace hearth::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;
using Expressions = std::vector<ExpressionPtr>;

struct CallArguments {
  Expressions positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr rest, named_rest;  // *rest, **named_rest; null where absent
};

struct Constant {
  Value value;
};
struct Name {
  std::string name;
};
struct NamespaceAttribute {  // only as a target: name.attribute
  std::string name, attribute;
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
struct Identity {
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
struct Compared {  // a < b <= c: each pair of neighbours
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
                            TestOf, Negation, Identity, Not, Arithmetic, Joined, Compared, Both, Either, Conditional>;
  int line;
  int depth;  // 1 + the greatest inside, at most Limits::nesting
  Node node;
};

int inner_depth(const Expression::Node& node);  // the greatest depth of the expressions that a node holds

struct Statement;
using Block = std::vector<Statement>;

struct Data {
  std::string text;
};
struct Print {
  Expressions values;
};
struct Set {
  ExpressionPtr target, value;
};
struct SetBlock {
  ExpressionPtr target, filter;  // filter is null without one
  Block body;
};
struct For {
  ExpressionPtr target, iterable, test;  // test is null without one
  Block body, otherwise;
  bool recursive;
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
  std::string name;
  Parameters parameters;
  Block body;
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;  // the body asks for these names
};
struct CallBlock {
  Macro caller;
  ExpressionPtr call;  // holds a CallOf
};
struct FilterBlock {
  ExpressionPtr filter;
  Block body;
};
struct With {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> targets;
  Block body;
};
struct Generation {  // {% generation %}: marks what an assistant said
  Block body;
};
struct Break {};
struct Continue {};

struct Statement {
  using Node = std::variant<Data, Print, Set, SetBlock, For, If, Macro, CallBlock, FilterBlock, With, Generation, Break, Continue>;
  int line;
  Node node;
};

}  // namespace hearth::text::jinja
