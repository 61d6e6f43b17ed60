#include "text/grammar/flat_rules.h"

#include <algorithm>
#include <set>

#include "core/error.h"

namespace hearth::text::grammar {

constexpr size_t max_flat_rules = 50'000;

FlatRules::FlatRules(const Rules& rules) {
  import(rules);
  root_ = rules.root;
  for (size_t i = 0; i < pending_.size(); ++i) {  // grows while it runs
    const Rules& each = *pending_[i];
    for (const Rule& rule : each.rules) find_embedded(*rule.body, bases_.at(&each), int(each.rules.size()));
  }
  decide_merging();
}

void FlatRules::import(const Rules& rules) {
  if (!bases_.emplace(&rules, int(rules_.size())).second) return;
  const int base = int(rules_.size());
  if (rules.root < 0 || size_t(rules.root) >= rules.rules.size())
    fail<UsageError>("grammar: the root is rule {} of {}, expected one that exists", rules.root, rules.rules.size());
  if (rules_.size() + rules.rules.size() > max_flat_rules)
    fail<UnsupportedError>("grammar: it has more than {} rules, expected fewer", max_flat_rules);
  for (const Rule& rule : rules.rules) rules_.push_back({rule.body.get(), base, rule.name, rule.shared});
  pending_.push_back(&rules);
}

void FlatRules::find_embedded(const Expression& e, int base, int count) {
  std::set<const Expression*> seen;
  std::vector<const Expression*> stack{&e};
  while (!stack.empty()) {
    const Expression& at = *stack.back();
    stack.pop_back();
    if (!seen.insert(&at).second) continue;
    if (at.kind == Expression::Kind::embedded) import(*at.embedded);
    if (at.kind == Expression::Kind::call && (at.rule < 0 || at.rule >= count))
      fail<UsageError>("grammar: rule '{}' calls rule {} of {}, expected one that exists", rules_[size_t(base)].name, at.rule, count);
    for (const Expr& part : at.parts) stack.push_back(part.get());
    for (const auto& edge : at.network.edges) {
      if (edge.label) stack.push_back(edge.label.get());
    }
  }
}

const FlatRules::Facts& FlatRules::facts_of(const Expression& e, int base) {
  const std::pair key(&e, base);
  if (const auto found = facts_.find(key); found != facts_.end()) return found->second;
  Facts facts;
  const auto take = [&](const Expression& part, double times) {
    const Facts& f = facts_of(part, base);
    facts.size += times * f.size;
    facts.infinite |= f.infinite;
    for (const auto& [rule, count] : f.calls) facts.calls[rule] += times * count;
  };
  switch (e.kind) {
    case Expression::Kind::text: facts.size = double(e.text.size()); break;
    case Expression::Kind::bytes: facts.size = 1; break;
    case Expression::Kind::sequence:
    case Expression::Kind::choice:
      for (const Expr& part : e.parts) take(*part, 1);
      break;
    case Expression::Kind::repeat:
      take(*e.parts[0], e.max < 0 ? e.min + 1.0 : double(e.max));
      facts.infinite |= e.max < 0;
      break;
    case Expression::Kind::call: facts.calls[base + e.rule] = facts.size = 1; break;
    case Expression::Kind::embedded: facts.calls[root_of(*e.embedded)] = facts.size = 1; break;
    case Expression::Kind::network:
      facts.size = e.network.states;
      facts.infinite = true;  // it may have loops
      for (const auto& edge : e.network.edges) {
        if (edge.label) take(*edge.label, 1);
      }
      break;
  }
  return facts_.emplace(key, std::move(facts)).first->second;
}

// A rule is merged into its callers if it cannot call itself and if it is small (an escape, a digit) or used once. Then the states of its
// callers say more about the tokens that may follow, and less is left for the stack. Large rules that repeat something, like strings and
// numbers, stay on their own: the masks of their states are worth sharing.
void FlatRules::decide_merging() {
  const size_t n = rules_.size();
  std::vector<std::vector<int>> callers(n);
  std::vector<double> uses(n, 0), size(n, 0);
  std::vector<int> open(n, 0), depth(n, 0), ready;
  std::vector<char> infinite(n, 0);
  for (size_t r = 0; r < n; ++r) {
    const Facts& facts = facts_of(*rules_[r].body, rules_[r].base);
    open[r] = int(facts.calls.size());
    for (const auto& [rule, count] : facts.calls) {
      callers[size_t(rule)].push_back(int(r));
      uses[size_t(rule)] += count;
    }
    if (open[r] == 0) ready.push_back(int(r));
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    const auto r = size_t(ready[i]);
    const Facts& facts = facts_of(*rules_[r].body, rules_[r].base);
    size[r] = facts.size;
    infinite[r] = facts.infinite;
    for (const auto& [rule, count] : facts.calls) {
      const auto callee = size_t(rule);
      if (!rules_[callee].merged) {
        infinite[r] = true;
        continue;
      }
      size[r] += count * size[callee];
      infinite[r] |= infinite[callee];
      depth[r] = std::max(depth[r], depth[callee] + 1);
    }
    const bool small = size[r] <= (infinite[r] ? 6 : 64), once = uses[r] <= 1 && size[r] <= 20'000;
    rules_[r].merged = !rules_[r].shared && int(r) != root_ && depth[r] < 40 && (small || once);
    for (const int caller : callers[r]) {
      if (--open[size_t(caller)] == 0) ready.push_back(caller);
    }
  }
}

}  // namespace hearth::text::grammar
