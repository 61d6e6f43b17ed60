// What a grammar is made of: expressions over bytes, and rules that refer to each other. Every front end (GBNF, regular expressions, JSON
// schemas, choices, tags) returns `Rules`, and callers put them together with the functions below:
//
//   Rules tool = in_sequence({free_text_before("<tool_call>"), embed(json_schema(arguments)), text("</tool_call>")});
//
// Expressions are immutable and share their parts.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::text::grammar {

struct Expression;
using Expr = std::shared_ptr<const Expression>;
using ByteSet = std::bitset<256>;

// A range of code points, both ends included.
struct CharRange {
  char32_t first, last;
};

struct Rule {
  std::string name;  // for messages
  Expr body;
  bool shared = false;  // never merged into its callers: the masks of its states serve every grammar that has the same rule
};

// A complete grammar before compilation. `call(i)` in a body refers to rules[i] of the same Rules.
struct Rules {
  std::vector<Rule> rules;
  int root = 0;
};

// A finite automaton whose edges are labeled with expressions; a null label is an edge that consumes nothing.
struct Network {
  struct Edge {
    int from, to;
    Expr label;
  };
  int states = 0, start = 0;
  std::vector<Edge> edges;
  std::vector<int> finals;

  int add_state() { return states++; }
  void connect(int from, int to, Expr label = nullptr) { edges.push_back({from, to, std::move(label)}); }
};

struct Expression {
  enum class Kind { text, bytes, sequence, choice, repeat, call, embedded, network };
  Kind kind;
  std::string text;                       // text
  ByteSet bytes;                          // bytes: one of these
  std::vector<Expr> parts;                // sequence, choice; repeat: one part
  int min = 0, max = 0;                   // repeat; max < 0: without limit
  int rule = 0;                           // call
  std::shared_ptr<const Rules> embedded;  // embedded: the root of another grammar
  Network network;                        // network
};

Expr text(std::string_view literal);  // exactly these bytes; "" is the empty text
Expr bytes(const ByteSet& set);       // one byte; the empty set matches nothing
// One character in UTF-8, in any of the ranges. Surrogates are left out, because UTF-8 cannot encode them.
Expr characters(std::span<const CharRange> ranges);
Expr any_character();
Expr sequence(std::vector<Expr> parts);
Expr choice(std::vector<Expr> parts);  // no parts: matches nothing
// `part` min to max times, max < 0 without limit.
Expr repeat(Expr part, int min, int max);
Expr optional(Expr part);
Expr call(int rule);
Expr embed(Rules rules);
Expr network(Network network);

// The ranges sorted, joined, without surrogates and without what is above U+10FFFF; `inverted`: all other characters.
std::vector<CharRange> normalized(std::span<const CharRange> ranges, bool inverted = false);

// Rules with this one expression as root.
Rules only(std::string name, Expr body);

// One of the texts, exactly. UsageError if there are none.
Rules choices(std::span<const std::string> texts);

// Text in UTF-8 that contains `trigger` only as its end: whatever a model may say before the trigger, and the trigger. UsageError if the
// trigger is empty or not UTF-8.
Expr text_until(std::string_view trigger);
// Text in UTF-8 that contains none of the triggers; with no triggers, any text.
Expr text_without(std::span<const std::string> triggers);

}  // namespace hearth::text::grammar
