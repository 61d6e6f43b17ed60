#include "text/grammar/regex.h"

#include <regex>

#include "support/complaint.h"
#include "text/grammar/grammar_test.h"
#include "text/tokenizer/regex.h"

namespace hearth::text::grammar {
namespace {

using hearth::test::complaint_of;

Grammar from(std::string_view pattern, RegexMatch match = RegexMatch::whole) { return Grammar(only("regex", regex(pattern, match))); }

std::string refusal(std::string_view pattern) {
  return complaint_of([&] { regex(pattern, RegexMatch::search); });
}

bool whole(std::string_view pattern, std::string_view text) { return from(pattern).matches(text); }
bool found(std::string_view pattern, std::string_view text) { return from(pattern, RegexMatch::search).matches(text); }

TEST(regex, whole_and_search) {
  EXPECT_TRUE(whole("a+", "aaa"));
  EXPECT_FALSE(whole("a+", "xaaa"));
  EXPECT_TRUE(found("a+", "xaaax"));
  EXPECT_FALSE(found("^a+", "xaaa"));
  EXPECT_TRUE(found("^a+", "aaax"));
  EXPECT_TRUE(found("a$", "xa"));
  EXPECT_FALSE(found("a$", "ax"));
  EXPECT_TRUE(whole("^a$", "a"));
  EXPECT_TRUE(found("", "anything\n"));
  EXPECT_TRUE(found("^$", ""));
  EXPECT_FALSE(found("^$", "x"));
}

TEST(regex, anchors_anywhere) {
  EXPECT_TRUE(found("^a|b$", "ax"));
  EXPECT_TRUE(found("^a|b$", "xb"));
  EXPECT_FALSE(found("^a|b$", "xax"));
  EXPECT_TRUE(found("(^|-)x", "a-x"));
  EXPECT_TRUE(found("(^|-)x", "xa"));
  EXPECT_FALSE(found("(^|-)x", "ax"));
  EXPECT_TRUE(found("a(b|$)", "xa"));
  EXPECT_TRUE(found("a(b|$)", "abx"));
  EXPECT_FALSE(found("a(b|$)", "ax"));
  EXPECT_TRUE(found("a?^b", "bx"));
  EXPECT_FALSE(found("a?^b", "ab"));
  EXPECT_TRUE(found("b$a*", "xb"));
  EXPECT_FALSE(found("b$a*", "ba"));
  EXPECT_TRUE(found("(^a)?b", "xb"));
  EXPECT_TRUE(found("^^a$$", "a"));
  EXPECT_EQ(refusal("(^a)*"),
            "UnsupportedError: regex: column 1: ^ or $ in a part that is repeated is not supported, expected a pattern without it");
}

TEST(regex, characters_are_code_points) {
  EXPECT_TRUE(whole(".", "日"));
  EXPECT_TRUE(whole("[^a]", "😀"));
  EXPECT_TRUE(whole(".{2}", "é日"));
  EXPECT_FALSE(whole(".{2}", "日"));
  EXPECT_FALSE(whole(".", "\n") || whole(".", "\xe2\x80\xa8"));
  EXPECT_TRUE(whole("\\s", "\xe3\x80\x80"));
  EXPECT_TRUE(whole("\\ud83d\\ude00\\u{1F600}\\x41\\cA", "😀😀A\x01"));
  EXPECT_TRUE(whole("\\p{Lu}\\P{Lu}\\p{Script=Greek}", "Éxα"));
  EXPECT_FALSE(whole("\\p{Lu}", "x"));
  EXPECT_TRUE(whole("[]|a", "a"));
  EXPECT_TRUE(whole("[^]", "\n"));
  EXPECT_TRUE(whole("[\\]\\-a-c\\d_]+", "]-b7_"));
  EXPECT_TRUE(whole("(?<year>\\d{4})-(?:\\d\\d)", "2024-12"));
  EXPECT_TRUE(whole("a{,2}x{", "a{,2}x{"));
  EXPECT_TRUE(whole("\\/\\@\\\"\\.", "/@\"."));
}

TEST(regex, refusals) {
  EXPECT_EQ(refusal("a(?=b)"), "UnsupportedError: regex: column 2: lookahead is not supported, expected a pattern without it");
  EXPECT_EQ(refusal("(?<!b)"), "UnsupportedError: regex: column 1: lookbehind is not supported, expected a pattern without it");
  EXPECT_EQ(refusal("(a)\\1"), "UnsupportedError: regex: column 4: a backreference is not supported, expected a pattern without it");
  EXPECT_EQ(refusal("\\bx"), "UnsupportedError: regex: column 1: \\b is not supported, expected a pattern without it");
  EXPECT_EQ(refusal("(?i)x"), "UnsupportedError: regex: column 1: a group with flags is not supported, expected a pattern without it");
  EXPECT_EQ(refusal("\\p{Klingon}"),
            "UnsupportedError: regex: column 1: the property 'Klingon' is not supported, expected a pattern without it");
  EXPECT_EQ(refusal("a{200000}"), "UnsupportedError: regex: a repetition of more than 100000, expected fewer");
  EXPECT_EQ(refusal("(a"), "UsageError: regex: column 1: the group is not closed, expected ')'");
  EXPECT_EQ(refusal("a)"), "UsageError: regex: column 2: an unmatched ')'");
  EXPECT_EQ(refusal("*a"), "UsageError: regex: column 1: a repetition of nothing");
  EXPECT_EQ(refusal("a**"), "UsageError: regex: column 1: a repetition of a repetition, expected a group");
  EXPECT_EQ(refusal("[b-a]"), "UsageError: regex: column 2: an invalid range");
  EXPECT_EQ(refusal("é[a"), "UsageError: regex: column 2: the class is not closed, expected ']'");
  EXPECT_EQ(refusal("a{3,2}"), "UsageError: regex: column 7: a repetition whose maximum is below its minimum");
  EXPECT_EQ(refusal("\\y"), "UsageError: regex: column 1: an unknown escape");
}

// A random pattern of constructs that mean the same to all three implementations. Nothing is repeated without limit inside of what is,
// because the other two backtrack.
std::string random_pattern(std::mt19937& random, bool inner = false) {
  static const char* const atoms[] = {"a", "b", "c", "[ab]", "[^a]", "\\d", "\\w", "x", "1", "[a-c1]", "\\."};
  static const char* const counts[] = {"", "", "", "?", "{2}", "{1,2}", "{0,3}", "*", "+", "{2,}", "*?"};
  std::string out;
  for (size_t n = 1 + random() % 3; n > 0; --n) {
    const bool group = !inner && random() % 3 == 0;
    out += group ? "(" + random_pattern(random, true) + "|" + random_pattern(random, true) + ")" : atoms[random() % std::size(atoms)];
    out += counts[random() % (inner ? 6 : std::size(counts))];
  }
  return out;
}

std::string random_input(std::mt19937& random) {
  std::string text;
  for (size_t n = random() % 9; n > 0; --n) text += "aaabbc1x._"[random() % 10];
  return text;
}

bool onig_finds(const std::string& pattern, const std::string& text) { return !pipeline::Regex(pattern).find_all(text).empty(); }

TEST(regex, agrees_with_two_other_implementations_on_random_patterns) {
  std::mt19937 random(1);
  size_t matches = 0;
  for (int i = 0; i < 300; ++i) {
    std::string pattern = random_pattern(random);
    if (random() % 4 == 0) pattern = "^" + pattern;
    if (random() % 4 == 0) pattern += "$";
    if (random() % 6 == 0) pattern = "(^|b)" + pattern + "($|a)";
    const Grammar searching = from(pattern, RegexMatch::search);
    const std::regex other(pattern, std::regex::ECMAScript);
    for (int k = 0; k < 40; ++k) {
      const std::string text = random_input(random);
      const bool expected = std::regex_search(text, other);
      matches += expected;
      ASSERT_EQ(searching.matches(text), expected) << pattern << " in '" << text << "'";
      ASSERT_EQ(onig_finds(pattern, text), expected) << pattern << " in '" << text << "'";
    }
    const Grammar all = from("(" + pattern + ")");
    for (int k = 0; k < 10; ++k) {
      const std::string text = random_input(random);
      ASSERT_EQ(all.matches(text), std::regex_match(text, other)) << pattern << " on '" << text << "'";
    }
  }
  EXPECT_GT(matches, 1000u);
}

TEST(regex, random_texts_match) {
  for (const char* pattern : {"^[A-Z]{2}-\\d{3,5}$", "(foo|bar)+baz?", "^\\p{L}+@[a-z]+\\.(com|org)$", "a.{0,5}é", "(a|b)*a(a|b){12}"}) {
    for (const RegexMatch match : {RegexMatch::whole, RegexMatch::search}) {
      const Grammar g = from(pattern, match);
      for (unsigned seed = 0; seed < 4; ++seed) {
        const auto drawn = test::random_text(g, seed, 10, 60, true);
        if (!drawn) continue;
        EXPECT_TRUE(onig_finds(match == RegexMatch::whole ? "\\A(?:" + std::string(pattern) + ")\\z" : pattern, *drawn))
            << pattern << ": " << *drawn;
      }
    }
  }
}

TEST(regex, what_would_need_too_many_states_stays_nondeterministic) {
  const Grammar g = from("(a|b)*a(a|b){40}");
  EXPECT_TRUE(g.matches("b" + std::string(41, 'a')));
  EXPECT_FALSE(g.matches("a" + std::string(40, 'b') + "b"));
  EXPECT_LT(g.program().final.size(), 1000u);
}

}  // namespace
}  // namespace hearth::text::grammar
