#include "media/metadata/parameters.h"

#include <gtest/gtest.h>

#include <random>

#include "core/error.h"

namespace hearth {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

const Settings three = {{"Steps", "20"}, {"Sampler", "Euler a"}, {"CFG scale", "7"}};

TEST(Parameters, are_written_as_a1111_writes_them) {
  EXPECT_EQ(write_parameters({"a red house, (big:1.2)",
                              "blurry",
                              {{"Steps", "20"},
                               {"Sampler", "DPM++ 2M"},
                               {"Schedule type", "Karras"},
                               {"CFG scale", "7.5"},
                               {"Seed", "1"},
                               {"Size", "512x512"},
                               {"Model", "a, b"},
                               {"Lora hashes", "x: 12, \"y\": 34"},
                               {"Version", "v1.10.1"}}}),
            "a red house, (big:1.2)\nNegative prompt: blurry\nSteps: 20, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 7.5, Seed: "
            "1, Size: 512x512, "
            "Model: \"a, b\", Lora hashes: \"x: 12, \\\"y\\\": 34\", Version: v1.10.1");
  EXPECT_EQ(write_parameters({"p", "", three}), "p\nSteps: 20, Sampler: Euler a, CFG scale: 7");
  EXPECT_EQ(write_parameters({"", "n", three}), "Negative prompt: n\nSteps: 20, Sampler: Euler a, CFG scale: 7");
  EXPECT_EQ(write_parameters({"", "", three}), "Steps: 20, Sampler: Euler a, CFG scale: 7");
  EXPECT_EQ(write_parameters({"p", "", {}}), "p");
}

// Texts as other programs write them.
TEST(Parameters, of_other_tools_are_read) {
  const Parameters p = parse_parameters(
      "masterpiece, <lora:x:0.8>\nsecond line: with a colon\nNegative prompt: bad, worse\nand more\n"
      "Steps: 30, Sampler: DPM++ 2M Karras, CFG scale: 7, Seed: 4294967295, Size: 512x768, Model hash: 6ce0161689, Model: "
      "v1-5-pruned-emaonly, "
      "Denoising strength: 0.5, Hires prompt: \"one, \\\"two\\\"\\nthree\", Lora hashes: \"a: 11, b: 22\", ControlNet 0: \"Module: none, "
      "Weight: 1\", "
      "Version: v1.6.0\r\n");
  EXPECT_EQ(p.prompt, "masterpiece, <lora:x:0.8>\nsecond line: with a colon");
  EXPECT_EQ(p.negative_prompt, "bad, worse\nand more");
  ASSERT_EQ(p.settings.size(), 12u);
  EXPECT_EQ(*p.find("Sampler"), "DPM++ 2M Karras");
  EXPECT_EQ(*p.find("Hires prompt"), "one, \"two\"\nthree");
  EXPECT_EQ(*p.find("Lora hashes"), "a: 11, b: 22");
  EXPECT_EQ(*p.find("ControlNet 0"), "Module: none, Weight: 1");
  EXPECT_EQ(*p.find("Version"), "v1.6.0");
  EXPECT_EQ(p.find("Clip skip"), nullptr);

  const Parameters windows = parse_parameters("a\r\nb\r\nNegative prompt: c\r\nSteps: 1, Sampler: x, Seed: 2");
  EXPECT_EQ(windows.prompt, "a\nb");
  EXPECT_EQ(windows.negative_prompt, "c");
  EXPECT_EQ(windows.settings, (Settings{{"Steps", "1"}, {"Sampler", "x"}, {"Seed", "2"}}));
}

TEST(Parameters, a_last_line_with_fewer_than_three_settings_is_prompt) {
  EXPECT_EQ(parse_parameters("a cat\nstyle: ink, mood: dark"), (Parameters{"a cat\nstyle: ink, mood: dark", "", {}}));
  EXPECT_EQ(parse_parameters("a cat\nstyle: ink, mood: dark, x1: y").settings.size(), 3u);
  EXPECT_TRUE(parse_parameters("a cat\na: ink, b: dark, c: big").settings.empty());  // a name has at least two characters
  EXPECT_EQ(parse_parameters("a cat"), (Parameters{"a cat", "", {}}));
  EXPECT_EQ(parse_parameters(""), Parameters{});
  EXPECT_EQ(parse_parameters("Negative prompt: x"), (Parameters{"", "x", {}}));
}

TEST(Parameters, broken_values_are_read_as_far_as_they_go) {
  EXPECT_EQ(parse_parameters("Steps: 20, Model: \"open, Seed: 5, Sampler: e, Extra: f").settings,
            (Settings{{"Steps", "20"}, {"Model", "\"open"}, {"Seed", "5"}, {"Sampler", "e"}, {"Extra", "f"}}));
  EXPECT_EQ(parse_parameters("Steps: 20, Model: \"a\" b, Seed: , Sampler: \"\\q\", : x, 12:30: z").settings,
            (Settings{{"Steps", "20"}, {"Model", "\"a\" b"}, {"Seed", ""}, {"Sampler", "\"\\q\""}, {"12", "30: z"}}));
}

TEST(Parameters, names_that_the_format_cannot_hold_are_refused) {
  for (const char* name : {"", "a", "-ab", "ab ", "a:b", "a,b", "é2", "a\nb", " ab"})
    EXPECT_THROW(write_parameters({"", "", {{name, "v"}}}), UsageError) << name;
  EXPECT_THROW(write_parameters({"\xff", "", {}}), UsageError);
  EXPECT_THROW(write_parameters({"", "\xff", {}}), UsageError);
  EXPECT_THROW(write_parameters({"", "", {{"ab", "\xff"}}}), UsageError);
}

TEST(Parameters, blanks_of_every_kind_survive_in_values) {
  for (const char* value : {"", " ", "\f", "a\v", "\r", "a\rb", "a\nb", "\"", "\"\""}) {
    const Parameters p{"a cat", "", {{"_a", value}, {"ab", "x"}, {"c/d", value}}};
    EXPECT_EQ(parse_parameters(write_parameters(p)), p) << write_parameters(p);
  }
  EXPECT_EQ(write_parameters({"", "", {{"ab", ""}, {"cd", "a\rb"}}}), "ab: \"\", cd: \"a\\rb\"");
  EXPECT_EQ(parse_parameters("Steps: \v20\f, Seed: 1, Sampler: x").settings, (Settings{{"Steps", "20"}, {"Seed", "1"}, {"Sampler", "x"}}));
  EXPECT_EQ(parse_parameters("a cat\n \tNegative prompt: a dog"), (Parameters{"a cat", "a dog", {}}));
}

// Written text is read back unchanged, for any prompts and values.
TEST(Parameters, round_trip) {
  const std::vector<std::string> pieces = {",",
                                           ", ",
                                           ":",
                                           ": ",
                                           "\"",
                                           "\\",
                                           "\n",
                                           "\t",
                                           " ",
                                           "a",
                                           "Steps",
                                           "20",
                                           "é",
                                           "日本",
                                           "🙂",
                                           "{",
                                           "}",
                                           "[",
                                           "\\n",
                                           "Steps: 20, Seed: 1, Size: 2x2",
                                           "negative prompt:",
                                           "Negative prompt",
                                           "\x01",
                                           "/"};
  std::mt19937 random(7);
  const auto text = [&](size_t most) {
    std::string out;
    for (size_t n = random() % (most + 1); n > 0; --n) out += pieces[random() % pieces.size()];
    return out;
  };
  for (int i = 0; i < 20'000; ++i) {
    const Parameters p{text(8), text(8), {{"Steps", text(6)}, {"Model hash", text(6)}, {"a-b/c_d", text(6)}, {"Lora hashes", text(6)}}};
    if (p.prompt.find("Negative prompt:") != std::string::npos) continue;  // the one ambiguity of the format
    const std::string written = write_parameters(p);
    EXPECT_EQ(parse_parameters(written), p) << written;
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace hearth
