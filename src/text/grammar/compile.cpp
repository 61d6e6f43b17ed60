#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "core/error.h"
#include "text/grammar/automaton.h"
#include "text/grammar/flat_rules.h"
#include "text/grammar/program.h"

namespace hearth::text::grammar {
namespace {

constexpr size_t max_program_states = size_t(1) << 20, max_program_actions = size_t(1) << 24;

// Builds the body of one rule, together with the rules that are merged into it.
class BodyBuilder : public NfaBuilder {
 public:
  BodyBuilder(const FlatRules& rules, size_t limit) : NfaBuilder(limit), rules_(rules) {}

  void add_rule(int rule, int32_t from, int32_t to) {
    const int before = std::exchange(base_, rules_[rule].base);
    add(*rules_[rule].body, from, to);
    base_ = before;
  }

 protected:
  void add_call(int rule, int32_t from, int32_t to) override { enter(base_ + rule, from, to); }
  void add_embedded(const Rules& rules, int32_t from, int32_t to) override { enter(rules_.root_of(rules), from, to); }

 private:
  void enter(int rule, int32_t from, int32_t to) {
    if (rules_[rule].merged) add_rule(rule, from, to);
    else nfa.states[size_t(from)].calls.push_back({rule, to});
  }
  const FlatRules& rules_;
  int base_ = 0;
};

struct Body {
  std::string name;
  Nfa nfa;
  Automaton automaton;
};

// Whether the end of a body is reached by edges that `allowed` allows; `through` says of a call whether it can be passed.
template <class Through> bool reaches_end(const Nfa& nfa, bool over_bytes, const Through& through) {
  std::vector<char> seen(nfa.states.size(), 0);
  std::vector<int32_t> stack;
  const auto reach = [&](int32_t s) {
    if (!std::exchange(seen[size_t(s)], 1)) stack.push_back(s);
  };
  reach(nfa.start);
  while (!stack.empty()) {
    const Nfa::State& state = nfa.states[size_t(stack.back())];
    stack.pop_back();
    for (const int32_t to : state.empty) reach(to);
    for (const auto& e : state.calls) {
      if (through(e.rule)) reach(e.to);
    }
    if (!over_bytes) continue;
    for (const auto& e : state.bytes) reach(e.to);
  }
  return seen[size_t(nfa.final)];
}

// The bodies that reach their end, where calls can be passed if the called body reaches its own: a least fixed point.
std::vector<char> reaching(const std::vector<Body>& bodies, bool over_bytes) {
  std::vector<std::vector<int>> callers(bodies.size());
  std::vector<char> result(bodies.size(), 0), queued(bodies.size(), 1);
  std::deque<int> queue;
  for (size_t b = 0; b < bodies.size(); ++b) {
    std::vector<int> called;
    for (const auto& state : bodies[b].nfa.states) {
      for (const auto& e : state.calls) called.push_back(e.rule);
    }
    std::sort(called.begin(), called.end());
    called.erase(std::unique(called.begin(), called.end()), called.end());
    for (const int rule : called) callers[size_t(rule)].push_back(int(b));
    queue.push_back(int(b));
  }
  while (!queue.empty()) {
    const auto b = size_t(queue.front());
    queue.pop_front();
    queued[b] = 0;
    if (result[b] || !reaches_end(bodies[b].nfa, over_bytes, [&](int rule) { return result[size_t(rule)] != 0; })) continue;
    result[b] = 1;
    for (const int caller : callers[b]) {
      if (!result[size_t(caller)] && !std::exchange(queued[size_t(caller)], 1)) queue.push_back(caller);
    }
  }
  return result;
}

// The bodies of the root and of the rules that it reaches and that are not merged. Calls are numbered anew.
std::vector<Body> bodies_of(const FlatRules& rules) {
  std::vector<Body> bodies;
  std::map<int, int32_t> number;
  std::vector<int> order;
  const auto number_of = [&](int rule) {
    const auto [found, fresh] = number.emplace(rule, int32_t(order.size()));
    if (fresh) order.push_back(rule);
    return found->second;
  };
  number_of(rules.root());
  size_t used = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    BodyBuilder builder(rules, max_program_states - used);
    builder.nfa.start = builder.nfa.add();
    builder.nfa.final = builder.nfa.add();
    builder.add_rule(order[i], builder.nfa.start, builder.nfa.final);
    used += builder.nfa.states.size();
    if (used >= max_program_states)
      fail<UnsupportedError>("grammar: it needs more than {} states, expected a smaller one", max_program_states);
    for (auto& state : builder.nfa.states) {
      for (auto& e : state.calls) e.rule = number_of(e.rule);
    }
    bodies.push_back({rules[order[i]].name, std::move(builder.nfa), {}});
  }
  return bodies;
}

void make_automaton(Body& body, const std::vector<char>& nullable, const std::vector<char>& productive) {
  for (auto& state : body.nfa.states) {
    std::erase_if(state.calls, [&](const auto& e) { return !productive[size_t(e.rule)]; });
    for (const auto& e : state.calls) {
      if (nullable[size_t(e.rule)]) state.empty.push_back(e.to);
    }
  }
  if (auto a = determinize(body.nfa, body.nfa.states.size() * 4 + 1000)) body.automaton = minimized(trimmed(*a));
  else body.automaton = trimmed(without_empty_edges(body.nfa));
  body.nfa = {};
}

// Only bodies that the first one reaches.
void drop_unreachable(std::vector<Body>& bodies) {
  std::vector<int32_t> number(bodies.size(), -1), order{0};
  number[0] = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    for (auto& state : bodies[size_t(order[i])].automaton.states) {
      for (auto& e : state.edges) {
        if (e.rule < 0) continue;
        int32_t& n = number[size_t(e.rule)];
        if (n < 0) {
          n = int32_t(order.size());
          order.push_back(e.rule);
        }
        e.rule = n;
      }
    }
  }
  std::vector<Body> kept;
  for (const int32_t b : order) kept.push_back(std::move(bodies[size_t(b)]));
  bodies = std::move(kept);
}

std::vector<int32_t> left_calls(const Body& body) {
  std::vector<int32_t> rules;
  for (const auto& e : body.automaton.states[size_t(body.automaton.start)].edges) {
    if (e.rule >= 0) rules.push_back(e.rule);
  }
  return rules;
}

// Callers before those that they call before consuming anything.
std::vector<int32_t> order_of_calls(const std::vector<Body>& bodies) {
  std::vector<int> open(bodies.size(), 0);
  for (const Body& body : bodies) {
    for (const int32_t rule : left_calls(body)) ++open[size_t(rule)];
  }
  std::vector<int32_t> order;
  for (size_t b = 0; b < bodies.size(); ++b) {
    if (open[b] == 0) order.push_back(int32_t(b));
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const int32_t rule : left_calls(bodies[size_t(order[i])])) {
      if (--open[size_t(rule)] == 0) order.push_back(rule);
    }
  }
  if (order.size() == bodies.size()) return order;
  // Every rule that is left is called by another one that is left; so going back from any of them ends in a cycle.
  std::vector<int32_t> caller(bodies.size(), -1);
  int32_t at = -1;
  for (size_t b = 0; b < bodies.size(); ++b) {
    if (open[b] == 0) continue;
    at = int32_t(b);
    for (const int32_t rule : left_calls(bodies[b])) caller[size_t(rule)] = at;
  }
  for (size_t i = 0; i < bodies.size(); ++i) at = caller[size_t(at)];
  std::string path = bodies[size_t(at)].name;
  for (int32_t c = caller[size_t(at)]; c != at && path.size() < 200; c = caller[size_t(c)]) path = bodies[size_t(c)].name + " → " + path;
  fail<UnsupportedError>("grammar: left recursion, rule '{}' calls itself before it consumes anything ({} → {}), expected right recursion",
                         bodies[size_t(at)].name, bodies[size_t(at)].name, path);
}

class Tables {
 public:
  explicit Tables(const std::vector<Body>& bodies) : bodies_(bodies) {}

  Program build() {
    p_.by_level = order_of_calls(bodies_);
    number_states();
    cut_bytes();
    for (auto rule = p_.by_level.rbegin(); rule != p_.by_level.rend(); ++rule) find_first(*rule);
    fill();
    join_classes();
    find_plain_runs();
    hash_rules();
    return std::move(p_);
  }

 private:
  void number_states() {
    int32_t start = 0;
    for (const Body& body : bodies_) {
      p_.rules.push_back({body.name, start, int32_t(body.automaton.states.size()), 0, {}});
      start += int32_t(body.automaton.states.size());
      for (const auto& state : body.automaton.states) {
        p_.final.push_back(state.final);
        p_.leaf.push_back(state.final && state.edges.empty());
        p_.rule_of.push_back(int32_t(p_.rules.size()) - 1);
      }
    }
    for (size_t i = 0; i < p_.by_level.size(); ++i) p_.rules[size_t(p_.by_level[i])].level = int32_t(i);
    p_.nullable = bodies_[0].automaton.states[0].final;
  }

  void cut_bytes() {
    std::bitset<257> cuts;
    for (const Body& body : bodies_) {
      for (const auto& state : body.automaton.states) {
        for (const auto& e : state.edges) {
          if (e.rule >= 0) continue;
          cuts.set(e.first);
          cuts.set(size_t(e.last) + 1);
        }
      }
    }
    int32_t c = 0;
    for (size_t b = 0; b < 256; ++b) {
      if (b > 0 && cuts[b]) ++c;
      p_.class_of[b] = uint8_t(c);
    }
    p_.classes = c + 1;
    if (p_.final.size() * size_t(p_.classes) > max_program_actions)
      fail<UnsupportedError>("grammar: it needs {} states with {} classes of bytes, expected a smaller one", p_.final.size(), p_.classes);
  }

  void find_first(int32_t rule) {
    first_.resize(bodies_.size());
    for (const auto& e : bodies_[size_t(rule)].automaton.states[0].edges) {
      if (e.rule >= 0) first_[size_t(rule)] |= first_[size_t(e.rule)];
      else
        for (size_t c = p_.class_of[e.first]; c <= p_.class_of[e.last]; ++c) first_[size_t(rule)].set(c);
    }
  }

  void fill() {
    std::map<std::pair<std::vector<int32_t>, std::vector<std::pair<int32_t, int32_t>>>, uint32_t> known;
    p_.actions.reserve(p_.final.size() * size_t(p_.classes));
    for (size_t b = 0; b < bodies_.size(); ++b) {
      const int32_t base = p_.rules[b].start;
      for (const auto& state : bodies_[b].automaton.states) {
        std::vector<std::vector<int32_t>> targets(size_t(p_.classes));
        std::vector<std::vector<std::pair<int32_t, int32_t>>> calls(size_t(p_.classes));
        for (const auto& e : state.edges) {
          if (e.rule < 0) {
            for (size_t c = p_.class_of[e.first]; c <= p_.class_of[e.last]; ++c) targets[c].push_back(base + e.to);
          } else {
            for (size_t c = 0; c < size_t(p_.classes); ++c) {
              if (first_[size_t(e.rule)][c]) calls[c].emplace_back(e.rule, base + e.to);
            }
          }
        }
        for (size_t c = 0; c < size_t(p_.classes); ++c) {
          if (calls[c].empty() && targets[c].size() <= 1) {
            p_.actions.push_back(targets[c].empty() ? 0 : uint32_t(targets[c][0]) + 1);
            continue;
          }
          const auto [found, fresh] = known.emplace(std::pair(targets[c], calls[c]), uint32_t(p_.forks.size()));
          if (fresh) {
            auto& fork = p_.forks.emplace_back();
            fork.targets = std::move(targets[c]);
            for (const auto& [rule, next] : calls[c]) fork.calls.push_back({rule, next});
          }
          p_.actions.push_back(Program::fork_bit | found->second);
        }
      }
    }
  }

  // Intervals of bytes that lead to the same everywhere become one class.
  void join_classes() {
    const auto n = size_t(p_.classes), states = p_.final.size();
    std::vector<Hash> columns(n);
    for (size_t s = 0; s < states; ++s) {
      for (size_t c = 0; c < n; ++c) columns[c].add(p_.actions[s * n + c]);
    }
    std::map<Hash, uint8_t> number;
    std::vector<size_t> kept;
    std::vector<uint8_t> joined(n);
    for (size_t c = 0; c < n; ++c) {
      const auto [found, fresh] = number.emplace(columns[c], uint8_t(kept.size()));
      if (fresh) kept.push_back(c);
      joined[c] = found->second;
    }
    std::vector<uint32_t> actions;
    actions.reserve(states * kept.size());
    for (size_t s = 0; s < states; ++s) {
      for (const size_t c : kept) actions.push_back(p_.actions[s * n + c]);
    }
    for (auto& c : p_.class_of) c = joined[c];
    p_.classes = int32_t(kept.size());
    p_.actions = std::move(actions);
  }

  // The distance to the nearest state in which some plain byte does anything else than lead to one state where the rule cannot end.
  void find_plain_runs() {
    std::vector<uint8_t> plain;
    for (unsigned b = 0; b < 256; ++b) {
      if (Program::is_plain(uint8_t(b)) && std::find(plain.begin(), plain.end(), p_.class_of[b]) == plain.end())
        plain.push_back(p_.class_of[b]);
    }
    const size_t n = p_.final.size();
    p_.plain_run.assign(n, Program::endless_run);
    std::vector<std::vector<int32_t>> sources(n);
    std::vector<int32_t> queue;
    for (size_t s = 0; s < n; ++s) {
      bool ends = false;
      for (const uint8_t c : plain) {
        const uint32_t action = p_.actions[s * size_t(p_.classes) + c];
        ends = ends || action == 0 || (action & Program::fork_bit) != 0 || p_.final[action - 1] != 0;
        if (ends) break;
        sources[action - 1].push_back(int32_t(s));
      }
      if (!ends) continue;
      p_.plain_run[s] = 0;
      queue.push_back(int32_t(s));
    }
    for (size_t i = 0; i < queue.size(); ++i) {
      const auto run = p_.plain_run[size_t(queue[i])];
      if (run + 1 == Program::endless_run) break;
      for (const int32_t s : sources[size_t(queue[i])]) {
        if (p_.plain_run[size_t(s)] <= run + 1) continue;
        p_.plain_run[size_t(s)] = uint16_t(run + 1);
        queue.push_back(s);
      }
    }
  }

  Hash hash_of(size_t rule, bool with_callees) const {
    Hash h;
    for (const auto& state : bodies_[rule].automaton.states) {
      h.add(state.final ? 1 : 0);
      h.add(state.edges.size());
      for (const auto& e : state.edges) {
        h.add(uint64_t(e.first) << 8 | e.last);
        h.add(uint64_t(uint32_t(e.to)));
        if (e.rule >= 0 && with_callees) h.add(p_.rules[size_t(e.rule)].hash);
        else h.add(uint64_t(int64_t(e.rule)));
      }
    }
    return h;
  }

  // Rules that cannot call themselves get the same hash in every grammar.
  void hash_rules() {
    const size_t n = bodies_.size();
    for (size_t r = 0; r < n; ++r) p_.hash.add(hash_of(r, false));
    std::vector<int> open(n, 0);
    std::vector<std::vector<int32_t>> callers(n);
    std::vector<int32_t> ready;
    for (size_t r = 0; r < n; ++r) {
      for (const auto& state : bodies_[r].automaton.states) {
        for (const auto& e : state.edges) {
          if (e.rule < 0) continue;
          ++open[r];
          callers[size_t(e.rule)].push_back(int32_t(r));
        }
      }
      p_.rules[r].hash = p_.hash;
      p_.rules[r].hash.add(r);
      if (open[r] == 0) ready.push_back(int32_t(r));
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      p_.rules[size_t(ready[i])].hash = hash_of(size_t(ready[i]), true);
      for (const int32_t caller : callers[size_t(ready[i])]) {
        if (--open[size_t(caller)] == 0) ready.push_back(caller);
      }
    }
  }

  const std::vector<Body>& bodies_;
  Program p_;
  std::vector<ByteSet> first_;
};

}  // namespace

void Hash::add(uint64_t value) {
  a = (a ^ value) * 0x9e3779b97f4a7c15u;
  a ^= a >> 32;
  b = (b + value) * 0xc2b2ae3d27d4eb4fu;
  b ^= b >> 29;
}

void Hash::add(std::string_view bytes) {
  add(bytes.size());
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    for (size_t j = i; j < std::min(bytes.size(), i + 8); ++j) word = word << 8 | uint8_t(bytes[j]);
    add(word);
  }
}

Program compile(const Rules& rules) {
  const FlatRules flat(rules);
  std::vector<Body> bodies = bodies_of(flat);
  const auto nullable = reaching(bodies, false), productive = reaching(bodies, true);
  if (!productive[0]) fail<UnsupportedError>("grammar: no finite text matches rule '{}', expected one that can end", bodies[0].name);
  for (Body& body : bodies) make_automaton(body, nullable, productive);
  drop_unreachable(bodies);
  return Tables(bodies).build();
}

}  // namespace hearth::text::grammar
