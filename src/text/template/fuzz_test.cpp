// Short deterministic fuzzing: templates with random damage, templates put together from pieces of others, and damaged messages. Whatever
// comes out, it is a text or one of our errors, within the limits. Worth most under sanitizers.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/files/file.h"
#include "core/text/utf8.h"
#include "hearth/error.h"
#include "support/golden.h"
#include "text/template/chat_template.h"
#include "text/template/syntax/lexer.h"
#include "text/template/template.h"
#include "text/template/values/json.h"
#include "text/unicode.h"

namespace hearth::text::jinja {
namespace {

using Random = std::mt19937;  // its numbers, unlike those of the distributions, are the same everywhere

size_t below(Random& random, size_t n) { return random() % n; }

struct Corpus {
  std::vector<std::string> templates, messages;
  Dict variables;
};

const Corpus& corpus() {
  static const Corpus all = [] {
    Corpus c;
    const auto folder = test::folder_of(__FILE__) / "golden";
    std::ifstream chats(folder / "chats.json"), snippets(folder / "snippets.json");
    const auto chat_json = nlohmann::ordered_json::parse(chats), snippet_json = nlohmann::ordered_json::parse(snippets);
    for (const auto& row : chat_json["cases"])
      c.templates.push_back(read_file(folder / "templates" / (row[0].get<std::string>() + ".jinja")));
    for (const auto& row : snippet_json["cases"]) c.templates.push_back(row[0]);
    for (const auto& [name, request] : chat_json["requests"].items()) c.messages.push_back(request["messages"].dump());
    c.variables = read_json(snippet_json["variables"].dump(), "variables").entries();
    for (const char* name : {"one question", "tool used"})
      c.variables.set(name[0] == 'o' ? "messages" : "more", read_json(chat_json["requests"][name]["messages"].dump(), name));
    c.variables.set("tools", read_json(chat_json["requests"]["tools offered"]["tools"].dump(), "tools"));
    return c;
  }();
  return all;
}

// What damage is made of: the words, signs and numbers that an engine could stumble over.
std::string random_piece(Random& random) {
  static const std::string_view hot[] = {"{{",
                                         "}}",
                                         "{%",
                                         "%}",
                                         "{#",
                                         "#}",
                                         "-",
                                         "+",
                                         "{%- for x in list %}",
                                         "loop",
                                         "{% else %}",
                                         "{% endif %}",
                                         "{% endfor %}",
                                         "|",
                                         "|map('upper')",
                                         "|list",
                                         "|tojson",
                                         "|join",
                                         "(",
                                         ")",
                                         "[",
                                         "]",
                                         "[::-1]",
                                         "[-1]",
                                         ":",
                                         ",",
                                         ".",
                                         "ns.x",
                                         "namespace(x=[])",
                                         "range(99999)",
                                         "9223372036854775807",
                                         "-1",
                                         "0",
                                         "1e308",
                                         "* 1000000",
                                         "//",
                                         "%",
                                         "'%s'",
                                         "'%d'",
                                         "~",
                                         "not",
                                         "in",
                                         "is",
                                         "is defined",
                                         "none",
                                         "missing",
                                         "messages",
                                         "messages[0]",
                                         "d",
                                         "s",
                                         "emoji",
                                         "\"",
                                         "'",
                                         "\\",
                                         "\\u12",
                                         "\n",
                                         "\r\n",
                                         " ",
                                         "\xc3\xa9",
                                         "\xf0\x9f\x98\x80",
                                         "\xff",
                                         "\xc2\xa0",
                                         "{% raw %}",
                                         "{% endraw %}",
                                         "{% set x = x ~ x %}",
                                         "{% macro f(a=1) %}",
                                         "{{ f(f) }}",
                                         "caller()",
                                         "|sort",
                                         "|indent(999999)",
                                         ".format",
                                         ".split('')",
                                         ".replace('', 'xx')",
                                         "|round(400)"};
  return std::string(hot[below(random, std::size(hot))]);
}

void damage(std::string& text, Random& random) {
  for (size_t n = 1 + below(random, 4); n > 0 && !text.empty(); --n) {
    const size_t at = below(random, text.size());
    switch (below(random, 6)) {
      case 0: text[at] = char(random()); break;
      case 1: text.erase(at, 1 + below(random, 20)); break;
      case 2: text.insert(at, text.substr(below(random, text.size()), below(random, 60))); break;
      case 3: text.resize(at); break;
      default: text.insert(at, random_piece(random)); break;
    }
  }
}

// A row of whole tokens of templates: gets past the parser far more often than damaged bytes.
std::string recombined(Random& random) {
  const auto& templates = corpus().templates;
  std::string out = "{{ ";
  for (size_t n = 1 + below(random, 12); n > 0; --n) {
    try {
      const auto tokens = tokenize(templates[below(random, templates.size())]);
      const size_t from = below(random, tokens.size());
      for (size_t i = from; i < std::min(tokens.size(), from + 1 + below(random, 6)); ++i) {
        const Token& token = tokens[i];
        if (token.type == Token::Type::text)
          out += "'" + (token.text.find_first_of("'\\\n") == std::string::npos ? token.text : "t") + "' ";
        else if (token.type == Token::Type::name || token.type == Token::Type::symbol) out += token.text + " ";
        else if (token.type == Token::Type::integer) out += "3 ";
        else if (token.type == Token::Type::print_end) out += "}}{{ ";
      }
    } catch (const TemplateError&) { continue; }
  }
  return out + " }}";
}

struct Tally {
  int rendered = 0, refused = 0, limited = 0;
};

void try_template(const std::string& source, Tally& tally) {
  const Environment small{.limits = {.steps = 100'000, .bytes = 2'000'000}};
  const auto begin = std::chrono::steady_clock::now();
  try {
    const std::string text = Template::parse(source, "fuzz").render(corpus().variables, small);
    ++tally.rendered;
    ASSERT_TRUE(is_utf8(text)) << "no valid UTF-8 from\n" << source;
  } catch (const TemplateError& e) {
    ++(e.kind == Failure::limit ? tally.limited : tally.refused);
    ASSERT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    ASSERT_GT(e.line, 0) << source;
  } catch (const Error& e) {  // IoError, UnsupportedError
    ++tally.refused;
    ASSERT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
  }
  // A thousand times what the slowest one takes.
  ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << source;
}

TEST(Fuzz, damaged_templates) {
  Random random(1);
  Tally tally;
  for (int i = 0; i < 6000; ++i) {
    std::string source = corpus().templates[below(random, corpus().templates.size())];
    damage(source, random);
    ASSERT_NO_FATAL_FAILURE(try_template(source, tally));
  }
  EXPECT_GT(tally.rendered, 500);
  EXPECT_GT(tally.refused, 1000);
}

TEST(Fuzz, recombined_expressions) {
  Random random(2);
  Tally tally;
  for (int i = 0; i < 6000; ++i) ASSERT_NO_FATAL_FAILURE(try_template(recombined(random), tally));
  EXPECT_GT(tally.rendered, 100);
  EXPECT_GT(tally.refused, 1000);
}

// Every filter and method with arguments of every kind.
TEST(Fuzz, arguments_of_every_kind) {
  static const char* values[] = {"none",
                                 "missing",
                                 "true",
                                 "0",
                                 "-1",
                                 "3",
                                 "9223372036854775807",
                                 "1e300",
                                 "''",
                                 "'é'",
                                 "'name'",
                                 "[]",
                                 "[1, 'a']",
                                 "(1, 2)",
                                 "{}",
                                 "{'a': 1}",
                                 "d",
                                 "people",
                                 "range(3)",
                                 "list|map('string')",
                                 "namespace()",
                                 "s.upper",
                                 "'<'|safe"};
  static const char* filters[] = {"abs",     "capitalize", "count",  "d",      "default",    "dictsort", "e",          "first",
                                  "float",   "format",     "indent", "int",    "items",      "join",     "last",       "length",
                                  "list",    "lower",      "map",    "max",    "min",        "reject",   "rejectattr", "replace",
                                  "reverse", "round",      "safe",   "select", "selectattr", "sort",     "string",     "sum",
                                  "title",   "tojson",     "trim",   "unique", "upper"};
  static const char* methods[] = {"strip",   "split",   "rsplit", "splitlines", "startswith", "endswith", "removeprefix", "upper",
                                  "title",   "replace", "join",   "find",       "rindex",     "count",    "partition",    "format",
                                  "isdigit", "index",   "keys",   "items",      "get",        "append",   "isalnum"};
  Tally tally;
  Random random(3);
  const auto value = [&] { return std::string(values[below(random, std::size(values))]); };
  for (int i = 0; i < 20000; ++i) {
    std::string arguments;
    for (size_t n = below(random, 4); n > 0; --n) arguments += (arguments.empty() ? "" : ", ") + value();
    const bool is_method = random() & 1;
    const std::string call = is_method ? std::string(".") + methods[below(random, std::size(methods))]
                                       : std::string("|") + filters[below(random, std::size(filters))];
    const std::string tail = random() & 1 ? "|list" : "";
    ASSERT_NO_FATAL_FAILURE(try_template("{{ (" + value() + ")" + call + "(" + arguments + ")" + tail + " }}", tally));
  }
  EXPECT_GT(tally.rendered, 2000);
  EXPECT_GT(tally.refused, 5000);
}

TEST(Fuzz, damaged_messages) {
  Random random(4);
  const auto folder = test::folder_of(__FILE__) / "golden/templates";
  std::vector<ChatTemplate> chats;
  for (const char* name : {"llama31_tools", "qwen3_thinking", "parts_and_calls", "mistral_v3_tools"})
    chats.emplace_back(ChatTemplate({{"default", read_file(folder / (std::string(name) + ".jinja"))}}, {}, name));
  int rendered = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string messages = corpus().messages[below(random, corpus().messages.size())];
    damage(messages, random);
    try {
      const std::string text =
          chats[below(random, chats.size())].render({.messages = messages, .continue_final_message = (random() & 3) == 0});
      ++rendered;
      ASSERT_TRUE(is_utf8(text));
    } catch (const Error& e) {
      ++refused;
      ASSERT_EQ(std::string_view(e.what()).find('\n'), std::string_view::npos) << e.what();
    }
  }
  EXPECT_GT(rendered, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hearth::text::jinja
