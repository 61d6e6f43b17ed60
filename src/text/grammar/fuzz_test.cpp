// Random damage to grammars, patterns and schemas: each compiles or is refused with one of our errors, and what compiles has exact masks.
// Worth most under sanitizers.
#include <nlohmann/json.hpp>

#include "hearth/error.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/grammar_test.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/regex.h"

namespace hearth::text::grammar {
namespace {

std::string damaged(std::mt19937& random, std::string text, const std::vector<std::string>& pieces) {
  for (size_t n = 1 + random() % 4; n > 0; --n) {
    const size_t at = text.empty() ? 0 : random() % text.size();
    switch (random() % 5) {
      case 0: text.erase(at, 1 + random() % 4); break;
      case 1: text.insert(at, 1, char(random())); break;
      case 2: text.insert(at, pieces[random() % pieces.size()]); break;
      case 3: text.insert(at, text.substr(text.empty() ? 0 : random() % text.size(), random() % 12)); break;
      default:
        if (!text.empty()) text[at] = pieces[random() % pieces.size()][0];
    }
  }
  return text;
}

// Returns whether it compiled.
bool survives(const std::function<Rules()>& make, unsigned seed) {
  try {
    const Grammar g(make());
    std::mt19937 random(seed);
    GrammarState state(g);
    for (int i = 0; i < 8; ++i) {
      if (i % 4 == 0) test::expect_exact_mask(state);
      const auto mask = state.mask(test::vocabulary());
      std::vector<int32_t> allowed;
      for (size_t id = 0; id < mask->size(); ++id) {
        if ((*mask)[id]) allowed.push_back(int32_t(id));
      }
      if (!state.accept_token(test::vocabulary(), allowed[random() % allowed.size()]) || state.is_finished()) break;
    }
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    return false;
  }
}

TEST(fuzz, gbnf) {
  const std::vector<std::string> pieces{"::=",  "|",      "(",     ")",    "*", "+",  "?", "{2}", "{0,3}",
                                        "{9,}", "[^a-z]", "\"x\"", "root", "b", "\n", "#", ".",   "\\u00e9"};
  std::mt19937 random(1);
  int compiled = 0;
  for (unsigned i = 0; i < 400; ++i) {
    const std::string text =
        damaged(random, "root ::= a | b \"x\" [0-9]+\na ::= \"(\" root \")\" b?\nb ::= [a-f]{1,3} (\"-\" b)*\n", pieces);
    compiled += survives([&] { return gbnf(text); }, i);
  }
  EXPECT_GT(compiled, 20);
}

TEST(fuzz, regex) {
  const std::vector<std::string> pieces{"(",   ")", "|", "*", "+?",  "{1,3}", "[^",     "]", "\\d",
                                        "\\u", "^", "$", ".", "(?:", "(?=",   "\\p{L}", "é", "\\"};
  std::mt19937 random(2);
  int compiled = 0;
  for (unsigned i = 0; i < 400; ++i) {
    const std::string text = damaged(random, "^([a-z]+|\\d{2,4})-(?:x|[^\\s]?)(y$|z)", pieces);
    compiled += survives([&] { return only("regex", regex(text, i % 2 == 0 ? RegexMatch::whole : RegexMatch::search)); }, i);
  }
  EXPECT_GT(compiled, 20);
}

TEST(fuzz, schemas) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":["integer","string"],"minimum":3,"maxLength":4},"b":{"$ref":"#/$defs/x"},"c":{"enum":[1,"é",null]}},)"
      R"("required":["a"],"$defs":{"x":{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"boolean"}]},"maxItems":3}},"additionalProperties":false})";
  const std::vector<std::string> pieces{"1",
                                        "-",
                                        "0.5",
                                        "1e9",
                                        "true",
                                        "null",
                                        "[]",
                                        "{}",
                                        "\"type\"",
                                        "\"oneOf\":[{},{}],",
                                        "\"allOf\":[{\"$ref\":\"#\"}],",
                                        "\"minItems\":2,",
                                        "\"pattern\":\"^a\",",
                                        "\"contains\":{},",
                                        "\"minProperties\":2,",
                                        ",",
                                        ":",
                                        "\""};
  std::mt19937 random(3);
  int compiled = 0, sound = 0;
  for (unsigned i = 0; i < 600; ++i) {
    const std::string text = damaged(random, schema, pieces);
    sound += nlohmann::json::accept(text);
    compiled += survives([&] { return json_schema_text(text); }, i);
  }
  EXPECT_GT(sound, 40);
  EXPECT_GT(compiled, 4);
}

TEST(fuzz, what_would_explode_is_refused_in_time) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "{\"items\":";
  EXPECT_FALSE(survives([&] { return json_schema_text(deep); }, 0));
  EXPECT_FALSE(survives([&] { return json_schema_text(deep + "{}" + std::string(5000, '}')); }, 0));
  std::string branches = R"({"allOf":[)";
  for (int i = 0; i < 12; ++i) branches += std::string(i > 0 ? "," : "") + R"({"anyOf":[{"minimum":1},{"maximum":2},{"minLength":1}]})";
  EXPECT_FALSE(survives([&] { return json_schema_text(branches + "]}"); }, 0));
  EXPECT_FALSE(survives(
      [&] {
        return json_schema_text(
            R"({"type":"array","items":{"type":"string","maxLength":99999},"maxItems":99999,"contains":{},"minContains":99999})");
      },
      0));
  EXPECT_FALSE(survives([&] { return only("x", regex("((((a{100}){100}){100}){100})", RegexMatch::search)); }, 0));
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 3000; ++i)
    chain += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + " | \"b\" r" + std::to_string(i + 1) + "\n";
  EXPECT_TRUE(survives([&] { return gbnf(chain + "r3000 ::= \"c\"\n"); }, 0));
  // Expressions that share their parts are exponentially large only when they are written out.
  Expr shared = text("a");
  for (int i = 0; i < 60; ++i) shared = sequence({shared, shared});
  EXPECT_FALSE(survives([&] { return only("x", shared); }, 0));
}

}  // namespace
}  // namespace hearth::text::grammar
