#include "text/grammar/json_rules.h"

#include <map>
#include <utility>

namespace hearth::text::grammar {
namespace {

ByteSet from_to(unsigned first, unsigned last) {
  ByteSet set;
  for (unsigned b = first; b <= last; ++b) set.set(b);
  return set;
}

Expr digits(int min, int max) { return repeat(bytes(from_to('0', '9')), min, max); }

Expr hex_digit(std::string_view of = "0123456789abcdefABCDEF") {
  ByteSet set;
  for (const char c : of) set.set(uint8_t(c));
  return bytes(set);
}

// Behind the backslash.
Expr escape_rest() {
  ByteSet letters;
  for (const char c : std::string_view("\"\\/bfnrt")) letters.set(uint8_t(c));
  const Expr hex = hex_digit(), d = hex_digit("dD");
  const Expr low = sequence({d, hex_digit("cdefCDEF"), hex, hex}), high = sequence({d, hex_digit("89abAB"), hex, hex});
  const Expr other = choice({sequence({hex_digit("0123456789abcefABCEF"), hex, hex, hex}), sequence({d, hex_digit("01234567"), hex, hex})});
  return choice({bytes(letters), sequence({text("u"), choice({other, sequence({high, text("\\u"), low})})})});
}

ByteSet plain_ascii() {
  ByteSet set = from_to(0x20, 0x7f);
  set.reset('"');
  set.reset('\\');
  return set;
}

Expr wide_character() { return characters(std::vector<CharRange>{{0x80, 0x10ffff}}); }

}  // namespace

int JsonRules::declare(std::string name, bool shared) {
  rules.rules.push_back({std::move(name), nullptr, shared});
  return int(rules.rules.size()) - 1;
}

template <class Make> Expr JsonRules::once(int& rule, const char* name, const Make& make) {
  if (rule < 0) {
    rule = declare(name, true);
    define(rule, make());
  }
  return call(rule);
}

Expr JsonRules::gap() {
  if (options_.whitespace == Whitespace::compact) return text("");
  return optional(once(gap_, "white space", [] {
    ByteSet blank;
    blank.set(' ');
    blank.set('\t');
    return choice({text(" "), sequence({repeat(text("\n"), 1, 2), repeat(bytes(blank), 0, 40)})});
  }));
}

Expr JsonRules::string() {
  return once(string_, "string", [] {
    const Expr character = choice({bytes(plain_ascii()), wide_character(), sequence({text("\\"), escape_rest()})});
    return sequence({text("\""), repeat(character, 0, -1), text("\"")});
  });
}

Expr JsonRules::string_character() {
  const Expr wide = once(wide_, "character", wide_character), escape = once(escape_, "escape", escape_rest);
  return choice({bytes(plain_ascii()), wide, sequence({text("\\"), escape})});
}

Expr JsonRules::integer() {
  return once(integer_, "integer", [] {
    const Expr positive = sequence({bytes(from_to('1', '9')), digits(0, 17)});
    return choice({text("0"), sequence({optional(text("-")), positive})});
  });
}

Expr JsonRules::number() {
  return once(number_, "number", [] {
    const Expr whole = choice({text("0"), sequence({bytes(from_to('1', '9')), digits(0, 17)})});
    const Expr e = hex_digit("eE"),
               exponent = choice({sequence({e, optional(text("+")), digits(1, 2)}), sequence({e, text("-"), digits(1, 3)})});
    return sequence({optional(text("-")), whole, optional(sequence({text("."), digits(1, 18)})), optional(exponent)});
  });
}

Expr JsonRules::value() {
  if (value_ < 0) {
    value_ = declare("value", true);
    define(value_, choice({string(), number(), text("true"), text("false"), text("null"), object(), array()}));
  }
  return call(value_);
}

Expr JsonRules::object() {
  if (object_ < 0) {
    object_ = declare("object", true);
    const Expr member = sequence({string(), text(":"), gap(), value()});
    const Expr more = repeat(sequence({text(","), gap(), member}), 0, -1);
    define(object_, sequence({text("{"), optional(sequence({gap(), member, more, gap()})), text("}")}));
  }
  return call(object_);
}

Expr JsonRules::array() {
  if (array_ < 0) {
    array_ = declare("array", true);
    const Expr more = repeat(sequence({text(","), gap(), value()}), 0, -1);
    define(array_, sequence({text("["), optional(sequence({gap(), value(), more, gap()})), text("]")}));
  }
  return call(array_);
}

Rules json_value(const JsonOptions& options) {
  JsonRules json(options);
  const Expr root = json.value();
  json.rules.root = root->rule;
  return std::move(json.rules);
}

Rules json_object(const JsonOptions& options) {
  JsonRules json(options);
  const Expr root = json.object();
  json.rules.root = root->rule;
  return std::move(json.rules);
}

namespace {

// What stands behind the backslash for a byte that needs one.
std::vector<Expr> escapes_of(uint8_t byte) {
  if (byte == '"' || byte == '\\') return {text(std::string(1, char(byte)))};
  std::vector<Expr> out;
  static constexpr std::pair<char, char> letters[] = {{'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};
  for (const auto& [control, letter] : letters) {
    if (char(byte) == control) out.push_back(text(std::string(1, letter)));
  }
  static constexpr std::string_view lower = "0123456789abcdef", upper = "0123456789ABCDEF";
  const std::string both{lower[byte % 16], upper[byte % 16]};
  out.push_back(sequence({text(byte < 16 ? "u000" : "u001"), hex_digit(both)}));
  return out;
}

}  // namespace

Expr escaped(const Automaton& value) {
  Network n;
  n.states = std::max(1, int(value.states.size()));
  n.start = value.start;
  for (size_t s = 0; s < value.states.size(); ++s) {
    if (value.states[s].final) n.finals.push_back(int(s));
    std::map<int32_t, ByteSet> direct;
    std::map<int32_t, std::vector<Expr>> behind_backslash;
    for (const auto& e : value.states[s].edges) {
      for (unsigned b = e.first; b <= e.last; ++b) {
        if (b >= 0x20 && b != '"' && b != '\\') {
          direct[e.to].set(b);
        } else {
          for (Expr& escape : escapes_of(uint8_t(b))) behind_backslash[e.to].push_back(std::move(escape));
        }
      }
    }
    for (const auto& [to, set] : direct) n.connect(int(s), to, bytes(set));
    if (behind_backslash.empty()) continue;
    const int after = n.add_state();
    n.connect(int(s), after, text("\\"));
    for (auto& [to, escapes] : behind_backslash) n.connect(after, to, choice(std::move(escapes)));
  }
  return network(std::move(n));
}

}  // namespace hearth::text::grammar
