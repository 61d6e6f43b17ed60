#include "cli/flags.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/help.h"
#include "cli/log.h"
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
    Flags flags("paint", "Paints.");
    add_to(flags);
    EXPECT_TRUE(flags.parse(arguments));
  }
  void add_to(Flags& flags) {
    flags.text("path", "PATH", "A file", path);
    flags.text("-p,--prompt", "TEXT", "What to paint", prompt, "nothing");
    flags.integer("-s,--steps", "Steps", steps, {.low = 1, .high = 1000});
    flags.integer("-W,--width", "Pixels", width, "native");
    flags.number("--cfg-scale", "Strength", scale).also("--guidance,-g");
    flags.choice("--sampler", "", "Which", sampler, {.names = {"ddim", "euler"}}, "own");
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
  alias.parse({"--cfg-scale", "2"});
  EXPECT_EQ(alias.scale, 2.0);
  Values none;
  none.parse({});
  EXPECT_EQ(none.steps, 50);
  EXPECT_FALSE(none.width);
  EXPECT_FALSE(none.json);
}

TEST(Flags, texts_stay_as_they_are) {
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

TEST(Flags, errors_name_the_flag) {
  EXPECT_EQ(refusal({"--stpes", "5"}), "--stpes: unknown flag; did you mean --steps? (see hearth paint --help-all)");
  EXPECT_EQ(refusal({"--stpes=5"}), "--stpes: unknown flag; did you mean --steps? (see hearth paint --help-all)");
  EXPECT_EQ(refusal({"--lora", "x"}), "--lora: unknown flag (see hearth paint --help-all)");
  EXPECT_EQ(refusal({"-x"}), "-x: unknown flag (see hearth paint --help-all)");
  EXPECT_EQ(refusal({"-prompt", "x"}), "-prompt: unknown flag; did you mean --prompt?");
  EXPECT_EQ(refusal({"-prompt=x"}), "-prompt: unknown flag; did you mean --prompt?");
  EXPECT_EQ(refusal({"a", "b"}), "'b': unexpected argument (see hearth paint --help)");
  EXPECT_EQ(refusal({"a", "bc"}), "'bc': unexpected argument (see hearth paint --help)");
  EXPECT_EQ(refusal({"a", "b", "c"}), "'b': unexpected argument (see hearth paint --help)");
  EXPECT_EQ(refusal({"a", "-"}), "'-': unexpected argument (see hearth paint --help)");
  EXPECT_EQ(refusal({"--steps", "x"}), "--steps: 'x' is not a whole number");
  EXPECT_EQ(refusal({"-s", "0"}), "--steps: 0 is out of range, expected 1 to 1000");
  EXPECT_EQ(refusal({"--guidance", "x"}), "--cfg-scale: 'x' is not a number");
  EXPECT_EQ(refusal({"--sampler", "eulr"}), "--sampler: 'eulr' is unknown, expected one of ddim, euler; did you mean euler?");
  EXPECT_EQ(refusal({"--steps"}), "--steps: the value is missing, expected N");
  EXPECT_EQ(refusal({"-p", "--steps", "5"}), "-p: the value is missing, expected TEXT, got the flag --steps");
  EXPECT_EQ(refusal({"--steps", "5", "--steps", "6"}), "--steps: given 2 times, expected once");
  EXPECT_EQ(refusal({"--steps", "5", "-s", "5"}), "--steps: given 2 times, expected once");
  EXPECT_EQ(refusal({"--cfg-scale", "5", "--guidance", "5"}), "--cfg-scale: given 2 times, expected once");
  EXPECT_EQ(refusal({"--json=maybe"}), "--json: takes no value, got 'maybe'");
  Flags flags("paint", "Paints.");
  int64_t count = 1;
  flags.integer("count", "How many", count);
  try {
    flags.parse(std::vector<std::string>{"x"});
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& e) { EXPECT_STREQ(e.what(), "count: 'x' is not a whole number"); }
}

std::string full_help(const Flags& flags, size_t columns = 100) { return help_text(flags, HelpPart::all, {.columns = columns}); }

TEST(Flags, help_shows_the_value_that_the_variable_has) {
  Values v;
  v.steps = 33;
  v.sampler = "ddim";
  Flags flags("paint", "Paints.", "And that is all.");
  v.add_to(flags);
  flags.example("hearth paint -p x", "Paint x");
  const std::string help = full_help(flags);
  for (const char* part :
       {"Paints.", "And that is all.", "Usage: hearth paint [FLAGS] [PATH]", "-s, --steps N", "Steps (default: 33)",
        "Pixels (default: native)", "      --sampler ddim|euler ", "Which (default: ddim)", "What to paint (default: nothing)",
        "Strength (default: 7.5)", "-h, --help", "  # Paint x\n  hearth paint -p x\n"})
    EXPECT_NE(help.find(part), std::string::npos) << part << " in\n" << help;
  EXPECT_EQ(help.find("(default: )"), std::string::npos) << help;
  EXPECT_EQ(help.find("--guidance"), std::string::npos) << "an alias in\n" << help;
  EXPECT_EQ(help.back(), '\n');
  const size_t steps = help.find("Steps (default: 33)");
  EXPECT_EQ(steps - help.rfind('\n', steps) - 1, 32u) << help;
}

TEST(Flags, basic_help_leaves_the_rest_to_help_all) {
  Values v;
  Flags flags("paint", "Paints.");
  v.add_to(flags);
  const auto basic = [&] { return help_text(flags, HelpPart::basic, {}); };
  EXPECT_EQ(basic(), full_help(flags));
  flags.text("--name", "TEXT", "A name", v.prompt, "none").in_basic_help();
  EXPECT_EQ(basic(), full_help(flags));  // few flags are all shown
  for (const char* more : {"--a", "--b", "--c", "--d", "--e"}) flags.toggle(more, "Another flag", v.json);
  EXPECT_NE(basic().find("--name TEXT"), std::string::npos) << basic();
  EXPECT_EQ(basic().find("--steps"), std::string::npos) << basic();
  EXPECT_NE(basic().find("hearth paint --help-all lists all 17 flags."), std::string::npos) << basic();
}

TEST(Flags, color_is_only_where_it_is_asked_for) {
  Values v;
  Flags flags("paint", "Paints.");
  v.add_to(flags);
  EXPECT_EQ(full_help(flags).find('\x1b'), std::string::npos);
  const std::string colored = help_text(flags, HelpPart::all, {.color = true});
  EXPECT_NE(colored.find("\x1b[36m-s, --steps N\x1b[0m"), std::string::npos) << colored;
}

TEST(Flags, aliases_are_accepted) {
  for (const char* spelling : {"--cfg-scale", "--guidance", "-g"}) {
    Values v;
    v.parse({spelling, "3"});
    EXPECT_EQ(v.scale, 3.0) << spelling;
  }
  EXPECT_EQ(refusal({"--guidance", "x"}), "--cfg-scale: 'x' is not a number");
}

TEST(Flags, every_command_has_the_general_flags) {
  Values v;
  v.parse({"-v"});
  EXPECT_EQ(verbosity(), Verbosity::verbose);
  v.parse({"--quiet"});
  EXPECT_EQ(verbosity(), Verbosity::quiet);
  set_verbosity(Verbosity::normal);
}

TEST(Flags, some_may_be_repeated_and_say_so) {
  std::vector<std::string> words;
  std::vector<int64_t> numbers;
  Flags flags("paint", "Paints.");
  flags.list("--word", "TEXT", "A word", words, "none");
  flags.add_each("--number", "N", "A number", "", [&numbers](const std::string& t) { numbers.push_back(parse_integer(t, 1, 9)); });
  EXPECT_TRUE(flags.parse(std::vector<std::string>{"--word", "b", "--number", "3", "--word=a", "--number", "1", "--number", "3"}));
  EXPECT_EQ(words, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(numbers, (std::vector<int64_t>{3, 1, 3}));
  EXPECT_NE(full_help(flags).find("A word; may be repeated (default: none)"), std::string::npos) << full_help(flags);
  EXPECT_NE(full_help(flags).find("A number; may be repeated\n"), std::string::npos) << full_help(flags);
  try {
    Flags again("paint", "Paints.");
    again.add_each("--number", "N", "A number", "", [](const std::string& t) { parse_integer(t, 1, 9); });
    again.parse(std::vector<std::string>{"--number", "3", "--number", "x"});
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& e) { EXPECT_STREQ(e.what(), "--number: 'x' is not a whole number"); }
}

TEST(Flags, groups_have_one_order_in_every_command) {
  int64_t steps = 3;
  bool json = false;
  Flags flags("paint", "Paints.");
  flags.group("Output");
  flags.toggle("--json", "For programs", [&json] { json = true; });
  flags.group("A model family");
  flags.toggle("--extra", "Its own", json);
  flags.group("Sampling");
  flags.integer("-s,--steps,--iterations", "Steps", steps);
  std::vector<std::string> names;
  for (const auto& [name, members] : flags.groups()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"Sampling", "A model family", "Output", "General"}));
  EXPECT_TRUE(flags.parse(std::vector<std::string>{"--iterations", "4"}));
  EXPECT_TRUE(flags.given("--steps"));
  EXPECT_FALSE(flags.given("--json"));
  EXPECT_FALSE(json);
  for (const char* spelling : {"-s", "--steps", "--iterations"}) EXPECT_EQ(flags.long_name_of(spelling), "--steps");
  EXPECT_EQ(flags.long_name_of("--other"), "--other");
}

TEST(Flags, a_type_can_stand_for_the_choices) {
  Values v;
  Flags flags("paint", "Paints.");
  flags.choice("--sampler", "NAME", "See the list", v.sampler, {.names = {"ddim", "euler"}}, "own");
  EXPECT_NE(full_help(flags).find("--sampler NAME "), std::string::npos) << full_help(flags);
  EXPECT_NE(full_help(flags).find("See the list (default: own)"), std::string::npos) << full_help(flags);
  EXPECT_EQ(full_help(flags).find("ddim"), std::string::npos);
}

TEST(Flags, help_lines_fit) {
  Values v;
  std::string words;
  for (int i = 0; i < 60; ++i) words += "wörd" + std::to_string(i) + " ";
  Flags flags("paint", words, words);
  v.add_to(flags);
  flags.text("--long", "TEXT", words, v.prompt);
  flags.toggle("--switch", words, v.json);
  flags.example("hearth paint -p \"a long prompt of several words\" --steps 4 --sampler euler --cfg-scale 3 -W 512", words);
  for (const size_t columns : {60u, 80u, 100u}) {
    const std::string help = full_help(flags, columns);
    size_t longest = 0;
    for (size_t begin = 0, end; begin < help.size(); begin = end + 1) {
      end = std::min(help.find('\n', begin), help.size());
      longest = std::max(longest, width_of(help.substr(begin, end - begin)));
    }
    EXPECT_LE(longest, columns) << help;
    EXPECT_GT(longest, columns - 7) << help;
    for (int i = 0; i < 60; ++i) EXPECT_NE(help.find("wörd" + std::to_string(i)), std::string::npos);
  }
}

TEST(Flags, help_stops_the_command) {
  Values v;
  Flags flags("paint", "Paints.");
  v.add_to(flags);
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(flags.parse(std::vector<std::string>{"--help-all", "--steps", "x"}));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), help_text(flags, HelpPart::all, Terminal::of_stdout()));
}

}  // namespace
}  // namespace hearth::cli
