#include "core/files/json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files/config.h"
#include "core/files/file.h"

namespace hearth {
namespace {

std::string refusal(std::string_view text) {
  try {
    parse_json(text, "f.json");
  } catch (const IoError& e) { return e.what(); }
  return "accepted";
}

TEST(Json, bare_infinity_and_nan_are_numbers_as_python_writes_them) {
  const auto json =
      parse_json(R"({"limit": [0.0, Infinity], "low": -Infinity, "x": NaN, "text": "NaN \" Infinity", "n": {"m": Infinity}})", "f.json");
  EXPECT_EQ(json["limit"][1].get<double>(), INFINITY);
  EXPECT_EQ(json["low"].get<double>(), -INFINITY);
  EXPECT_TRUE(std::isnan(json["x"].get<double>()));
  EXPECT_EQ(json["text"].get<std::string>(), "NaN \" Infinity");
  const Config config = Config::parse(R"({"n": {"m": Infinity}})", "f.json");
  EXPECT_EQ(config.object("n").number("m"), INFINITY);
  EXPECT_EQ(config.object("n").dump("m"), "Infinity");
  EXPECT_THROW(config.object("n").integer("m"), WeightError);
  EXPECT_TRUE(std::isnan(parse_json(R"({"x": NaN})", "f.json")["x"].get<double>()));
}

// Bare numbers pass the parser as marked strings: a string that resembles one stays a string, or is refused if it is ambiguous.
TEST(Json, the_mark_of_a_bare_number_stays_a_string) {
  EXPECT_EQ(parse_json(R"(["hearth: not a JSON number: x"])", "f.json")[0].get<std::string>(), "hearth: not a JSON number: x");
  EXPECT_EQ(refusal(R"(["hearth: not a JSON number: Infinity"])"),
            "f.json: contains the string 'hearth: not a JSON number: ', which is reserved");
}

TEST(Json, a_repeated_key_is_named) {
  EXPECT_EQ(refusal(R"({"a": {"b": 1, "c": [{"b": 2}], "b": 3}})"), "f.json: an object has the key 'b' twice");
  EXPECT_EQ(refusal(R"({"a": {"b": 1}, "b": {"b": 1}})"), "accepted");
}

TEST(Json, malformed_text_names_its_line) {
  EXPECT_EQ(refusal("{\n\"a\": 1,\n}"), "f.json: invalid JSON at line 3");
  EXPECT_EQ(refusal(""), "f.json: invalid JSON at line 1");
  EXPECT_EQ(refusal("{} {}"), "f.json: invalid JSON at line 1");
  EXPECT_EQ(refusal("{\"a\": \"\xff\"}"), "f.json: invalid JSON at line 1");
  EXPECT_EQ(refusal("{\"a\": 1e999}"), "f.json: contains a number that is too large");
  EXPECT_EQ(refusal("{\"a\": Infinityy}"), "f.json: invalid JSON at line 1");
  EXPECT_EQ(refusal("{\n\"a\": NaN,\n}\n\n\n"), "f.json: invalid JSON at line 3");
  const std::string_view cut = "[NaN, \"\\\n\"]";
  EXPECT_EQ(refusal(cut.substr(0, cut.find('\\') + 1)), "f.json: invalid JSON at line 1");
}

TEST(Json, depth_is_limited) {
  EXPECT_EQ(refusal(std::string(100, '[') + std::string(100, ']')), "accepted");
  EXPECT_EQ(refusal(std::string(101, '[') + std::string(101, ']')), "f.json: more than 100 levels of lists and objects");
  EXPECT_EQ(refusal(std::string(100000, '[')), "f.json: more than 100 levels of lists and objects");
  std::string wide = "[[]";
  for (int i = 0; i < 200; ++i) wide += ", []";
  EXPECT_EQ(refusal(wide + "]"), "accepted");
}

TEST(Json, a_file_may_have_256_mb) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("hearth-json-{}", ::getpid());
  write_file(file, R"({"a": 1})");
  EXPECT_EQ(load_json(file)["a"], 1);
  std::filesystem::resize_file(file, (uintmax_t(1) << 28) + 1);  // sparse: nothing is written
  try {
    load_json(file);
    ADD_FAILURE() << "accepted";
  } catch (const IoError& e) {
    EXPECT_EQ(e.what(), fmt::format("read {}: the file has 268435457 bytes, expected at most 268435456", file.string()));
  }
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace hearth
