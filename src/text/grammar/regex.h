// Regular expressions as JSON schemas write them: ECMAScript with the flag u, as far as it is regular.
//
// Alternatives, groups (also named), classes, . \d \D \w \W \s \S \p{…} \P{…}, escapes of characters, * + ? {m} {m,} {m,n} (also lazy,
// which is the same language), ^ and $. As there, \d and \w are ASCII, \s is Unicode's white space, and "." is no line break. Lenient like
// its flag-less mode: "{" that begins no repetition, "]" and "}" are themselves, and so is a backslash with any punctuation.
#pragma once

#include <string_view>

#include "text/grammar/expression.h"

namespace hearth::text::grammar {

enum class RegexMatch {
  whole,   // the pattern matches all of the text; ^ and $ are allowed where that changes nothing
  search,  // the pattern matches somewhere, as JSON schemas mean it
};

// The texts in UTF-8 that the pattern matches. UsageError "regex: column 7: …" (characters from 1) for a syntax error; UnsupportedError for
// what is not regular (lookahead, lookbehind, backreferences), for \b and \B, flags, surrogates, ^ and $ in a part that is repeated, groups
// nested more than 200 deep, repetitions of more than 10^5, and patterns of more than 65536 bytes.
Expr regex(std::string_view pattern, RegexMatch match);

}  // namespace hearth::text::grammar
