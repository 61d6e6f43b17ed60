#include "text/grammar/automaton.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/error.h"

namespace hearth::text::grammar {
namespace {

struct HashNumbers {
  size_t operator()(const std::vector<int32_t>& numbers) const {
    uint64_t h = numbers.size();
    for (const int32_t n : numbers) {
      h = (h ^ uint32_t(n)) * 0x9e3779b97f4a7c15u;
      h ^= h >> 29;
    }
    return size_t(h);
  }
};

using Set = std::vector<int32_t>;  // sorted

// The states that are reached without consuming anything and that matter: the end, and those with edges that consume.
class Closure {
 public:
  explicit Closure(const Nfa& nfa) : nfa_(nfa), seen_(nfa.states.size(), 0) {}

  Set operator()(const Set& from) {
    ++round_;
    Set out;
    stack_ = from;
    for (const int32_t s : from) seen_[size_t(s)] = round_;
    while (!stack_.empty()) {
      const int32_t s = stack_.back();
      stack_.pop_back();
      const Nfa::State& state = nfa_.states[size_t(s)];
      if (s == nfa_.final || !state.bytes.empty() || !state.calls.empty()) out.push_back(s);
      for (const int32_t to : state.empty) {
        if (std::exchange(seen_[size_t(to)], round_) != round_) stack_.push_back(to);
      }
      work += 1 + state.empty.size();
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  size_t work = 0;

 private:
  const Nfa& nfa_;
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0;
  Set stack_;
};

void tidy(std::vector<Automaton::Edge>& edges) {
  std::sort(edges.begin(), edges.end(),
            [](const auto& a, const auto& b) { return std::tie(a.rule, a.first, a.last, a.to) < std::tie(b.rule, b.first, b.last, b.to); });
  std::vector<Automaton::Edge> joined;
  for (const auto& e : edges) {
    if (!joined.empty() && joined.back() == e) continue;
    if (e.rule < 0 && !joined.empty() && joined.back().to == e.to && joined.back().last + 1 == e.first) joined.back().last = e.last;
    else joined.push_back(e);
  }
  edges = std::move(joined);
}

constexpr size_t max_subset_steps = 40'000'000;

}  // namespace

std::optional<Automaton> determinize(const Nfa& nfa, size_t limit) {
  Automaton out;
  Closure closure(nfa);
  std::unordered_map<Set, int32_t, HashNumbers> known;
  std::vector<Set> sets;
  const auto state_of = [&](Set targets) {
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    Set set = closure(targets);
    const auto [found, fresh] = known.emplace(std::move(set), int32_t(sets.size()));
    if (fresh) {
      sets.push_back(found->first);
      out.states.emplace_back().final = std::binary_search(found->first.begin(), found->first.end(), nfa.final);
    }
    return found->second;
  };
  out.start = state_of({nfa.start});
  for (size_t s = 0; s < sets.size(); ++s) {
    if (sets.size() > limit || closure.work > max_subset_steps) return std::nullopt;
    const Set set = sets[s];
    std::bitset<257> cuts;
    std::map<int32_t, Set> calls;
    for (const int32_t q : set) {
      for (const auto& e : nfa.states[size_t(q)].bytes) {
        cuts.set(e.first);
        cuts.set(size_t(e.last) + 1);
      }
      for (const auto& e : nfa.states[size_t(q)].calls) calls[e.rule].push_back(e.to);
    }
    std::array<uint16_t, 257> interval{};
    std::vector<unsigned> starts;
    for (unsigned b = 0; b <= 256; ++b) {
      if (cuts[b]) starts.push_back(b);
      interval[b] = uint16_t(starts.size());
    }
    std::vector<Set> targets(starts.size() + 1);
    for (const int32_t q : set) {
      for (const auto& e : nfa.states[size_t(q)].bytes) {
        for (size_t i = interval[e.first]; i <= interval[e.last]; ++i) targets[i].push_back(e.to);
        closure.work += size_t(interval[e.last] - interval[e.first]) + 1;
      }
    }
    std::vector<Automaton::Edge> edges;
    for (size_t i = 1; i < starts.size(); ++i) {
      if (!targets[i].empty()) edges.push_back({uint8_t(starts[i - 1]), uint8_t(starts[i] - 1), -1, state_of(std::move(targets[i]))});
    }
    for (auto& [rule, to] : calls) edges.push_back({0, 0, rule, state_of(std::move(to))});
    tidy(edges);
    out.states[s].edges = std::move(edges);
  }
  return out;
}

Automaton without_empty_edges(const Nfa& nfa) {
  Automaton out;
  Closure closure(nfa);
  std::map<int32_t, int32_t> number;
  std::vector<int32_t> order;
  const auto state_of = [&](int32_t q) {
    const auto [found, fresh] = number.emplace(q, int32_t(order.size()));
    if (fresh) order.push_back(q);
    return found->second;
  };
  out.start = state_of(nfa.start);
  for (size_t s = 0; s < order.size(); ++s) {
    Automaton::State state;
    for (const int32_t q : closure({order[s]})) {
      state.final |= q == nfa.final;
      for (const auto& e : nfa.states[size_t(q)].bytes) state.edges.push_back({e.first, e.last, -1, state_of(e.to)});
      for (const auto& e : nfa.states[size_t(q)].calls) state.edges.push_back({0, 0, e.rule, state_of(e.to)});
    }
    if (closure.work > max_subset_steps) fail<UnsupportedError>("grammar: its rules are too entangled, expected a simpler grammar");
    tidy(state.edges);
    out.states.push_back(std::move(state));
  }
  return out;
}

Automaton trimmed(const Automaton& a) {
  const size_t n = a.states.size();
  if (n == 0) return {};
  std::vector<std::vector<int32_t>> sources(n);
  for (size_t s = 0; s < n; ++s) {
    for (const auto& e : a.states[s].edges) sources[size_t(e.to)].push_back(int32_t(s));
  }
  std::vector<char> ends(n, 0);
  std::vector<int32_t> stack;
  const auto reach = [&](int32_t s) {
    if (!std::exchange(ends[size_t(s)], 1)) stack.push_back(s);
  };
  for (size_t s = 0; s < n; ++s) {
    if (a.states[s].final) reach(int32_t(s));
  }
  while (!stack.empty()) {
    const int32_t s = stack.back();
    stack.pop_back();
    for (const int32_t source : sources[size_t(s)]) reach(source);
  }
  if (!ends[size_t(a.start)]) return {};
  Automaton out;
  std::vector<int32_t> number(n, -1), order{a.start};
  number[size_t(a.start)] = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& state = a.states[size_t(order[i])];
    Automaton::State copy;
    copy.final = state.final;
    for (auto e : state.edges) {
      if (!ends[size_t(e.to)]) continue;
      if (number[size_t(e.to)] < 0) {
        number[size_t(e.to)] = int32_t(order.size());
        order.push_back(e.to);
      }
      e.to = number[size_t(e.to)];
      copy.edges.push_back(e);
    }
    out.states.push_back(std::move(copy));
  }
  return out;
}

namespace {

// Two numbers that equivalent states share: the lengths of the shortest and, if it is finite, of the longest text to the end. With them,
// long chains of states fall apart at once instead of one state per round.
std::vector<std::pair<int32_t, int32_t>> distances(const Automaton& a) {
  const size_t n = a.states.size();
  std::vector<std::vector<int32_t>> sources(n);
  std::vector<size_t> open(n);
  std::vector<std::pair<int32_t, int32_t>> out(n, {-1, -1});
  std::vector<int32_t> near, done;
  for (size_t s = 0; s < n; ++s) {
    for (const auto& e : a.states[s].edges) sources[size_t(e.to)].push_back(int32_t(s));
    open[s] = a.states[s].edges.size();
    if (a.states[s].final) {
      out[s].first = 0;
      near.push_back(int32_t(s));
    }
    if (open[s] == 0) {
      out[s].second = 0;
      done.push_back(int32_t(s));
    }
  }
  for (size_t i = 0; i < near.size(); ++i) {
    for (const int32_t s : sources[size_t(near[i])]) {
      if (out[size_t(s)].first >= 0) continue;
      out[size_t(s)].first = out[size_t(near[i])].first + 1;
      near.push_back(s);
    }
  }
  for (size_t i = 0; i < done.size(); ++i) {
    for (const int32_t s : sources[size_t(done[i])]) {
      if (--open[size_t(s)] > 0) continue;
      for (const auto& e : a.states[size_t(s)].edges) out[size_t(s)].second = std::max(out[size_t(s)].second, out[size_t(e.to)].second + 1);
      done.push_back(s);
    }
  }
  return out;
}

}  // namespace

Automaton minimized(const Automaton& a) {
  const size_t n = a.states.size();
  if (n == 0) return {};
  std::vector<int32_t> part(n);
  std::map<std::tuple<bool, int32_t, int32_t>, int32_t> first;
  const auto distance = distances(a);
  for (size_t s = 0; s < n; ++s) {
    const std::tuple key(a.states[s].final, distance[s].first, distance[s].second);
    part[s] = first.emplace(key, int32_t(first.size())).first->second;
  }
  size_t parts = first.size(), work = 0;
  for (;;) {
    std::unordered_map<std::vector<int32_t>, int32_t, HashNumbers> split;
    std::vector<int32_t> next(n), key;
    for (size_t s = 0; s < n; ++s) {
      std::vector<Automaton::Edge> edges = a.states[s].edges;
      for (auto& e : edges) e.to = part[size_t(e.to)];
      tidy(edges);
      key = {part[s]};
      for (const auto& e : edges) key.insert(key.end(), {e.first * 256 + e.last, e.rule, e.to});
      next[s] = split.emplace(key, int32_t(split.size())).first->second;
      work += 1 + edges.size();
    }
    part = std::move(next);
    if (split.size() == parts) break;
    parts = split.size();
    if (work > 10'000'000) return trimmed(a);
  }
  Automaton out;
  out.states.resize(parts);
  std::vector<char> done(parts, 0);
  for (size_t s = 0; s < n; ++s) {
    if (std::exchange(done[size_t(part[s])], 1)) continue;
    auto& state = out.states[size_t(part[s])];
    state = a.states[s];
    for (auto& e : state.edges) e.to = part[size_t(e.to)];
    tidy(state.edges);
  }
  out.start = part[size_t(a.start)];
  return trimmed(out);  // in breadth-first order
}

Automaton product(const Automaton& a, const Automaton& b, Product kind, size_t limit, std::string_view what) {
  if (a.empty()) return {};
  if (b.empty()) return kind == Product::both ? Automaton{} : a;
  Automaton out;
  std::unordered_map<uint64_t, int32_t> known;
  std::vector<std::pair<int32_t, int32_t>> pairs;
  const auto state_of = [&](int32_t s, int32_t t) {
    const auto [found, fresh] = known.emplace(uint64_t(uint32_t(s)) << 32 | uint32_t(t), int32_t(pairs.size()));
    if (fresh) {
      pairs.emplace_back(s, t);
      const bool second = t >= 0 && b.states[size_t(t)].final;
      out.states.emplace_back().final = a.states[size_t(s)].final && second == (kind == Product::both);
    }
    return found->second;
  };
  state_of(a.start, b.start);
  static const std::vector<Automaton::Edge> none;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs.size() > limit) fail<UnsupportedError>("{}: together they need more than {} states, expected simpler ones", what, limit);
    const auto [s, t] = pairs[i];
    std::vector<Automaton::Edge> edges;
    const auto& others = t >= 0 ? b.states[size_t(t)].edges : none;
    for (const auto& e : a.states[size_t(s)].edges) {
      unsigned next = e.first;  // the first byte that no edge of b has covered
      const auto alone = [&](unsigned last) {
        if (kind == Product::first_without_second && next <= last) edges.push_back({uint8_t(next), uint8_t(last), -1, state_of(e.to, -1)});
      };
      for (const auto& f : others) {
        const unsigned low = std::max(e.first, f.first), high = std::min(e.last, f.last);
        if (low > high) continue;
        if (low > 0) alone(low - 1);
        edges.push_back({uint8_t(low), uint8_t(high), -1, state_of(e.to, f.to)});
        next = high + 1;
      }
      alone(e.last);
    }
    tidy(edges);
    out.states[i].edges = std::move(edges);
  }
  return minimized(trimmed(out));
}

}  // namespace hearth::text::grammar
