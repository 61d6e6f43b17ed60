#include <algorithm>
#include <deque>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/grammar/automaton.h"
#include "text/grammar/expression.h"

namespace hearth::text::grammar {
namespace {

constexpr size_t max_search_states = 100'000;

// Aho & Corasick 1975: reads any bytes; its states know which prefix of a trigger was read last. A trigger that is complete has no edges.
struct Search {
  std::vector<std::array<int32_t, 256>> next;
  std::vector<char> found;

  explicit Search(std::span<const std::string> triggers) {
    add_state();
    for (const std::string& t : triggers) {
      if (t.empty() || !is_utf8(t)) fail<UsageError>("free text: a trigger is empty or not UTF-8, expected some text in UTF-8");
      size_t at = 0;
      for (const char c : t) {
        int32_t& to = next[at][uint8_t(c)];
        if (to < 0) {
          const auto fresh = int32_t(next.size());
          to = fresh;
          add_state();  // moves `to`
          at = size_t(fresh);
        } else {
          at = size_t(to);
        }
        if (next.size() > max_search_states)
          fail<UnsupportedError>("free text: the triggers have more than {} bytes, expected fewer", max_search_states);
      }
      found[at] = 1;
    }
    std::vector<int32_t> fallback(next.size(), 0);
    std::deque<int32_t> queue;
    for (auto& to : next[0]) {
      if (to < 0) to = 0;
      else queue.push_back(to);
    }
    while (!queue.empty()) {
      const auto s = size_t(queue.front());
      queue.pop_front();
      found[s] |= found[size_t(fallback[s])];
      for (size_t b = 0; b < 256; ++b) {
        const int32_t other = next[size_t(fallback[s])][b];
        if (next[s][b] < 0) {
          next[s][b] = other;
        } else {
          fallback[size_t(next[s][b])] = other;
          queue.push_back(next[s][b]);
        }
      }
    }
  }

  void add_state() {
    next.emplace_back().fill(-1);
    found.push_back(0);
  }

  // The texts that end with the first trigger in them, or those without any.
  Automaton automaton(bool until) const {
    Automaton a;
    for (size_t s = 0; s < next.size(); ++s) {
      Automaton::State state;
      state.final = (found[s] != 0) == until;
      for (unsigned b = 0; b < 256 && found[s] == 0; ++b) {
        const int32_t to = next[s][b];
        if (!state.edges.empty() && state.edges.back().to == to) state.edges.back().last = uint8_t(b);
        else state.edges.push_back({uint8_t(b), uint8_t(b), -1, to});
      }
      a.states.push_back(std::move(state));
    }
    return product(automaton_of(repeat(any_character(), 0, -1), 100, "free text"), trimmed(a), Product::both, max_search_states,
                   "free text");
  }
};

}  // namespace

Expr text_until(std::string_view trigger) {
  const std::string one(trigger);
  return expression_of(Search(std::span(&one, 1)).automaton(true));
}

Expr text_without(std::span<const std::string> triggers) { return expression_of(Search(triggers).automaton(false)); }

}  // namespace hearth::text::grammar
