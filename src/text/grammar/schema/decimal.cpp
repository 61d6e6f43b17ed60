#include "text/grammar/schema/decimal.h"

#include <algorithm>
#include <cstdlib>

#include "core/error.h"

namespace hearth::text::grammar::schema {
namespace {

Expr digit(char first, char last) {
  ByteSet set;
  for (char c = first; c <= last; ++c) set.set(uint8_t(c));
  return bytes(set);
}
Expr digit() { return digit('0', '9'); }
Expr digits(int min, int max) { return repeat(digit(), min, max); }
Expr any_whole() { return choice({text("0"), sequence({digit('1', '9'), digits(0, -1)})}); }
Expr any_fraction() { return optional(sequence({text("."), digits(1, -1)})); }

// Whole numbers that are larger (smaller) than n: those with its digits up to some place, and those with more (fewer) digits.
Expr whole_beyond(const std::string& n, bool larger) {
  std::vector<Expr> parts;
  for (size_t i = 0; i < n.size(); ++i) {
    const char low = larger ? char(n[i] + 1) : i == 0 && n.size() > 1 ? '1' : '0';
    const char high = larger ? '9' : char(n[i] - 1);
    const int rest = int(n.size() - i) - 1;
    if (low <= high) parts.push_back(sequence({text(n.substr(0, i)), digit(low, high), digits(rest, rest)}));
  }
  if (larger) {
    parts.push_back(sequence({digit('1', '9'), digits(int(n.size()), -1)}));
  } else if (n.size() > 1) {
    parts.push_back(choice({text("0"), sequence({digit('1', '9'), digits(0, int(n.size()) - 2)})}));
  }
  return choice(std::move(parts));
}

// The point and the digits behind it, or nothing, beyond .f or equal to it.
Expr fraction_beyond(const std::string& f, bool larger, bool excluded) {
  std::vector<Expr> parts;
  for (size_t i = 0; i < f.size(); ++i) {
    const char low = larger ? char(f[i] + 1) : '0', high = larger ? '9' : char(f[i] - 1);
    if (low <= high) parts.push_back(sequence({text("." + f.substr(0, i)), digit(low, high), digits(0, -1)}));
    if (!larger) parts.push_back(text(i == 0 ? "" : "." + f.substr(0, i)));  // f ends in a digit that is not 0
  }
  const Expr zeros = repeat(text("0"), 0, -1), point = text("." + f);
  if (larger && excluded) parts.push_back(sequence({point, zeros, digit('1', '9'), digits(0, -1)}));
  if (larger && !excluded) parts.push_back(f.empty() ? any_fraction() : sequence({point, digits(0, -1)}));
  if (!larger && !excluded) parts.push_back(f.empty() ? optional(sequence({text(".0"), zeros})) : sequence({point, zeros}));
  return choice(std::move(parts));
}

// Texts without a sign.
Expr magnitude_beyond(const Decimal& bound, bool larger, bool excluded) {
  return choice({sequence({whole_beyond(bound.whole, larger), any_fraction()}),
                 sequence({text(bound.whole), fraction_beyond(bound.fraction, larger, excluded)})});
}

Expr any_magnitude() { return sequence({any_whole(), any_fraction()}); }

Automaton compiled(const Expr& e) { return automaton_of(e, max_number_states, "schema: the bounds of a number"); }

}  // namespace

Decimal Decimal::parse(std::string_view json) {
  Decimal d;
  const auto e = std::min(json.find_first_of("eE"), json.size());
  const int exponent = e < json.size() ? std::atoi(std::string(json.substr(e + 1)).c_str()) : 0;
  std::string_view mantissa = json.substr(0, e);
  d.negative = mantissa.starts_with('-');
  if (d.negative) mantissa.remove_prefix(1);
  const auto point = std::min(mantissa.find('.'), mantissa.size());
  std::string all(mantissa.substr(0, point));
  int before = int(all.size()) + exponent;
  if (point < mantissa.size()) all += mantissa.substr(point + 1);
  if (before < 0) {
    all.insert(0, size_t(-before), '0');
    before = 0;
  }
  if (size_t(before) > all.size()) all.append(size_t(before) - all.size(), '0');
  d.whole = all.substr(0, size_t(before));
  d.fraction = all.substr(size_t(before));
  d.whole.erase(0, d.whole.find_first_not_of('0') == std::string::npos ? d.whole.size() : d.whole.find_first_not_of('0'));
  if (d.whole.empty()) d.whole = "0";
  while (d.fraction.ends_with('0')) d.fraction.pop_back();
  if (d.is_zero()) d.negative = false;
  return d;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = 0;
  if (a.whole.size() != b.whole.size()) order = a.whole.size() < b.whole.size() ? -1 : 1;
  else if (const int c = a.whole.compare(b.whole); c != 0) order = c < 0 ? -1 : 1;
  else if (const int f = a.fraction.compare(b.fraction); f != 0) order = f < 0 ? -1 : 1;
  return a.negative ? -order : order;
}

Automaton decimal_texts(bool integers, int limit) {
  const Expr positive = sequence({digit('1', '9'), digits(0, limit - 1)}), minus = optional(text("-"));
  if (integers) return compiled(choice({text("0"), sequence({minus, positive})}));
  return compiled(sequence({minus, choice({text("0"), positive}), optional(sequence({text("."), digits(1, limit)}))}));
}

Automaton at_least(const Decimal& bound, bool excluded) {
  if (!bound.negative) return compiled(magnitude_beyond(bound, true, excluded));
  return compiled(choice({any_magnitude(), sequence({text("-"), magnitude_beyond(bound, false, excluded)})}));
}

Automaton at_most(const Decimal& bound, bool excluded) {
  if (bound.negative) return compiled(sequence({text("-"), magnitude_beyond(bound, true, excluded)}));
  const Expr below_zero = sequence({text("-"), bound.is_zero() && excluded ? magnitude_beyond(bound, true, true) : any_magnitude()});
  return compiled(choice({below_zero, magnitude_beyond(bound, false, excluded)}));
}

// With a factor of n · 10⁻ᵏ, a number of j digits behind the point is a multiple if its digits, as an integer D, fulfill D · 10ᵏ⁻ʲ ≡ 0 (mod
// n).
Automaton multiples(const Decimal& factor, std::string_view what) {
  const std::string digits_of = (factor.whole == "0" ? "" : factor.whole) + factor.fraction;
  const size_t k = factor.fraction.size();
  size_t n = 0;
  for (const char c : digits_of) {
    n = n * 10 + size_t(c - '0');
    if (n > max_number_states) break;
  }
  if (n * (k + 1) + 2 > max_number_states)
    fail<UnsupportedError>("{}: multiples of {}.{} need more than {} states, expected a simpler factor", what, factor.whole,
                           factor.fraction, max_number_states);
  std::vector<size_t> power(k + 1, 1 % n);  // 10^j mod n
  for (size_t j = 1; j <= k; ++j) power[j] = power[j - 1] * 10 % n;

  // State 2 + j · n + r: j digits behind the point, residue r; then a state behind the point for each r. A leading zero is followed by no
  // digit, which decimal_texts sees to.
  Automaton a;
  a.states.resize(2 + n * (k + 1));
  const auto state = [&](size_t j, size_t r) { return int32_t(2 + j * n + r); };
  const auto add_digits = [&](size_t from, size_t j, size_t r) {
    for (size_t d = 0; d < 10; ++d) {
      const auto byte = uint8_t('0' + d);
      a.states[from].edges.push_back({byte, byte, -1, state(j, (r * 10 + d) % n)});
    }
  };
  a.states[0].edges.push_back({'-', '-', -1, 1});
  add_digits(0, 0, 0);
  add_digits(1, 0, 0);
  for (size_t j = 0; j <= k; ++j) {
    for (size_t r = 0; r < n; ++r) a.states[size_t(state(j, r))].final = r * power[k - j] % n == 0;
  }
  for (size_t r = 0; r < n; ++r) add_digits(size_t(state(0, r)), 0, r);
  if (k > 0) {
    const size_t points = a.states.size();
    a.states.resize(points + n);
    for (size_t r = 0; r < n; ++r) {
      a.states[size_t(state(0, r))].edges.insert(a.states[size_t(state(0, r))].edges.begin(), {'.', '.', -1, int32_t(points + r)});
      add_digits(points + r, 1, r);
      for (size_t j = 1; j < k; ++j) add_digits(size_t(state(j, r)), j + 1, r);
    }
  }
  return minimized(trimmed(a));
}

}  // namespace hearth::text::grammar::schema
