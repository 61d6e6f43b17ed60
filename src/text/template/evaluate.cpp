// Expressions.
#include "text/template/interpreter.h"
#include "text/template/values/operations.h"
#include "text/template/values/printing.h"

namespace hearth::text::jinja {

Value Interpreter::evaluate(const Expression& e) {
  const Deeper deeper;
  count_steps();
  const int outer = std::exchange(line_, e.line);
  Value value = std::visit([this](const auto& node) { return value_of(node); }, e.node);
  line_ = outer;
  return value;
}

Value Interpreter::value_of(const Constant& n) { return n.value; }

Value Interpreter::value_of(const Name& n) {
  const Value& value = variable(n.place);
  return value.is_missing() ? undefined_name(n.name) : value;
}

Value Interpreter::value_of(const NamespaceAttribute& n) { return attribute(value_of(n.space), n.attribute); }

Value Interpreter::value_of(const TupleOf& n) { return Value::tuple(evaluate_all(n.items)); }
Value Interpreter::value_of(const ListOf& n) { return Value::list(evaluate_all(n.items)); }

Value Interpreter::value_of(const DictOf& n) {
  Dict dict;
  for (const auto& [key, value] : n.entries) {
    Value name = evaluate(*key);
    dict.set(std::move(name), evaluate(*value));
  }
  return Value::dict(std::move(dict));
}

Value Interpreter::value_of(const Attribute& n) { return attribute(evaluate(*n.object), n.name); }

Value Interpreter::value_of(const Subscript& n) {
  const Value object = evaluate(*n.object), key = evaluate(*n.key);
  return std::holds_alternative<SliceOf>(n.key->node) ? part(object, key) : element(object, key);
}

Value Interpreter::value_of(const SliceOf& n) {
  const auto part = [&](const ExpressionPtr& e) { return e ? evaluate(*e) : Value::none(); };
  Value start = part(n.start), stop = part(n.stop);
  return {Kind::slice, std::make_shared<SliceObject>(std::move(start), std::move(stop), part(n.step))};
}

Value Interpreter::value_of(const CallOf& n) { return call_with(n, nullptr); }

Value Interpreter::call_with(const CallOf& n, const Value* caller) {
  const Value callee = evaluate(*n.callee);
  Arguments arguments = evaluate_arguments(n.arguments);
  if (caller) {
    for (const auto& [name, value] : arguments.named)
      if (name == "caller") refuse(Failure::type, "got multiple values for keyword argument 'caller'");
    arguments.named.emplace_back("caller", *caller);
  }
  return call(callee, arguments);
}

Value Interpreter::value_of(const FilterOf& n) {
  const Value input = n.input ? evaluate(*n.input) : *filter_input_;
  if (!n.run) refuse(Failure::runtime, "No filter named {} found.", repr_text(n.name));
  Arguments arguments = evaluate_arguments(n.arguments);
  return n.run(input, arguments);
}

Value Interpreter::filtered_text(const Expression& filter, std::string text) {
  const Value input(std::move(text));
  const Value* outer = std::exchange(filter_input_, &input);
  Value result = evaluate(filter);
  filter_input_ = outer;
  return result;
}

Value Interpreter::value_of(const TestOf& n) {
  const Value input = evaluate(*n.input);
  if (!n.run) refuse(Failure::runtime, "No test named {} found.", repr_text(n.name));
  Arguments arguments = evaluate_arguments(n.arguments);
  return n.run(input, arguments) != n.negated;
}

Value Interpreter::value_of(const Negation& n) { return negate(evaluate(*n.operand)); }
Value Interpreter::value_of(const Not& n) { return !truth(evaluate(*n.operand)); }

Value Interpreter::value_of(const Arithmetic& n) {
  const Value left = evaluate(*n.left);
  return arithmetic(n.op, left, evaluate(*n.right));
}

Value Interpreter::value_of(const Joined& n) {
  std::string text;
  for (const ExpressionPtr& item : n.items) {
    text += str(evaluate(*item));
    expect_bytes(text.size());
  }
  return Value(std::move(text));
}

Value Interpreter::value_of(const Compared& n) {
  using Relation = Compared::Relation;
  Value left = evaluate(*n.first);
  for (const auto& [relation, e] : n.rest) {
    Value right = evaluate(*e);
    const bool holds = [&, how = relation] {
      switch (how) {
        case Relation::equal: return equal(left, right);
        case Relation::not_equal: return !equal(left, right);
        case Relation::less: return compare(Comparison::less, left, right);
        case Relation::less_equal: return compare(Comparison::less_equal, left, right);
        case Relation::greater: return compare(Comparison::greater, left, right);
        case Relation::greater_equal: return compare(Comparison::greater_equal, left, right);
        case Relation::in: return contains(right, left);
        case Relation::not_in: return !contains(right, left);
      }
      return false;
    }();
    if (!holds) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::value_of(const Both& n) {
  Value left = evaluate(*n.left);
  return truth(left) ? evaluate(*n.right) : left;
}

Value Interpreter::value_of(const Either& n) {
  Value left = evaluate(*n.left);
  return truth(left) ? left : evaluate(*n.right);
}

Value Interpreter::value_of(const Conditional& n) {
  if (truth(evaluate(*n.test))) return evaluate(*n.yes);
  if (n.no) return evaluate(*n.no);
  return make_undefined(fmt::format("the inline if-expression on line {} evaluated to false and no else section was defined.", line_));
}

List Interpreter::evaluate_all(const Expressions& list) {
  List values;
  values.reserve(list.size());
  for (const ExpressionPtr& e : list) values.push_back(evaluate(*e));
  return values;
}

Arguments Interpreter::evaluate_arguments(const CallArguments& a) {
  Arguments arguments;
  arguments.positional = evaluate_all(a.positional);
  for (const auto& [name, e] : a.named) arguments.named.emplace_back(name, evaluate(*e));
  if (a.rest) {
    const Value rest = evaluate(*a.rest);
    if (!is_iterable(rest)) refuse(Failure::type, "Value after * must be an iterable, not {}", rest.type_name());
    for (Value& v : to_list(rest)) arguments.positional.push_back(std::move(v));
  }
  return arguments;
}

}  // namespace hearth::text::jinja
