// The rules of a grammar and of all grammars that are embedded in it, in one list, and which of them are merged into their callers.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/grammar/expression.h"

namespace hearth::text::grammar {

class FlatRules {
 public:
  struct Flat {
    const Expression* body;
    int base;  // call(i) in the body refers to rule base + i
    std::string name;
    bool shared;
    bool merged = false;  // into its callers
  };

  explicit FlatRules(const Rules& rules);
  const Flat& operator[](int rule) const { return rules_[size_t(rule)]; }
  size_t size() const { return rules_.size(); }
  int root() const { return root_; }
  int root_of(const Rules& embedded) const { return bases_.at(&embedded) + embedded.root; }

 private:
  // Of an expression with its repetitions written out.
  struct Facts {
    double size = 0;        // about the number of states, without those of called rules
    bool infinite = false;  // it repeats something without limit
    std::map<int, double> calls;
  };
  void import(const Rules& rules);
  void find_embedded(const Expression& e, int base, int count);
  const Facts& facts_of(const Expression& e, int base);
  void decide_merging();

  std::vector<Flat> rules_;
  int root_;
  std::unordered_map<const Rules*, int> bases_;
  std::map<std::pair<const Expression*, int>, Facts> facts_;
  std::vector<const Rules*> pending_;
};

}  // namespace hearth::text::grammar
