#include "server/tools/json_scanner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace hearth::server::tools {
namespace {

const char* const values[] = {
    R"({"a": [1, -2.5e+3, 0, {"b": "\u00e9\ud83d\ude00\\\"/\b"}], "c": null, "d": true, "e": false, "": {}})",
    "[]",
    "{}",
    " \n[ ] ",
    "0",
    "-0",
    "12.50",
    "1E9",
    "\"\"",
    "\"a\\u0041\"",
    "true",
    "null",
    "[[[[{}]]]]",
    R"("\ud800")",
    R"("\udc00x")",
    "01",
    "1.",
    "-",
    "+1",
    ".5",
    "1e",
    "{\"a\"}",
    "{\"a\":}",
    "{,}",
    "[1,]",
    "[,1]",
    "{\"a\":1,}",
    "tru",
    "nul",
    "\"\t\"",
    "\"\\x\"",
    "[1 2]",
    "{1:2}",
    "",
    "}",
    "\"a",
    "[1}",
};

TEST(json_scanner, agrees_with_a_parser) {
  std::mt19937 random(7);
  const std::string bytes = "{}[]\",:\\0123456789.eE+-tfnul /u\x01";
  size_t valid = 0;
  for (const char* const value : values) {
    for (int round = 0; round < 400; ++round) {
      std::string text = value;
      for (int changes = round % 4; changes > 0 && !text.empty(); --changes) {
        const size_t at = random() % text.size();
        if (random() % 2 == 0) text[at] = bytes[random() % bytes.size()];
        else text.erase(at, 1);
      }
      // Scanned numbers have any size; the parser refuses those that no double can hold.
      if (text.find_first_of("eE") != std::string::npos && text.find_first_of("0123456789") != std::string::npos) continue;
      EXPECT_EQ(is_json(text), nlohmann::json::accept(text)) << text;
      valid += is_json(text);
    }
  }
  EXPECT_GT(valid, 300u);
}

TEST(json_scanner, finds_the_end_of_a_value) {
  const auto end_of = [](std::string_view text) {
    JsonScanner scanner;
    for (size_t i = 0; i < text.size(); ++i) {
      const JsonScanner::Step step = scanner.push(text[i]);
      if (step == JsonScanner::Step::ended) return i + 1;
      if (step == JsonScanner::Step::past) return i;
      if (step == JsonScanner::Step::bad) return size_t(1000) + i;
    }
    return size_t(2000);
  };
  EXPECT_EQ(end_of(R"({"a": "}"}})"), 10u);
  EXPECT_EQ(end_of("12,"), 2u);
  EXPECT_EQ(end_of("1.5e2]"), 5u);
  EXPECT_EQ(end_of("truex"), 4u);
  EXPECT_EQ(end_of("-x"), 1001u);
  EXPECT_EQ(end_of("[1, 2"), 2000u);
  EXPECT_EQ(end_of(std::string(200, '[') + std::string(200, ']')), 400u);
  EXPECT_EQ(end_of(std::string(201, '[')), 1200u);
}

TEST(json_scanner, escapes_bytes_that_strings_cannot_hold) {
  const std::string text = "a\"\\\n\r\t\x01/é😀";
  EXPECT_EQ(escaped_json(text), "a\\\"\\\\\\n\\r\\t\\u0001/é😀");
  EXPECT_EQ(nlohmann::json::parse('"' + escaped_json(text) + '"').get<std::string>(), text);
}

TEST(json_scanner, knows_whether_a_text_ends_inside_a_string) {
  EXPECT_TRUE(ends_in_json_string("[\"a"));
  EXPECT_TRUE(ends_in_json_string("\"a\\"));
  EXPECT_FALSE(ends_in_json_string("[\"a\""));
  EXPECT_FALSE(ends_in_json_string("tr"));
  EXPECT_FALSE(ends_in_json_string("x\"a"));
}

}  // namespace
}  // namespace hearth::server::tools
