// The compiled form of a grammar: a network of states in which rules call each other, as tables.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "text/grammar/expression.h"

namespace hearth::text::grammar {

// 128 bits of content, so that equal content can be recognized by its hash alone.
struct Hash {
  uint64_t a = 0x243f6a8885a308d3u, b = 0x13198a2e03707344u;
  void add(uint64_t value);
  void add(std::string_view bytes);
  void add(const Hash& other) {
    add(other.a);
    add(other.b);
  }
  auto operator<=>(const Hash&) const = default;
};

struct Program {
  struct Call {
    int32_t rule;
    int32_t next;  // the state after it
    bool operator==(const Call&) const = default;
  };
  // What a byte leads to, if it is more than one state: the byte was consumed by this rule (targets), or a called rule consumes it.
  struct Fork {
    std::vector<int32_t> targets;
    std::vector<Call> calls;
  };
  struct RuleInfo {
    std::string name;
    int32_t start, states;  // its states are start … start + states − 1, and it begins in the first
    int32_t level;          // above that of all rules that may call it before they consume a byte
    Hash hash;              // of all that its states can lead to, before the rule returns
  };
  static constexpr uint32_t fork_bit = 0x80000000u;
  static constexpr uint16_t endless_run = 0xffff;
  // Bytes that JSON strings, and most texts, may contain in any order.
  static constexpr bool is_plain(uint8_t byte) { return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\'; }

  uint32_t action(int32_t state, uint8_t byte) const { return actions[size_t(state) * size_t(classes) + class_of[byte]]; }

  // Bytes in the same class lead to the same everywhere. actions[state * classes + class]: 0 nothing, fork_bit | index of a fork, else
  // 1 + the next state.
  std::array<uint8_t, 256> class_of{};
  int32_t classes = 0;
  std::vector<uint32_t> actions;
  std::vector<Fork> forks;
  std::vector<uint8_t> final;    // per state: the rule may end here
  std::vector<uint8_t> leaf;     // per state: the rule must end here
  std::vector<int32_t> rule_of;  // per state
  // Per state: so many plain bytes may follow, whichever they are, without the rule ending; endless_run if any number may.
  std::vector<uint16_t> plain_run;
  std::vector<RuleInfo> rules;    // rules[0] is the root
  std::vector<int32_t> by_level;  // rules, callers first
  bool nullable = false;          // the empty text is complete
  Hash hash;                      // equal for equal grammars
};

// UnsupportedError for left recursion, for a grammar that no finite text matches, and for one with too many states; UsageError for a call
// of a rule that does not exist. Time is bounded by the size of the grammar, with repetitions written out, of which the limit is 2^20
// states.
Program compile(const Rules& rules);

}  // namespace hearth::text::grammar
