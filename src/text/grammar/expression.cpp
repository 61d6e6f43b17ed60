#include "text/grammar/expression.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"

namespace hearth::text::grammar {
namespace {

std::shared_ptr<Expression> make(Expression::Kind kind) {
  auto e = std::make_shared<Expression>();
  e->kind = kind;
  return e;
}

ByteSet byte_range(unsigned first, unsigned last) {
  ByteSet set;
  for (unsigned b = first; b <= last; ++b) set.set(b);
  return set;
}

// Appends sequences of byte ranges that together match first…last, which have encodings of the same length.
void split_range(char32_t first, char32_t last, std::vector<Expr>& out) {
  std::string low, high;
  append_utf8(low, first);
  append_utf8(high, last);
  const size_t n = low.size();
  // Where the encodings of a range differ in a byte, all later bytes must run over their whole range: split until they do.
  for (size_t i = 1; i < n; ++i) {
    const char32_t block = char32_t(1) << (6 * i);
    if (first / block == last / block) continue;
    if (first % block != 0) {
      split_range(first, first | (block - 1), out);
      return split_range((first | (block - 1)) + 1, last, out);
    }
    if (last % block != block - 1) {
      split_range(first, last / block * block - 1, out);
      return split_range(last / block * block, last, out);
    }
  }
  std::vector<Expr> parts;
  for (size_t i = 0; i < n; ++i) parts.push_back(bytes(byte_range(uint8_t(low[i]), uint8_t(high[i]))));
  out.push_back(sequence(std::move(parts)));
}

}  // namespace

Expr text(std::string_view literal) {
  auto e = make(Expression::Kind::text);
  e->text = literal;
  return e;
}

Expr bytes(const ByteSet& set) {
  auto e = make(Expression::Kind::bytes);
  e->bytes = set;
  return e;
}

std::vector<CharRange> normalized(std::span<const CharRange> ranges, bool inverted) {
  std::vector<CharRange> sorted;
  for (const auto& [first, last] : ranges) {
    const auto cut = [&](char32_t low, char32_t high) {
      const char32_t f = std::max(first, low), l = std::min(last, high);
      if (f <= l) sorted.push_back({f, l});
    };
    cut(0, 0xd7ff);
    cut(0xe000, 0x10ffff);
  }
  std::sort(sorted.begin(), sorted.end(), [](const CharRange& a, const CharRange& b) { return a.first < b.first; });
  std::vector<CharRange> joined;
  for (const CharRange& r : sorted) {
    if (!joined.empty() && r.first <= joined.back().last + 1) joined.back().last = std::max(joined.back().last, r.last);
    else joined.push_back(r);
  }
  if (!inverted) return joined;
  std::vector<CharRange> others;
  char32_t next = 0;
  for (const auto& [first, last] : joined) {
    if (first > next) others.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= 0x10ffff) others.push_back({next, 0x10ffff});
  return normalized(others);
}

Expr characters(std::span<const CharRange> ranges) {
  ByteSet ascii;
  std::vector<Expr> parts;
  for (const auto& [first, last] : normalized(ranges)) {
    for (char32_t c = first; c <= std::min<char32_t>(last, 0x7f); ++c) ascii.set(c);
    for (const auto& [low, high] : {std::pair<char32_t, char32_t>{0x80, 0x7ff}, {0x800, 0xffff}, {0x10000, 0x10ffff}}) {
      const char32_t f = std::max(first, low), l = std::min(last, high);
      if (f <= l) split_range(f, l, parts);
    }
  }
  if (parts.empty()) return bytes(ascii);
  if (ascii.any()) parts.insert(parts.begin(), bytes(ascii));
  return choice(std::move(parts));
}

Expr any_character() {
  static const Expr any = characters(std::vector<CharRange>{{0, 0x10ffff}});
  return any;
}

Expr sequence(std::vector<Expr> parts) {
  if (parts.size() == 1) return parts[0];
  auto e = make(Expression::Kind::sequence);
  e->parts = std::move(parts);
  return e;
}

Expr choice(std::vector<Expr> parts) {
  if (parts.size() == 1) return parts[0];
  auto e = make(Expression::Kind::choice);
  e->parts = std::move(parts);
  return e;
}

Expr repeat(Expr part, int min, int max) {
  auto e = make(Expression::Kind::repeat);
  e->parts.push_back(std::move(part));
  e->min = min;
  e->max = max;
  return e;
}

Expr optional(Expr part) { return repeat(std::move(part), 0, 1); }

Expr call(int rule) {
  auto e = make(Expression::Kind::call);
  e->rule = rule;
  return e;
}

Expr embed(Rules rules) {
  auto e = make(Expression::Kind::embedded);
  e->embedded = std::make_shared<const Rules>(std::move(rules));
  return e;
}

Expr network(Network network) {
  auto e = make(Expression::Kind::network);
  e->network = std::move(network);
  return e;
}

Rules only(std::string name, Expr body) {
  Rules rules;
  rules.rules.push_back({std::move(name), std::move(body)});
  return rules;
}

Rules choices(std::span<const std::string> texts) {
  if (texts.empty()) fail<UsageError>("choices: the list is empty, expected at least one text");
  std::vector<Expr> parts;
  for (const std::string& t : texts) parts.push_back(text(t));
  return only("choices", choice(std::move(parts)));
}

}  // namespace hearth::text::grammar
