#include "text/grammar/gbnf.h"

#include "support/complaint.h"
#include "text/grammar/grammar_test.h"

namespace hearth::text::grammar {
namespace {

using hearth::test::complaint_of;
using test::accepts_any_tokenization;

Grammar from(std::string_view text) { return Grammar(gbnf(text)); }

std::string refusal(std::string_view text) {
  return complaint_of([&] { Grammar{gbnf(text)}; });
}

const char* const json = R"gbnf(
# JSON in the style of llama.cpp's examples
root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
)gbnf";

const char* const arithmetic = R"gbnf(root ::= (expr "=" ws term "\n")+
expr ::= term ([-+*/] term)*
term ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num ::= [0-9]+ ws
ws ::= [ \t\n]*
)gbnf";

const char* const list = R"gbnf(root ::= item+
# Excludes various line breaks
item ::= "- " [^\r\n\x0b\x0c\x85\u2028\u2029]+ "\n")gbnf";

const char* const chess = R"gbnf(
root ::= "1. " move " " move "\n" ([1-9] [0-9]? ". " move " " move "\n")+
move ::= (pawn | nonpawn | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
)gbnf";

TEST(gbnf, json) {
  const Grammar g = from(json);
  for (const char* text :
       {"{}", R"({"a": 1})", "{ \"a\":[1,2.5,{\"b\":\"\\u00e9\\n\"}],\n  \"c\": null}", R"({"日本":"😀"})", R"({"x":-0.5e+1})"}) {
    EXPECT_TRUE(g.matches(text)) << text;
    EXPECT_TRUE(accepts_any_tokenization(g, text)) << text;
  }
  for (const char* text : {"", "[]", "{", R"({"a"})", R"({"a":1,})", R"({"a":"\x"})", "{\"a\":\"\n\"}", "{\"a\":\"\xff\"}",
                           "{\"a\":\"\xed\xa0\x80\"}", R"({"a":1}})"})
    EXPECT_FALSE(g.matches(text)) << text;
}

TEST(gbnf, arithmetic) {
  const Grammar g = from(arithmetic);
  EXPECT_TRUE(accepts_any_tokenization(g, "((1+x_1)*2) -3=7\na=b\n"));
  EXPECT_FALSE(g.matches("(1+2=3\n"));
  EXPECT_FALSE(g.matches("1+=3\n"));
  EXPECT_FALSE(g.matches("1=3"));
}

TEST(gbnf, list_of_lines) {
  const Grammar g = from(list);
  EXPECT_TRUE(accepts_any_tokenization(g, "- the first\n- é 日本\n"));
  EXPECT_FALSE(g.matches("- a\xe2\x80\xa8\n"));  // U+2028
  EXPECT_FALSE(g.matches("- a\xc2\x85\n"));
  EXPECT_TRUE(g.matches("- a\xc2\x86\n"));
  EXPECT_FALSE(g.matches("-a\n"));
}

TEST(gbnf, chess) {
  const Grammar g = from(chess);
  EXPECT_TRUE(accepts_any_tokenization(g, "1. e4 e5\n2. Nf3 Nc6\n3. O-O-O exd5+\n"));
  EXPECT_FALSE(g.matches("1. e4 e5\n"));
  EXPECT_FALSE(g.matches("1. e9 e5\n2. e4 e5\n"));
}

TEST(gbnf, masks_equal_the_attempt_to_accept_each_token) {
  for (const char* text : {json, arithmetic, list, chess}) {
    const Grammar g = from(text);
    for (unsigned seed = 0; seed < 6; ++seed) {
      const auto drawn = test::random_text(g, seed, 15, 60, true);
      EXPECT_TRUE(!drawn || g.matches(*drawn)) << *drawn;
    }
  }
}

TEST(gbnf, syntax) {
  const auto matches = [](std::string_view grammar, std::string_view text) { return from(grammar).matches(text); };
  EXPECT_TRUE(matches("root ::= a-b_1 # rule\na-b_1 ::= \"x\"", "x"));
  EXPECT_TRUE(matches("root ::= \"a\" |\n \"b\"", "b"));
  EXPECT_TRUE(matches("root ::= \"a\"\n | \"b\"", "b"));
  EXPECT_TRUE(matches("root ::=\r\n  \"a\"\r\nb ::= \"c\"\r\n", "a"));
  EXPECT_TRUE(matches("root ::= \"\\x41\\u00e9\\U0001F600\\t\\\\\\\"\"", "Aé😀\t\\\""));
  EXPECT_TRUE(matches("root ::= [\\]\\-^\\\\]+", "]-^\\"));
  EXPECT_TRUE(matches("root ::= [a-]{2}", "-a"));
  EXPECT_TRUE(matches("root ::= .", "日"));
  EXPECT_FALSE(matches("root ::= .", "\xe6\x97"));
  EXPECT_TRUE(matches("root ::= \"ab\"{2,3} \"c\"{0} \"d\"{1,}", "ababdd"));
  EXPECT_FALSE(matches("root ::= \"ab\"{2,3}", "ab"));
  EXPECT_FALSE(matches("root ::= \"ab\"{2,3}", "abababab"));
  EXPECT_TRUE(matches("root ::= \"\" | \"a\"", ""));
  EXPECT_TRUE(matches("root ::= (\"a\"?)*", "aaa"));
  EXPECT_TRUE(matches("root ::= [^a]", "é"));
  EXPECT_FALSE(matches("root ::= [^a-y]", "b"));
  EXPECT_FALSE(matches("root ::= [é-ü]", "a"));
  EXPECT_TRUE(matches("root ::= [é-ü]", "ö"));
}

TEST(gbnf, errors_state_line_and_column) {
  EXPECT_EQ(refusal("root ::= \"a\"\nx = 1"), "UsageError: gbnf: line 2, column 3: expected '::=' after the name of a rule");
  EXPECT_EQ(refusal("root ::= \"é\" b"), "UsageError: gbnf: line 1, column 14: the rule 'b' is not defined");
  EXPECT_EQ(refusal("root ::= \"a\nb\""), "UsageError: gbnf: line 1, column 12: the line ends inside a literal or class");
  EXPECT_EQ(refusal("root ::= (\"a\""), "UsageError: gbnf: line 1, column 10: the group is not closed, expected ')'");
  EXPECT_EQ(refusal("root ::= \"a\"\nroot ::= \"b\""), "UsageError: gbnf: line 2, column 1: the rule 'root' is defined twice");
  EXPECT_EQ(refusal("x ::= \"a\""), "UsageError: gbnf: line 1, column 10: there is no rule 'root'");
  EXPECT_EQ(refusal("root ::= [b-a]"), "UsageError: gbnf: line 1, column 11: a range whose end is before its start");
  EXPECT_EQ(refusal("root ::= \"a\"{3,2}"), "UsageError: gbnf: line 1, column 13: the repetition has a maximum below its minimum");
  EXPECT_EQ(refusal("root ::= \"\\q\""), "UsageError: gbnf: line 1, column 12: an unknown escape");
  EXPECT_EQ(refusal("root ::= \"\\ud800\""), "UsageError: gbnf: line 1, column 17: a code point that is no character");
  EXPECT_EQ(refusal("root ::= <think>"), "UnsupportedError: gbnf: tokens (<…>) are not supported, expected their text as a literal");
  EXPECT_EQ(refusal("root ::= \"a\" )"), "UsageError: gbnf: line 1, column 14: expected the end of the rule, or a part of it");
  EXPECT_EQ(refusal(std::string(300, '(')), "UsageError: gbnf: line 1, column 1: expected the name of a rule");
  EXPECT_EQ(refusal("root ::= " + std::string(300, '(')), "UnsupportedError: gbnf: groups are nested more than 200 deep, expected fewer");
}

TEST(gbnf, left_recursion_is_refused_by_name) {
  EXPECT_EQ(refusal("root ::= x\nx ::= root \"a\" | \"b\""),
            "UnsupportedError: grammar: left recursion, rule 'x' calls itself before it consumes anything (x → root → x), expected right "
            "recursion");
  EXPECT_NE(refusal("root ::= e root \"a\" | \"b\"\ne ::= \"x\"?"), "");  // hidden behind what may be empty
  EXPECT_EQ(refusal("root ::= \"a\" root | \"b\""), "");
}

TEST(gbnf, endless_grammars_are_refused) {
  EXPECT_EQ(refusal("root ::= \"a\" root"), "UnsupportedError: grammar: no finite text matches rule 'root', expected one that can end");
  EXPECT_EQ(refusal("root ::= [^\\x00-\\U0010ffff]"),
            "UnsupportedError: grammar: no finite text matches rule 'root', expected one that can end");
  // A branch without an end is never entered.
  const Grammar g = from("root ::= \"a\" x | \"b\"\nx ::= \"c\" x");
  EXPECT_EQ(GrammarState(g).forced(), "b");
}

TEST(gbnf, large_repetitions_are_refused) {
  EXPECT_NE(refusal("root ::= (((\"a\"{1000}){1000}){1000}){1000}"), "");
  EXPECT_EQ(refusal("root ::= \"a\"{200000}"), "UnsupportedError: gbnf: a repetition of more than 100000, expected fewer");
}

}  // namespace
}  // namespace hearth::text::grammar
