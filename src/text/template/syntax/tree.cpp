#include "text/template/syntax/tree.h"

namespace hearth::text::jinja {

namespace {

struct EachInside {
  const std::function<void(Expression&)>& f;

  void of(const ExpressionPtr& e) const {
    if (e) f(*e);
  }
  void of(const Expressions& list) const {
    for (const ExpressionPtr& e : list) f(*e);
  }
  void of(const CallArguments& a) const {
    of(a.positional);
    for (const auto& [name, e] : a.named) f(*e);
    of(a.rest);
  }
  template <class... Parts> void all(const Parts&... parts) const { (of(parts), ...); }

  void operator()(const Constant&) const {}
  void operator()(const Name&) const {}
  void operator()(const NamespaceAttribute&) const {}
  void operator()(const TupleOf& n) const { of(n.items); }
  void operator()(const ListOf& n) const { of(n.items); }
  void operator()(const DictOf& n) const {
    for (const auto& [key, value] : n.entries) all(key, value);
  }
  void operator()(const Attribute& n) const { of(n.object); }
  void operator()(const Subscript& n) const { all(n.object, n.key); }
  void operator()(const SliceOf& n) const { all(n.start, n.stop, n.step); }
  void operator()(const CallOf& n) const { all(n.callee, n.arguments); }
  void operator()(const FilterOf& n) const { all(n.input, n.arguments); }
  void operator()(const TestOf& n) const { all(n.input, n.arguments); }
  void operator()(const Negation& n) const { of(n.operand); }
  void operator()(const Not& n) const { of(n.operand); }
  void operator()(const Arithmetic& n) const { all(n.left, n.right); }
  void operator()(const Joined& n) const { of(n.items); }
  void operator()(const Compared& n) const {
    of(n.first);
    for (const auto& [relation, e] : n.rest) f(*e);
  }
  void operator()(const Both& n) const { all(n.left, n.right); }
  void operator()(const Either& n) const { all(n.left, n.right); }
  void operator()(const Conditional& n) const { all(n.test, n.yes, n.no); }
};

}  // namespace

void each_inside(const Expression::Node& node, const std::function<void(Expression&)>& f) { std::visit(EachInside{f}, node); }

}  // namespace hearth::text::jinja
