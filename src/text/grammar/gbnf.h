// GBNF, the grammar language of llama.cpp.
//
//   root  ::= "answer: " (word | number) ("," ws number)* [.!]?    # a comment
//   word  ::= [a-zA-Zäöü]{1,10}
//   number ::= "-"? [0-9]+
//   ws    ::= [ \t\n]*
//
// Literals, classes with ranges and ^, "." for any character, groups, * + ? {m} {m,} {m,n}, alternatives. Escapes: \n \r \t \\ \" \[ \] \-
// \^ \xNN \uNNNN \UNNNNNNNN, all of code points. A rule ends with its line, unless the line ends inside a group, with "|" or "::=", or the
// next line starts with "|". The rule "root" is the whole text.
#pragma once

#include <string_view>

#include "text/grammar/expression.h"

namespace hearth::text::grammar {

// UsageError "gbnf: line 3, column 7: …" for a syntax error, for a rule that is not defined or defined twice, and for a missing root;
// UnsupportedError for llama.cpp's tokens (<…>), for a text of more than 1 MiB, groups that are nested more than 200 deep, and repetitions
// of more than 10^5. compile() refuses left recursion.
Rules gbnf(std::string_view text);

}  // namespace hearth::text::grammar
