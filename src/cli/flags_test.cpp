#include "cli/flags.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"

namespace hearth::cli {
namespace {

struct Values {
  std::string prompt, sampler, path;
  int64_t steps = 50;
  std::optional<int64_t> width;
  double scale = 7.5;
  bool json = false;

  void parse(const std::vector<std::string>& arguments) {
    Flags flags("draw", "Draws.");
    add_to(flags);
    EXPECT_TRUE(flags.parse(arguments));
  }
  void add_to(Flags& flags) {
    flags.text("path", "PATH", "A file", path);
    flags.text("-p,--prompt", "TEXT", "What to draw", prompt, "nothing");
    flags.integer("-s,--steps", "Steps", steps, {.low = 1, .high = 1000});
    flags.integer("-W,--width", "Pixels", width, "native");
    flags.number("--cfg-scale,--guidance", "Strength", scale);
    flags.choice("--sampler", "", "Which", sampler, {.names = {"ddim", "euler"}, .aliases = {"Euler Discrete"}}, "own");
    flags.toggle("--json", "For programs", json);
  }
};

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    Values().parse(arguments);
  } catch (const UsageError& e) { return e.what(); }
  return "accepted";
}

TEST(Flags, every_kind_and_spelling) {
  Values v;
  v.parse({"-p", "a cat", "--steps", "20", "-W512", "--guidance=3", "--sampler", "euler", "--json", "file"});
  EXPECT_EQ(v.prompt, "a cat");
  EXPECT_EQ(v.steps, 20);
  EXPECT_EQ(v.width, 512);
  EXPECT_EQ(v.scale, 3.0);
  EXPECT_EQ(v.sampler, "euler");
  EXPECT_EQ(v.path, "file");
  EXPECT_TRUE(v.json);
  Values alias;
  alias.parse({"--sampler", "Euler Discrete", "--cfg-scale", "2"});
  EXPECT_EQ(alias.sampler, "Euler Discrete");
  EXPECT_EQ(alias.scale, 2.0);
  Values none;
  none.parse({});
  EXPECT_EQ(none.steps, 50);
  EXPECT_FALSE(none.width);
  EXPECT_FALSE(none.json);
}

TEST(Flags, a_text_is_taken_as_it_is) {
  for (const std::string text : {"", " ", "[a, b]", "{a}", "-red", "--red", "a=b", "'q'", "\"q\"", "\\n", "%s {} {0}", "a\nb", "日本",
                                 "/x:y", "!x", "#c", "[]", "{}"}) {
    Values v;
    v.prompt = "before";
    v.parse({"--prompt", text});
    EXPECT_EQ(v.prompt, text);
    v.prompt = "before";
    v.parse({"--prompt=" + text});
    EXPECT_EQ(v.prompt, text);
  }
  Values flag_like;
  flag_like.parse({"--prompt=--steps"});
  EXPECT_EQ(flag_like.prompt, "--steps");
  Values after;
  after.parse({"--", "--steps"});
  EXPECT_EQ(after.path, "--steps");
  Values letter;
  letter.parse({"p"});
  EXPECT_EQ(letter.path, "p");
}

TEST(Flags, G66_what_is_wrong_is_said_with_its_name) {
  EXPECT_EQ(refusal({"--stpes", "5"}), "--stpes: unknown flag; did you mean --steps?");
  EXPECT_EQ(refusal({"--stpes=5"}), "--stpes: unknown flag; did you mean --steps?");
  EXPECT_EQ(refusal({"--lora", "x"}), "--lora: unknown flag");
  EXPECT_EQ(refusal({"-x"}), "-x: unknown flag");
  EXPECT_EQ(refusal({"-prompt", "x"}), "-prompt: unknown flag; did you mean --prompt?");
  EXPECT_EQ(refusal({"-prompt=x"}), "-prompt: unknown flag; did you mean --prompt?");
  EXPECT_EQ(refusal({"a", "b"}), "'b': unexpected argument (see hearth draw --help)");
  EXPECT_EQ(refusal({"a", "bc"}), "'bc': unexpected argument (see hearth draw --help)");
  EXPECT_EQ(refusal({"a", "b", "c"}), "'b': unexpected argument (see hearth draw --help)");
  EXPECT_EQ(refusal({"a", "-"}), "'-': unexpected argument (see hearth draw --help)");
  EXPECT_EQ(refusal({"--steps", "x"}), "--steps: 'x' is not a whole number");
  EXPECT_EQ(refusal({"-s", "0"}), "--steps: 0 is out of range, needed 1 to 1000");
  EXPECT_EQ(refusal({"--guidance", "x"}), "--cfg-scale: 'x' is not a number");
  EXPECT_EQ(refusal({"--sampler", "eulr"}), "--sampler: 'eulr' is unknown, needed one of ddim, euler; did you mean euler?");
  EXPECT_EQ(refusal({"--steps"}), "--steps: needs a value");
  EXPECT_EQ(refusal({"-p", "--steps", "5"}), "-p: needs a value, got the flag --steps");
  EXPECT_EQ(refusal({"--steps", "5", "--steps", "6"}), "--steps: given 2 times, needed once");
  EXPECT_EQ(refusal({"--steps", "5", "-s", "5"}), "--steps: given 2 times, needed once");
  EXPECT_EQ(refusal({"--cfg-scale", "5", "--guidance", "5"}), "--cfg-scale: given 2 times, needed once");
  EXPECT_NE(refusal({"--json=maybe"}), "accepted");
  Flags flags("draw", "Draws.");
  int64_t count = 1;
  flags.integer("count", "How many", count);
  try {
    flags.parse(std::vector<std::string>{"x"});
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& e) { EXPECT_STREQ(e.what(), "count: 'x' is not a whole number"); }
}

TEST(Flags, G65_help_shows_the_value_that_the_variable_has) {
  Values v;
  v.steps = 33;
  v.sampler = "ddim";
  Flags flags("draw", "Draws.", "And that is all.");
  v.add_to(flags);
  const std::string help = flags.help();
  for (const char* part : {"Draws.", "And that is all.", "hearth draw", "-s,--steps N", "Steps (default: 33)", "Pixels (default: native)",
                           "--sampler ddim|euler", "Which (default: ddim)", "What to draw (default: nothing)", "Strength (default: 7.5)",
                           "-h,--help", "This text"})
    EXPECT_NE(help.find(part), std::string::npos) << part << " in\n" << help;
  EXPECT_EQ(help.find("(default: )"), std::string::npos) << help;
  EXPECT_EQ(help.back(), '\n');
  EXPECT_NE(help.find("Usage: hearth draw [FLAGS]"), std::string::npos) << help;
  const size_t steps = help.find("Steps (default: 33)");
  EXPECT_EQ(steps - help.rfind('\n', steps) - 1, 38u) << help;
}

TEST(Flags, some_may_be_repeated_and_say_so) {
  std::vector<std::string> words;
  std::vector<int64_t> numbers;
  Flags flags("draw", "Draws.");
  flags.list("--word", "TEXT", "A word", words, "none");
  flags.add_each("--number", "N", "A number", "", [&numbers](const std::string& t) { numbers.push_back(parse_integer(t, 1, 9)); });
  EXPECT_TRUE(flags.parse(std::vector<std::string>{"--word", "b", "--number", "3", "--word=a", "--number", "1", "--number", "3"}));
  EXPECT_EQ(words, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(numbers, (std::vector<int64_t>{3, 1, 3}));
  EXPECT_NE(flags.help().find("A word; may be repeated (default: none)"), std::string::npos) << flags.help();
  EXPECT_NE(flags.help().find("A number; may be repeated\n"), std::string::npos) << flags.help();
  try {
    Flags again("draw", "Draws.");
    again.add_each("--number", "N", "A number", "", [](const std::string& t) { parse_integer(t, 1, 9); });
    again.parse(std::vector<std::string>{"--number", "3", "--number", "x"});
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& e) { EXPECT_STREQ(e.what(), "--number: 'x' is not a whole number"); }
}

TEST(Flags, a_text_of_its_own_stands_for_the_names) {
  Values v;
  Flags flags("draw", "Draws.");
  flags.choice("--sampler", "NAME", "See the list", v.sampler, {.names = {"ddim", "euler"}}, "own");
  EXPECT_NE(flags.help().find("--sampler NAME "), std::string::npos) << flags.help();
  EXPECT_NE(flags.help().find("See the list (default: own)"), std::string::npos) << flags.help();
  EXPECT_EQ(flags.help().find("ddim"), std::string::npos);
}

TEST(Flags, lines_of_help_are_as_long_as_they_can_be) {
  // A word more in the first line would be one column too many.
  std::string words = std::string(54, 'x') + " " + std::string(56, 'y');
  for (size_t i = 0; i < 300; ++i) words.append(1, ' ').append(1 + i * 7 % 11, 'z');
  const std::string help = Flags("draw", words, "First.\nSecond.").help();
  size_t begin = 0, lines = 0;
  for (size_t end; (end = help.find('\n', begin)) > begin && help[end + 1] != '\n'; begin = end + 1, ++lines) {
    EXPECT_LE(end - begin, 110u);
    EXPECT_GT(end - begin + 1 + std::min(help.find_first_of(" \n", end + 1), help.size()) - end - 1, 110u) << lines;
  }
  EXPECT_GT(lines, 15u);
  EXPECT_NE(help.find("\nFirst.\nSecond.\n"), std::string::npos) << help;
  const std::string second = std::string(60, 'y') + ' ' + std::string(49, 'z');  // a line break of the text's own starts anew
  EXPECT_NE(Flags("draw", "Draws.", std::string(60, 'x') + '\n' + second).help().find(second), std::string::npos);
}

TEST(Flags, help_lines_fit) {
  Values v;
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word" + std::to_string(i) + " ";
  Flags flags("draw", words, words);
  v.add_to(flags);
  flags.text("--long", "TEXT", words, v.prompt);
  flags.toggle("--switch", words, v.json);
  const std::string help = flags.help();
  for (size_t begin = 0, end; begin < help.size(); begin = end + 1) {
    end = std::min(help.find('\n', begin), help.size());
    EXPECT_LE(end - begin, 110u) << help.substr(begin, end - begin);
  }
  for (int i = 0; i < 60; ++i) EXPECT_NE(help.find("word" + std::to_string(i)), std::string::npos);
}

TEST(Flags, help_stops_the_verb) {
  Values v;
  Flags flags("draw", "Draws.");
  v.add_to(flags);
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(flags.parse(std::vector<std::string>{"--help"}));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), flags.help());
}

}  // namespace
}  // namespace hearth::cli
