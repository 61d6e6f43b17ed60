#include "core/files/config.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace hearth {
namespace {

Config config(std::string_view text) { return Config::parse(text, "unet/config.json"); }

// The message of the error that f throws, or "" if it throws none.
template <class E, class F> std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) { return e.what(); }
  return "";
}

TEST(Config, reads_every_kind_of_value) {
  const Config c = config(
      R"({"n": 3, "whole": 4.0, "x": 0.5, "b": true, "t": "silu", "ns": [1, 2], "xs": [1, 0.5], "ts": ["a"], "o": {"k": 1}, "nothing": null})");
  EXPECT_EQ(c.integer("n"), 3);
  EXPECT_EQ(c.integer("whole"), 4);
  EXPECT_EQ(c.number("x"), 0.5);
  EXPECT_EQ(c.number("n"), 3.0);
  EXPECT_TRUE(c.boolean("b"));
  EXPECT_EQ(c.text("t"), "silu");
  EXPECT_EQ(c.integers("ns"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(c.numbers("xs"), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(c.texts("ts"), (std::vector<std::string>{"a"}));
  EXPECT_EQ(c.object("o").integer("k"), 1);
  EXPECT_EQ(c.integer("nothing", 9), 9);
  EXPECT_EQ(c.integer("absent", 8), 8);
  EXPECT_FALSE(c.has("nothing"));
  EXPECT_NO_THROW(c.finish());
}

TEST(Config, one_value_or_one_per_level) {
  const Config c = config(R"({"a": 2, "b": [1, 2, 3], "flags": [true, false, true]})");
  EXPECT_EQ(c.integer_per_level("a", 3), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(c.integer_per_level("b", 3), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(c.boolean_per_level("flags", 3), (std::vector<bool>{true, false, true}));
  EXPECT_THROW(c.integer_per_level("b", 4), WeightError);
}

TEST(Config, wrong_types_are_named) {
  const Config c = config(R"({"a": "four", "b": [1, "x"], "c": 1.5})");
  EXPECT_EQ(message_of<WeightError>([&] { c.integer("a"); }), R"(unet/config.json: 'a' is a string ("four"), expected a whole number)");
  EXPECT_THROW(c.integers("b"), WeightError);
  EXPECT_THROW(c.integer("c"), WeightError);
  EXPECT_EQ(message_of<WeightError>([&] { c.integer("missing"); }), "unet/config.json: 'missing' is missing, expected a whole number");
}

TEST(Config, unsupported_values_are_refused_by_name) {
  const Config c = config(R"({"dual": true, "act_fn": "mish", "scale": 2, "extra": {"a": 1}, "fine": false})");
  EXPECT_EQ(message_of<UnsupportedError>([&] { c.only("dual", false); }), "unet/config.json: 'dual' = true is not supported, only false");
  EXPECT_EQ(message_of<UnsupportedError>([&] {
              c.only("act_fn", {"silu", "gelu"});
            }),
            "unet/config.json: 'act_fn' = \"mish\" is not supported, only silu, gelu");
  EXPECT_THROW(c.only_number("scale", 1), UnsupportedError);
  EXPECT_THROW(c.only_null("extra"), UnsupportedError);
  EXPECT_NO_THROW(c.only("fine", false));
  EXPECT_NO_THROW(c.only("absent", true));
  EXPECT_NO_THROW(c.only_number("scale", 2));
}

TEST(Config, unread_keys_are_refused) {
  const Config c = config(R"({"_class_name": "X", "known": 1, "dropout": 0.1, "new_trick": true, "new_null": null})");
  c.integer("known");
  c.no_effect({"dropout"});
  EXPECT_EQ(message_of<UnsupportedError>([&] { c.finish(); }), "unet/config.json: unknown key: 'new_trick' = true");
}

TEST(Config, features_that_are_off_have_no_effect) {
  const Config c = config(R"({"a": false, "b": 0, "c": 0.0, "d": [], "e": {}, "f": "", "g": null, "on": true, "one": 1, "some": [0]})");
  c.no_effect_where_off();
  EXPECT_EQ(message_of<UnsupportedError>([&] { c.finish(); }), "unet/config.json: unknown keys: 'on' = true, 'one' = 1, 'some' = [0]");
}

TEST(Config, malformed_json_names_the_line) {
  EXPECT_EQ(message_of<IoError>([] { config("{\n\"a\": 1,\n}"); }).find("unet/config.json: invalid JSON at line 3"), 0u);
  EXPECT_THROW(config("[1]"), IoError);
  EXPECT_THROW(config(""), IoError);
  EXPECT_THROW(Config::load("no/such/file.json"), IoError);
  EXPECT_THROW(Config::load("/"), IoError);
  EXPECT_THROW(config(std::string(100000, '[')), IoError);  // depth
}

TEST(Config, completed_states_what_was_read) {
  const Config c =
      config(R"({"a": 2, "b": 0.5, "list": [1], "nested": {"x": 1}, "kind": "old", "ignored": 3, "checked": true, "other": 1})");
  EXPECT_EQ(c.text("kind"), "old");
  const Config all = c.completed([](const Config& inner) {
    inner.integer("a", 2), inner.integer("absent", 7), inner.number("b", 0.25), inner.integers("list"), inner.object("nested");
    inner.number("ignored"), inner.no_effect({"ignored"}), inner.only("checked", true);
    inner.means("nested", R"({"x": 2})"), inner.means("null", "null");
    EXPECT_TRUE(inner.was_read("kind"));  // by others
    EXPECT_FALSE(inner.was_read("other"));
  });
  EXPECT_EQ(all.keys(), (std::vector<std::string>{"a", "absent", "b", "list", "nested", "null"}));
  EXPECT_EQ(all.integer("a"), 2);
  EXPECT_EQ(all.integer("absent"), 7);
  EXPECT_EQ(all.number("b"), 0.5);
  EXPECT_EQ(all.object("nested").integer("x"), 2);
  EXPECT_FALSE(all.has("null"));
  EXPECT_TRUE(all.is_default("a") && all.is_default("absent"));
  EXPECT_FALSE(all.is_default("b") || all.is_default("list") || all.is_default("nested"));
  EXPECT_EQ(all.where(), c.where());
}

}  // namespace
}  // namespace hearth
