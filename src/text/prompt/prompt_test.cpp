#include "text/prompt/prompt.h"

#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "support/files.h"
#include "support/golden.h"
#include "text/prompt/prompt_schedule.h"

namespace hearth::text {
namespace {

const ClipTokenizer& demo() {
  static const ClipTokenizer tokenizer = ClipTokenizer::load(test::folder_of(__FILE__) / "../../../assets/demo-model/tokenizer");
  return tokenizer;
}

Prompt read(const std::string& text, const PromptReading& reading, PromptRole role = PromptRole::positive) {
  return read_prompt(text, role, reading, tokenizer_for(reading.syntax, demo()), {});
}

constexpr PromptReading a1111 = {.syntax = PromptSyntax::a1111, .steps = 10};

TEST(Prompt, entry_of_a_step_is_a1111s) {
  const std::vector<ScheduledText> schedule = prompt_schedule("[a:b:3]", 10);
  EXPECT_EQ(schedule_entry(schedule, 0), 0u);
  EXPECT_EQ(schedule_entry(schedule, 3), 0u);
  EXPECT_EQ(schedule_entry(schedule, 4), 1u);
  EXPECT_EQ(schedule_entry(schedule, 10), 1u);
  EXPECT_EQ(schedule_entry(schedule, 99), 1u);
}

TEST(Prompt, only_the_positive_one_is_composed) {
  const Prompt prompt = read("a AND [b:c:5] :0.5", a1111);
  ASSERT_EQ(prompt.conditions.size(), 2u);
  EXPECT_EQ(prompt.conditions[0].weight, 1);
  EXPECT_EQ(prompt.conditions[1].weight, 0.5);
  ASSERT_EQ(prompt.conditions[1].entries.size(), 2u);
  EXPECT_EQ(prompt.conditions[1].entries[1].text, " c");
  const Prompt negative = read("a AND b:0.5", a1111, PromptRole::negative);
  ASSERT_EQ(negative.conditions.size(), 1u);
  EXPECT_EQ(negative.conditions[0].weight, 1);
  EXPECT_EQ(negative.conditions[0].entries[0].text, "a AND b:0.5");
  EXPECT_EQ(read("a AND b", {.syntax = PromptSyntax::comfyui}).conditions.size(), 1u);
  EXPECT_EQ(read("a AND b", {.syntax = PromptSyntax::plain}).conditions.size(), 1u);
}

TEST(Prompt, entries_have_equally_many_chunks) {
  const Prompt prompt = read("a [b:b BREAK c:5]", a1111);
  ASSERT_EQ(prompt.conditions[0].entries.size(), 2u);
  for (const PromptEntry& entry : prompt.conditions[0].entries) EXPECT_EQ(entry.chunks.size(), 2u);
  EXPECT_EQ(prompt.conditions[0].entries[0].chunks[1], empty_chunk(demo()));
  EXPECT_EQ(prompt.chunks, 2);
}

TEST(Prompt, emphasis_modes_treat_weights_differently) {
  const auto weighted = [&](Emphasis e) {
    return read("a (house:1.5)", {.syntax = PromptSyntax::a1111, .emphasis = e}).conditions[0].weighted;
  };
  EXPECT_TRUE(weighted(Emphasis::original));
  EXPECT_TRUE(weighted(Emphasis::no_norm));
  EXPECT_FALSE(weighted(Emphasis::ignore));
  EXPECT_FALSE(weighted(Emphasis::none));
  const auto first = [&](Emphasis e, const std::string& text) {
    return read(text, {.syntax = PromptSyntax::a1111, .emphasis = e}).conditions[0].entries[0].chunks;
  };
  EXPECT_EQ(first(Emphasis::ignore, "a (house:1.5)"), first(Emphasis::ignore, "a house"));
  EXPECT_NE(first(Emphasis::none, "a (house:1.5)"), first(Emphasis::none, "a house"));
  EXPECT_EQ(first(Emphasis::none, "a BREAK b").size(), 1u);
}

// The same conditions, steps and texts as with tokens.
TEST(Prompt, texts_without_a_tokenizer) {
  const PromptReading reading{.syntax = PromptSyntax::a1111, .steps = 10};
  const std::string prompt = "a [red:blue:4] (house:1.2) AND sea:0.5";
  const PromptTexts texts = read_texts(prompt, PromptRole::positive, reading);
  const Prompt whole = read(prompt, reading);
  ASSERT_EQ(texts.conditions.size(), 2u);
  for (size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(texts.conditions[c].weight, whole.conditions[c].weight);
    ASSERT_EQ(texts.conditions[c].texts.size(), whole.conditions[c].entries.size());
    for (size_t i = 0; i < texts.conditions[c].texts.size(); ++i) {
      EXPECT_EQ(texts.conditions[c].texts[i].end, whole.conditions[c].entries[i].end);
      EXPECT_EQ(texts.conditions[c].texts[i].text, whole.conditions[c].entries[i].text);
    }
  }
  EXPECT_EQ(texts.conditions[0].texts[1].text, "a blue (house:1.2)");
  EXPECT_EQ(read_texts("a AND b", PromptRole::negative, reading).conditions.size(), 1u);
  const PromptTexts plain = read_texts(prompt, PromptRole::positive, {.steps = 7});
  ASSERT_EQ(plain.conditions.size(), 1u);
  EXPECT_EQ(plain.conditions[0].texts, (std::vector<ScheduledText>{{7, prompt}}));
}

TEST(Prompt, warns_about_surprising_syntax) {
  EXPECT_EQ(read("at 10:30", a1111).warnings,
            (std::vector<std::string>{"the prompt ends with a number after a colon, which is the weight 30 of the whole prompt"}));
  EXPECT_EQ(read("(a BREAK b:1.2)", a1111).warnings,
            (std::vector<std::string>{"the prompt has a BREAK inside brackets, where it is a word"}));
  EXPECT_EQ(read("embedding:x", a1111).warnings,
            (std::vector<std::string>{"the prompt names an embedding in ComfyUI's syntax; in this syntax its name alone is enough"}));
  EXPECT_TRUE(read("a (red) house BREAK [x|y], at (10:30) AND b:2", a1111).warnings.empty());
}

TEST(Prompt, refuses_in_one_line) {
  EXPECT_EQ(test::message_of<UnsupportedError>([&] { read("a <lora:x:1>", a1111); }), "prompt: <lora:…> is not supported");
  EXPECT_EQ(test::message_of<UsageError>([&] { read("(a:1.2.3)", a1111); }), "prompt: the weight '1.2.3' is not a number");
  EXPECT_NE(test::message_of<UsageError>([&] { read("(a:1" + std::string(60, '0') + ")", a1111); }), "");
  EXPECT_NE(test::message_of<UsageError>([&] { read("(a:nan)", {.syntax = PromptSyntax::comfyui}); }), "");
}

// Brackets that are nested as deep as the text is long are parsed without a stack overflow and in little time.
TEST(PromptFuzz, deep_brackets) {
  constexpr size_t n = 20000;
  const auto repeat = [](std::string_view s) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += s;
    return text;
  };
  for (const std::string& text : {repeat("("), repeat("["), repeat(")"), repeat("()"), repeat("[") + repeat("]"), repeat("(") + repeat(")"),
                                  repeat("[a:") + repeat(":1]"), repeat("[a|") + repeat("]"), repeat("[a:"), repeat("(:"), repeat("\\("),
                                  repeat("[(") + "a" + repeat(")]"), repeat("([")}) {
    for (const PromptSyntax syntax : {PromptSyntax::plain, PromptSyntax::a1111, PromptSyntax::comfyui}) {
      try {
        EXPECT_GE(read(text, {.syntax = syntax, .steps = 3}).chunks, 1);
      } catch (const UsageError& e) { EXPECT_NE(std::string(e.what()).find("the weight "), std::string::npos); }  // 1.1 to the 20000th
    }
  }
}

TEST(PromptFuzz, random_bytes) {
  static const std::string_view hot[] = {"(",     ")",   "[",     "]",   ":",          "|", "\\", " AND ",
                                         "BREAK", "1.2", ":0.5]", ":2)", "embedding:", ",", " ",  "a"};
  std::mt19937 random(3);
  const std::vector<EmbeddingName> names = {{"a", 3}, {"b", 9}};
  for (int i = 0; i < 4000; ++i) {
    std::string text;
    for (size_t n = random() % 40; n > 0; --n)
      if (random() % 4) text += hot[random() % std::size(hot)];
      else text += char(random());
    for (const PromptSyntax syntax : {PromptSyntax::plain, PromptSyntax::a1111, PromptSyntax::comfyui}) {
      try {
        const Prompt prompt = read_prompt(text, PromptRole::positive, {.syntax = syntax, .steps = 3}, demo(), names);
        ASSERT_FALSE(prompt.conditions.empty());
        for (const Condition& c : prompt.conditions) {
          ASSERT_EQ(c.entries.back().end, 3);
          for (const PromptEntry& entry : c.entries)
            for (const Chunk& chunk : entry.chunks) ASSERT_EQ(int64_t(chunk.size()), demo().model_max_length());
        }
      } catch (const UsageError& e) { ASSERT_EQ(std::string(e.what()).find('\n'), std::string::npos); }
    }
  }
}

}  // namespace
}  // namespace hearth::text
