// Ranges and multiples of numbers, as automata over their decimal texts.
#pragma once

#include <string>
#include <string_view>

#include "text/grammar/automaton.h"

namespace hearth::text::grammar::schema {

// ±whole.fraction, exactly.
struct Decimal {
  bool negative = false;  // never for zero
  std::string whole;      // "0" or without zeros in front
  std::string fraction;   // without zeros at the end

  // Of a JSON number, with or without an exponent of at most ±400.
  static Decimal parse(std::string_view json);
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};
int compare(const Decimal& a, const Decimal& b);  // −1, 0, 1

constexpr size_t max_number_states = 20'000;

// Texts -?whole(.fraction)? without an exponent; integers: -?whole, and no "-0". At most `digits` digits on either side of the point.
Automaton decimal_texts(bool integers, int digits);
// All texts -?whole(.fraction)? with a value of at least (at most) `bound`, or, if it is excluded, more (less).
Automaton at_least(const Decimal& bound, bool excluded);
Automaton at_most(const Decimal& bound, bool excluded);
// Those that are a multiple of `factor`, which is positive, with no more digits behind the point than it has. UnsupportedError if that
// needs more than max_number_states; `what` begins the message.
Automaton multiples(const Decimal& factor, std::string_view what);

}  // namespace hearth::text::grammar::schema
