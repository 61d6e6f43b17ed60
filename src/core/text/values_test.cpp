#include "core/text/values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "core/error.h"

namespace hearth {
namespace {

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& e) { return e.what(); }
  return "accepted";
}

TEST(Values, whole_numbers) {
  EXPECT_EQ(parse_integer("20", 1, 1000), 20);
  EXPECT_EQ(parse_integer("-3", -5, 5), -3);
  EXPECT_EQ(parse_integer("010", 1, 1000), 10);  // not octal
  EXPECT_EQ(parse_integer("1", 1, 1), 1);
  EXPECT_EQ(refusal([] { parse_integer("99999999999999999999", 0, 9); }), "99999999999999999999 is out of range, expected 0 to 9");
  for (const char* text : {"", " ", "abc", "1.5", "1e3", "0x10", "+5", " 5", "5 ", "5px", "--5", "٣"})
    EXPECT_EQ(refusal([&] { parse_integer(text, 1, 1000); }), fmt::format("'{}' is not a whole number", text));
  EXPECT_EQ(refusal([] { parse_integer("0", 1, 1000); }), "0 is out of range, expected 1 to 1000");
  EXPECT_EQ(refusal([] { parse_integer("1001", 1, 1000); }), "1001 is out of range, expected 1 to 1000");
  EXPECT_EQ(refusal([] { parse_integer("99999999999999999999", 1, std::numeric_limits<int64_t>::max()); }),
            "99999999999999999999 is out of range, expected at least 1");
}

TEST(Values, seeds_have_64_bits) {
  EXPECT_EQ(parse_seed("0"), 0u);
  EXPECT_EQ(parse_seed("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(refusal([] { parse_seed("18446744073709551616"); }),
            "18446744073709551616 is out of range, expected 0 to 18446744073709551615");
  EXPECT_EQ(refusal([] { parse_seed("-1"); }), "'-1' is not a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refusal([] { parse_seed(""); }), "'' is not a whole number from 0 to 18446744073709551615");
}

TEST(Values, numbers) {
  EXPECT_EQ(parse_number("7.5"), 7.5);
  EXPECT_EQ(parse_number("-1e-3"), -0.001);
  for (const char* text : {"", "x", "7,5", "7.5x", " 7", "0x1p3"})
    EXPECT_EQ(refusal([&] { parse_number(text); }), fmt::format("'{}' is not a number", text));
  for (const char* text : {"nan", "inf", "-inf", "1e999"})
    EXPECT_EQ(refusal([&] { parse_number(text); }), fmt::format("{} is not a finite number", text));
}

TEST(Values, intervals) {
  EXPECT_EQ(parse_interval("0.28,5.42"), (std::array{0.28, 5.42}));
  EXPECT_EQ(refusal([] { parse_interval("3"); }), "'3' is not an interval, expected two numbers with a comma between them");
  EXPECT_EQ(refusal([] { parse_interval("3,"); }), "'' is not a number");
  EXPECT_EQ(refusal([] { parse_interval("1,2,3"); }), "'2,3' is not a number");
  EXPECT_EQ(refusal([] { parse_interval("3,2"); }), "the interval 3,2 is reversed, expected the lower number first");
}

TEST(Values, by_name) {
  EXPECT_EQ(parse_named("eta=0.5"), (std::pair<std::string, std::string>{"eta", "0.5"}));
  EXPECT_EQ(parse_named("from=a=b"), (std::pair<std::string, std::string>{"from", "a=b"}));
  EXPECT_EQ(parse_named("empty="), (std::pair<std::string, std::string>{"empty", ""}));
  EXPECT_EQ(refusal([] { parse_named("eta"); }), "'eta' has no name and value, expected NAME=VALUE");
  EXPECT_EQ(refusal([] { parse_named("=1"); }), "'=1' has no name and value, expected NAME=VALUE");
}

TEST(Values, words) {
  const std::vector<std::string> allowed = {"timing", "shapes", "nan"};
  EXPECT_EQ(parse_words("nan,timing", allowed), (std::vector<std::string>{"nan", "timing"}));
  EXPECT_EQ(refusal([&] { parse_words("timing,shape", allowed); }),
            "'shape' is unknown, expected one of timing, shapes, nan; did you mean shapes?");
  EXPECT_EQ(refusal([&] { parse_words("timing,", allowed); }), "'' is unknown, expected one of timing, shapes, nan");
  EXPECT_EQ(refusal([&] { parse_words("", allowed); }), "'' is unknown, expected one of timing, shapes, nan");
}

TEST(Values, sizes) {
  EXPECT_EQ(parse_size("3G"), 3'000'000'000);
  EXPECT_EQ(parse_size("2500M"), 2'500'000'000);
  EXPECT_EQ(parse_size("2.6GB"), 2'600'000'000);
  EXPECT_EQ(parse_size("2.5 gb"), 2'500'000'000);
  EXPECT_EQ(parse_size("2GiB"), int64_t(2) << 30);
  EXPECT_EQ(parse_size("7k"), 7000);
  EXPECT_EQ(parse_size("1T"), 1'000'000'000'000);
  EXPECT_EQ(parse_size("123456"), 123456);
  EXPECT_EQ(parse_size("64B"), 64);
  for (const char* text : {"", "G", "GB", "3X", "3GG", "3iB", "-3G", "1e9", "0x10", "3 G B", "1.2.3", ".", "nan", "3BB"})
    EXPECT_EQ(refusal([&] { parse_size(text); }),
              fmt::format("'{}' is not a size, expected a number of bytes or one with K, M, G or T", text));
  for (const char* text : {"0", "0G", "0.1", "10000000T"})
    EXPECT_EQ(refusal([&] { parse_size(text); }), fmt::format("{} is out of range, expected 1 byte to 9000000T", text));
}

}  // namespace
}  // namespace hearth
