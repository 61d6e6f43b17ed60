#include <algorithm>
#include <utility>

#include "core/error.h"
#include "text/grammar/automaton.h"

namespace hearth::text::grammar {

int32_t NfaBuilder::new_state() {
  if (nfa.states.size() >= limit_) fail<UnsupportedError>("grammar: it needs more than {} states, expected a smaller one", limit_);
  return nfa.add();
}

void NfaBuilder::add_repeat(const Expression& e, int32_t from, int32_t to) {
  const Expression& part = *e.parts[0];
  int32_t at = from;
  for (int i = 0; i < e.min; ++i) {
    const int32_t next = new_state();
    add(part, at, next);
    at = next;
  }
  if (e.max < 0) {
    const int32_t loop = new_state();
    nfa.states[size_t(at)].empty.push_back(loop);
    add(part, loop, loop);
    nfa.states[size_t(loop)].empty.push_back(to);
    return;
  }
  for (int i = e.min; i < e.max; ++i) {
    const int32_t next = new_state();
    nfa.states[size_t(at)].empty.push_back(to);
    add(part, at, next);
    at = next;
  }
  nfa.states[size_t(at)].empty.push_back(to);
}

void NfaBuilder::add(const Expression& e, int32_t from, int32_t to) {
  switch (e.kind) {
    case Expression::Kind::text: {
      int32_t at = from;
      for (size_t i = 0; i < e.text.size(); ++i) {
        const int32_t next = i + 1 < e.text.size() ? new_state() : to;
        const auto byte = uint8_t(e.text[i]);
        nfa.states[size_t(at)].bytes.push_back({byte, byte, next});
        at = next;
      }
      if (e.text.empty()) nfa.states[size_t(from)].empty.push_back(to);
      break;
    }
    case Expression::Kind::bytes:
      for (size_t first = 0; first < 256; ++first) {
        if (!e.bytes[first]) continue;
        size_t last = first;
        while (last + 1 < 256 && e.bytes[last + 1]) ++last;
        nfa.states[size_t(from)].bytes.push_back({uint8_t(first), uint8_t(last), to});
        first = last;
      }
      break;
    case Expression::Kind::sequence: {
      int32_t at = from;
      for (size_t i = 0; i < e.parts.size(); ++i) {
        const int32_t next = i + 1 < e.parts.size() ? new_state() : to;
        add(*e.parts[i], at, next);
        at = next;
      }
      if (e.parts.empty()) nfa.states[size_t(from)].empty.push_back(to);
      break;
    }
    case Expression::Kind::choice:
      for (const Expr& part : e.parts) add(*part, from, to);
      break;
    case Expression::Kind::repeat: add_repeat(e, from, to); break;
    case Expression::Kind::call: add_call(e.rule, from, to); break;
    case Expression::Kind::embedded: add_embedded(*e.embedded, from, to); break;
    case Expression::Kind::network: {
      const Network& n = e.network;
      std::vector<int32_t> at;
      for (int i = 0; i < n.states; ++i) at.push_back(new_state());
      nfa.states[size_t(from)].empty.push_back(at[size_t(n.start)]);
      for (const Network::Edge& edge : n.edges) {
        if (edge.label) add(*edge.label, at[size_t(edge.from)], at[size_t(edge.to)]);
        else nfa.states[size_t(at[size_t(edge.from)])].empty.push_back(at[size_t(edge.to)]);
      }
      for (const int final : n.finals) nfa.states[size_t(at[size_t(final)])].empty.push_back(to);
      break;
    }
  }
}

void NfaBuilder::add_call(int rule, int32_t, int32_t) {
  fail<UnsupportedError>("grammar: a regular expression was needed where rule {} is called", rule);
}

void NfaBuilder::add_embedded(const Rules&, int32_t, int32_t) {
  fail<UnsupportedError>("grammar: a regular expression was needed where a grammar is embedded");
}

Automaton automaton_of(const Expr& e, size_t limit, std::string_view what) {
  NfaBuilder builder(limit * 4);
  builder.nfa.start = builder.nfa.add();
  builder.nfa.final = builder.nfa.add();
  builder.add(*e, builder.nfa.start, builder.nfa.final);
  auto a = determinize(builder.nfa, limit);
  if (!a) fail<UnsupportedError>("{}: it needs more than {} states, expected a simpler one", what, limit);
  return minimized(trimmed(*a));
}

Expr expression_of(const Automaton& a) {
  Network n;
  n.states = std::max(1, int(a.states.size()));
  n.start = a.start;
  for (size_t s = 0; s < a.states.size(); ++s) {
    if (a.states[s].final) n.finals.push_back(int(s));
    std::map<int32_t, ByteSet> targets;
    for (const auto& edge : a.states[s].edges) {
      for (unsigned b = edge.first; b <= edge.last; ++b) targets[edge.to].set(b);
    }
    for (const auto& [to, set] : targets) n.connect(int(s), to, bytes(set));
  }
  return network(std::move(n));
}

bool accepts(const Automaton& a, std::string_view text) {
  if (a.empty()) return false;
  int32_t at = a.start;
  for (const char c : text) {
    const auto& edges = a.states[size_t(at)].edges;
    const auto edge =
        std::find_if(edges.begin(), edges.end(), [&](const auto& e) { return e.first <= uint8_t(c) && uint8_t(c) <= e.last; });
    if (edge == edges.end()) return false;
    at = edge->to;
  }
  return a.states[size_t(at)].final;
}

}  // namespace hearth::text::grammar
