#include "text/grammar/grammar.h"

#include <thread>

#include "support/complaint.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/grammar_cache.h"
#include "text/grammar/grammar_test.h"

namespace hearth::text::grammar {
namespace {

using hearth::test::complaint_of;
using test::vocabulary;

Grammar from(std::string_view text) { return Grammar(gbnf(text)); }

std::vector<std::string> allowed(const GrammarState& state) {
  std::vector<std::string> out;
  const auto mask = state.mask(vocabulary());
  for (size_t id = 0; id < vocabulary().size(); ++id) {
    if ((*mask)[id]) out.push_back(vocabulary().is_end(int32_t(id)) ? "END" : vocabulary().token(int32_t(id)));
  }
  return out;
}

TEST(grammar_state, masks_by_hand) {
  const Grammar g = from("root ::= \"ab\" (\"c\" | \"\")");
  GrammarState state(g);
  EXPECT_EQ(allowed(state), (std::vector<std::string>{"a", "ab", "abc"}));
  EXPECT_TRUE(state.accept("a"));
  EXPECT_EQ(allowed(state), (std::vector<std::string>{"b"}));
  EXPECT_FALSE(state.accept("bd"));
  EXPECT_FALSE(state.is_complete());
  EXPECT_TRUE(state.accept("b"));
  EXPECT_EQ(allowed(state), (std::vector<std::string>{"c", "END"}));
  EXPECT_TRUE(state.accept("c"));
  EXPECT_EQ(allowed(state), (std::vector<std::string>{"END"}));
  EXPECT_TRUE(state.accept_token(vocabulary(), int32_t(vocabulary().size()) - 1));
  EXPECT_TRUE(state.is_finished());
  EXPECT_FALSE(state.accept("c"));
  EXPECT_EQ(allowed(state), (std::vector<std::string>{"END"}));
}

TEST(grammar_state, characters_may_be_split_between_tokens) {
  GrammarState state(from("root ::= \"日\""));
  EXPECT_EQ(allowed(state), (std::vector<std::string>{"\xe6", "\xe6\x97"}));
  EXPECT_TRUE(state.accept("\xe6\x97"));
  EXPECT_FALSE(state.is_complete());
  EXPECT_EQ(allowed(state), (std::vector<std::string>{"\xa5", "\xa5"}));  // the vocabulary has this token twice
}

TEST(grammar_state, copies_are_independent) {
  GrammarState state(from("root ::= \"(\" root \")\" | \"x\""));
  EXPECT_TRUE(state.accept("(("));
  GrammarState ahead = state;
  EXPECT_TRUE(ahead.accept("x))"));
  EXPECT_TRUE(ahead.is_complete());
  EXPECT_FALSE(state.is_complete());
  EXPECT_TRUE(state.accept("(x)))"));
  EXPECT_TRUE(state.is_complete());
}

TEST(grammar_state, forced_bytes) {
  GrammarState state(from("root ::= \"{\\\"name\\\": \" [0-9] \"}\""));
  EXPECT_EQ(state.forced(), "{\"name\": ");
  EXPECT_EQ(state.forced(3), "{\"n");
  EXPECT_TRUE(state.accept("{\"name\": 1"));
  EXPECT_EQ(state.forced(), "}");
}

TEST(grammar_state, ambiguity_costs_no_exponential_time) {
  const Grammar doubled = from("root ::= s\ns ::= \"a\" s s | \"a\" s | \"a\"");
  const Grammar palindromes = from("root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"a\" | \"b\"");
  GrammarState d(doubled), p(palindromes);
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(d.accept("a"));
    ASSERT_TRUE(p.accept(i % 3 ? "a" : "b"));
    if (i % 10 == 0) {
      test::expect_exact_mask(d);
      test::expect_exact_mask(p);
    }
  }
  EXPECT_TRUE(d.is_complete());
}

TEST(grammar_state, right_recursion_does_not_nest) {
  GrammarState state(from("root ::= item root | item\nitem ::= \"a\" | \"(\" root \")\""));
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(state.accept("a"));
  EXPECT_TRUE(state.is_complete());
}

TEST(grammar_state, nesting_has_a_limit) {
  const Grammar lists = from("root ::= \"[\" (root (\",\" root)*)? \"]\"");
  GrammarState list(lists, {.depth = 40});
  while (complaint_of([&] { list.accept("["); }).empty()) test::expect_exact_mask(list);
  EXPECT_EQ(allowed(list), (std::vector<std::string>{"]", "],"}));
  EXPECT_TRUE(list.accept(std::string(40, ']')));
  EXPECT_TRUE(list.is_complete());

  // Where nothing but another level may follow, there is no token left.
  const Grammar parentheses = from("root ::= \"(\" root \")\" | \"x\"");
  GrammarState state(parentheses, {.depth = 20});
  EXPECT_TRUE(state.accept(std::string(20, '(')));
  EXPECT_EQ(complaint_of([&] { state.mask(vocabulary()); }),
            "UnsupportedError: grammar: the text has reached the nesting limit of 20 rules");
  EXPECT_EQ(complaint_of([&] { state.accept("x"); }), "UnsupportedError: grammar: the text has reached the nesting limit of 20 rules");
  EXPECT_FALSE(state.accept("y"));
}

TEST(grammar_state, nesting_at_the_largest_limit) {
  GrammarState state(from("root ::= \"(\" root? \")\""), {.depth = Limits::max_depth});
  EXPECT_TRUE(state.accept(std::string(Limits::max_depth, '(')));
  EXPECT_TRUE(state.accept(std::string(Limits::max_depth, ')')));
  EXPECT_TRUE(state.is_complete());
  EXPECT_NE(complaint_of([&] { GrammarState(from("root ::= \"x\""), {.depth = Limits::max_depth + 1}); }), "");
}

TEST(grammar_state, too_many_readings_are_refused) {
  GrammarState state(from("root ::= \"(\" root \")\"? | \"x\""), {.items = 8});
  EXPECT_TRUE(state.accept("(((((((x"));
  state = GrammarState(from("root ::= \"(\" root \")\"? | \"x\""), {.items = 8});
  EXPECT_EQ(complaint_of([&] { state.accept("((((((((((x"); }),
            "UnsupportedError: grammar: the text has more than 8 readings, expected a grammar that is less ambiguous");
}

TEST(grammar_state, a_vocabulary_that_cannot_continue_is_refused) {
  const VocabularyIndex only_a({"a", "<eos>"}, {1});
  GrammarState state(from("root ::= \"ab\""));
  EXPECT_EQ((*state.mask(only_a)).count(), 1u);
  EXPECT_TRUE(state.accept_token(only_a, 0));
  EXPECT_EQ(complaint_of([&] { state.mask(only_a); }),
            "UnsupportedError: grammar: no token of the vocabulary can follow here, expected one for every byte that may");
}

TEST(vocabulary_index, duplicates_and_empty_tokens) {
  const VocabularyIndex v({"a", "", "a", "ab", "<eos>"}, {4});
  GrammarState state(from("root ::= \"a\" \"b\"?"));
  const auto mask = state.mask(v);
  EXPECT_TRUE((*mask)[0] && (*mask)[2] && (*mask)[3]);
  EXPECT_FALSE((*mask)[1] || (*mask)[4]);
  EXPECT_NE(complaint_of([] { VocabularyIndex({"a"}, {1}); }), "");
  EXPECT_NE(complaint_of([&] { state.accept_token(v, 5); }), "");
}

TEST(vocabulary_index, requests_in_many_threads_share_masks) {
  const Grammar g = from("root ::= \"[\" (root (\", \" root)*)? \"]\" | \"\\\"\" [^\"]* \"\\\"\"");
  const VocabularyIndex v(test::small_vocabulary(), {int32_t(test::small_vocabulary().size()) - 1},
                          20'000);  // so small that masks are dropped
  std::vector<std::thread> threads;
  std::vector<size_t> counts(4, 0);
  for (size_t t = 0; t < counts.size(); ++t) {
    threads.emplace_back([&, t] {
      GrammarState state(g);
      for (const char c : std::string("[\"the\", [\"a\", []], \"日\"]")) {
        counts[t] = counts[t] * 31 + state.mask(v)->count();
        if (!state.accept(std::string(1, c))) counts[t] = 0;
      }
    });
  }
  for (auto& t : threads) t.join();
  for (const size_t c : counts) EXPECT_EQ(c, counts[0]);
  EXPECT_NE(counts[0], 0u);
}

TEST(grammar_cache, compiles_once_and_forgets_the_oldest) {
  GrammarCache cache(10'000);
  int compiled = 0;
  const auto get = [&](const std::string& source) {
    return cache.get("gbnf", source, [&] {
      ++compiled;
      return from(source);
    });
  };
  EXPECT_TRUE(get("root ::= \"a\"").matches("a"));
  EXPECT_TRUE(get("root ::= \"a\"").matches("a"));
  EXPECT_EQ(compiled, 1);
  EXPECT_NE(complaint_of([&] {
              get("root ::= ");
              get("root = 1");
            }),
            "");
  for (int i = 0; i < 50; ++i) get("root ::= \"" + std::to_string(i) + "\"");
  EXPECT_LT(cache.size(), 20u);
  compiled = 0;
  get("root ::= \"a\"");
  EXPECT_EQ(compiled, 1);
}

TEST(composition, calls_of_tools_in_free_text) {
  Rules call = only("call", sequence({text_until("<tool_call>"), embed(gbnf("root ::= \"{\" [a-z]+ \"}\"")), text("</tool_call>")}));
  const std::vector<std::string> triggers{"<tool_call>"};
  const Grammar g(only("answer", sequence({repeat(embed(call), 0, -1), text_without(triggers)})));
  for (const char* text :
       {"", "Hello <tool> 日本", "I call <tool_call>{abc}</tool_call>", "<tool_call>{a}</tool_call><tool_call>{b}</tool_call> done <"})
    EXPECT_TRUE(test::accepts_any_tokenization(g, text)) << text;
  for (const char* text : {"<tool_call>", "x<tool_call>{1}</tool_call>", "<<tool_call>no", "\xff"}) EXPECT_FALSE(g.matches(text)) << text;
  for (unsigned seed = 0; seed < 3; ++seed) test::random_text(g, seed, 10, 40, true);
}

TEST(composition, choices) {
  const std::vector<std::string> texts{"yes", "no", "not sure"};
  const Grammar g(choices(texts));
  EXPECT_TRUE(g.matches("no") && g.matches("not sure") && g.matches("yes"));
  EXPECT_FALSE(g.matches("not") || g.matches("") || g.matches("yesno"));
  EXPECT_NE(complaint_of([] { choices({}); }), "");
}

TEST(composition, triggers_that_overlap_themselves) {
  const Grammar g(only("x", text_until("aab")));
  EXPECT_TRUE(g.matches("aab") && g.matches("aaab") && g.matches("abaab"));
  EXPECT_FALSE(g.matches("aabaab") || g.matches("aa") || g.matches("aabx"));
  const std::vector<std::string> two{"ab", "bc"};
  const Grammar without(only("x", text_without(two)));
  EXPECT_TRUE(without.matches("ba") && without.matches("") && without.matches("acb"));
  EXPECT_FALSE(without.matches("abc") || without.matches("xbc") || without.matches("aab"));
}

}  // namespace
}  // namespace hearth::text::grammar
