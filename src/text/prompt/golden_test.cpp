// Prompts as A1111 and ComfyUI read them (golden/make.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/json.h"
#include "support/golden.h"
#include "text/prompt/prompt_schedule.h"
#include "text/prompt/weighted_text.h"

namespace hearth::text {
namespace {

using Json = nlohmann::json;

const Json& cases() {
  static const Json json = load_json(test::folder_of(__FILE__) / "golden/cases.json");
  return json;
}

// In the programs' notation: a break is the word BREAK with weight −1. null if the text is refused.
Json weights(std::vector<WeightedText> (*parse)(std::string_view), const std::string& prompt) {
  Json parts = Json::array();
  try {
    for (const WeightedText& part : parse(prompt))
      parts.push_back(part.chunk_break ? Json::array({"BREAK", -1}) : Json::array({part.text, part.weight}));
  } catch (const UsageError&) { return nullptr; }
  return parts;
}

TEST(PromptGolden, a1111_weights) {
  for (const Json& c : cases()) EXPECT_EQ(weights(a1111_weights, c.at("prompt")), c.at("a1111")) << c.at("prompt");
}

TEST(PromptGolden, comfyui_weights) {
  for (const Json& c : cases()) EXPECT_EQ(weights(comfyui_weights, c.at("prompt")), c.at("comfyui")) << c.at("prompt");
}

TEST(PromptGolden, schedule) {
  for (const Json& c : cases()) {
    Json entries = Json::array();
    for (const ScheduledText& entry : prompt_schedule(c.at("prompt").get<std::string>(), 4)) entries.push_back({entry.end, entry.text});
    EXPECT_EQ(entries, c.at("schedule")) << c.at("prompt");
    if (!c.contains("second")) continue;
    entries = Json::array();
    for (const ScheduledText& entry : prompt_schedule(c.at("prompt").get<std::string>(), 3, 4)) entries.push_back({entry.end, entry.text});
    EXPECT_EQ(entries, c.at("second")) << c.at("prompt");
  }
}

TEST(PromptGolden, composition) {
  for (const Json& c : cases()) {
    Json parts = Json::array();
    for (const WeightedPrompt& part : split_at_and(c.at("prompt").get<std::string>())) parts.push_back({part.text, part.weight});
    EXPECT_EQ(parts, c.at("and")) << c.at("prompt");
  }
}

}  // namespace
}  // namespace hearth::text
