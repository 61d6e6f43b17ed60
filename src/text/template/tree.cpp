#include "text/template/tree.h"

#include <algorithm>

namespace hearth::text::jinja {

namespace {

struct InnerDepth {
  int of(const ExpressionPtr& e) const { return e ? e->depth : 0; }
  int of(const Expressions& list) const {
    int depth = 0;
    for (const ExpressionPtr& e : list) depth = std::max(depth, e->depth);
    return depth;
  }
  int of(const CallArguments& a) const {
    int depth = std::max({of(a.positional), of(a.rest), of(a.named_rest)});
    for (const auto& [name, e] : a.named) depth = std::max(depth, e->depth);
    return depth;
  }

  int operator()(const Constant&) const { return 0; }
  int operator()(const Name&) const { return 0; }
  int operator()(const NamespaceAttribute&) const { return 0; }
  int operator()(const TupleOf& n) const { return of(n.items); }
  int operator()(const ListOf& n) const { return of(n.items); }
  int operator()(const DictOf& n) const {
    int depth = 0;
    for (const auto& [key, value] : n.entries) depth = std::max({depth, key->depth, value->depth});
    return depth;
  }
  int operator()(const Attribute& n) const { return of(n.object); }
  int operator()(const Subscript& n) const { return std::max(of(n.object), of(n.key)); }
  int operator()(const SliceOf& n) const { return std::max({of(n.start), of(n.stop), of(n.step)}); }
  int operator()(const CallOf& n) const { return std::max(of(n.callee), of(n.arguments)); }
  int operator()(const FilterOf& n) const { return std::max(of(n.input), of(n.arguments)); }
  int operator()(const TestOf& n) const { return std::max(of(n.input), of(n.arguments)); }
  int operator()(const Negation& n) const { return of(n.operand); }
  int operator()(const Identity& n) const { return of(n.operand); }
  int operator()(const Not& n) const { return of(n.operand); }
  int operator()(const Arithmetic& n) const { return std::max(of(n.left), of(n.right)); }
  int operator()(const Joined& n) const { return of(n.items); }
  int operator()(const Compared& n) const {
    int depth = of(n.first);
    for (const auto& [relation, e] : n.rest) depth = std::max(depth, e->depth);
    return depth;
  }
  int operator()(const Both& n) const { return std::max(of(n.left), of(n.right)); }
  int operator()(const Either& n) const { return std::max(of(n.left), of(n.right)); }
  int operator()(const Conditional& n) const { return std::max({of(n.test), of(n.yes), of(n.no)}); }
};

}  // namespace

int inner_depth(const Expression::Node& node) { return std::visit(InnerDepth(), node); }

}  // namespace hearth::text::jinja
