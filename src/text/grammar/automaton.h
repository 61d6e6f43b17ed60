// Finite automata over symbols: bytes, and calls of rules. Bodies of rules become automata of this kind, and constraints on strings and
// numbers are computed with those that have bytes only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "text/grammar/expression.h"

namespace hearth::text::grammar {

// With edges that consume nothing.
struct Nfa {
  struct ByteEdge {
    uint8_t first, last;
    int32_t to;
  };
  struct CallEdge {
    int32_t rule, to;
  };
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<CallEdge> calls;
    std::vector<int32_t> empty;
  };
  std::vector<State> states;
  int32_t start = 0, final = 0;

  int32_t add() { return states.emplace_back(), int32_t(states.size()) - 1; }
};

// Without edges that consume nothing. An edge carries an interval of bytes (symbol < 0) or a call. Deterministic if no state has two edges
// that share a byte or a rule.
struct Automaton {
  struct Edge {
    uint8_t first, last;  // of bytes
    int32_t rule;         // of a call, -1 for bytes
    int32_t to;
    bool operator==(const Edge&) const = default;
  };
  struct State {
    std::vector<Edge> edges;  // sorted by rule, then by first byte
    bool final = false;
  };
  std::vector<State> states;
  int32_t start = 0;

  bool empty() const { return states.empty(); }  // no text at all, after trimmed()
};

// Subset construction. nullopt if there are more than `limit` states.
std::optional<Automaton> determinize(const Nfa& nfa, size_t limit);
// The same language with a state for each state of `nfa`: for what would need too many.
Automaton without_empty_edges(const Nfa& nfa);
// Only states that are reachable and from which the end can be reached. No states if the language is empty.
Automaton trimmed(const Automaton& a);
// The smallest deterministic automaton, with states in breadth-first order: equal languages give equal automata. `a` is deterministic and
// trimmed. Gives up, and returns `a` in that order, where the work would be more than about 10^8 steps.
Automaton minimized(const Automaton& a);

// Of automata with bytes only, deterministic. UnsupportedError if more than `limit` states are needed; `what` names the constraint in it.
enum class Product { both, first_without_second };
Automaton product(const Automaton& a, const Automaton& b, Product kind, size_t limit, std::string_view what);
Automaton automaton_of(const Expr& e, size_t limit, std::string_view what);  // e has no calls
Expr expression_of(const Automaton& a);
bool accepts(const Automaton& a, std::string_view text);

// Builds the states of an expression. Calls are passed to `on_call`, which may add states itself.
class NfaBuilder {
 public:
  explicit NfaBuilder(size_t limit) : limit_(limit) {}
  virtual ~NfaBuilder() = default;
  // From state `from` to state `to`. UnsupportedError if more than the limit's states are needed.
  void add(const Expression& e, int32_t from, int32_t to);
  Nfa nfa;

 protected:
  virtual void add_call(int rule, int32_t from, int32_t to);
  virtual void add_embedded(const Rules& rules, int32_t from, int32_t to);
  int32_t new_state();

 private:
  void add_repeat(const Expression& e, int32_t from, int32_t to);
  size_t limit_;
};

}  // namespace hearth::text::grammar
