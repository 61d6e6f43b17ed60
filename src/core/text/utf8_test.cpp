#include "core/text/utf8.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace hearth {
namespace {

TEST(Utf8, the_edges_of_each_length) {
  const std::pair<std::u32string, std::string> edges[] = {
      {{0x00}, std::string(1, '\0')},
      {{0x7F}, "\x7F"},
      {{0x80}, "\xC2\x80"},
      {{0x7FF}, "\xDF\xBF"},
      {{0x800}, "\xE0\xA0\x80"},
      {{0xD7FF}, "\xED\x9F\xBF"},
      {{0xE000}, "\xEE\x80\x80"},
      {{0xFFFF}, "\xEF\xBF\xBF"},
      {{0x10000}, "\xF0\x90\x80\x80"},
      {{0x10FFFF}, "\xF4\x8F\xBF\xBF"},
      {{}, ""},
  };
  for (const auto& [points, bytes] : edges) {
    EXPECT_EQ(encode_utf8(points), bytes);
    EXPECT_EQ(decode_utf8(bytes), points);
    EXPECT_EQ(decode_utf8("a" + bytes + "b"), U"a" + points + U"b");
    EXPECT_TRUE(is_utf8(bytes + "a" + bytes));
    EXPECT_EQ(count_characters("a" + bytes + bytes), 1 + 2 * points.size());
    if (!bytes.empty()) { EXPECT_EQ(sequence_length(bytes[0]), bytes.size()); }
  }
}

// As decoded by Python's bytes.decode("utf-8", "replace").
TEST(Utf8, each_maximal_invalid_part_is_one_replacement) {
  const std::pair<std::string, std::u32string> cases[] = {
      {"\x80", U"\ufffd"},
      {"\xBF", U"\ufffd"},
      {"\xC0\x80", U"\ufffd\ufffd"},
      {"\xC1\xBF", U"\ufffd\ufffd"},
      {"\xC2", U"\ufffd"},
      {"\xC2\x41", U"\ufffdA"},
      {"\xC2\xC2", U"\ufffd\ufffd"},
      {"\xC2\xC2\x80", U"\ufffd\x80"},
      {"\xE0\x9F\xBF", U"\ufffd\ufffd\ufffd"},
      {"\xED\xA0\x80", U"\ufffd\ufffd\ufffd"},
      {"\xED\xBF\xBF", U"\ufffd\ufffd\ufffd"},
      {"\xE2\x82", U"\ufffd"},
      {"\xE2\x82x", U"\ufffdx"},
      {"\xF0\x8F\xBF\xBF", U"\ufffd\ufffd\ufffd\ufffd"},
      {"\xF4\x90\x80\x80", U"\ufffd\ufffd\ufffd\ufffd"},
      {"\xF5\x80", U"\ufffd\ufffd"},
      {"\xFF", U"\ufffd"},
      {"\xF0\x9F\x99", U"\ufffd"},
      {"\xF0\x9F\x99\xF0\x9F\x99\x82", U"\ufffd\U0001f642"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(decode_utf8(bytes), text);
    EXPECT_EQ(valid_utf8("é" + bytes), "é" + encode_utf8(text));
    EXPECT_FALSE(is_utf8(bytes));
    EXPECT_FALSE(is_utf8("é" + bytes + "é"));
  }
  // Bytes behind the end are ignored.
  EXPECT_FALSE(is_utf8(std::string_view("aé").substr(0, 2)));
  // U+FFFD itself is valid.
  EXPECT_TRUE(is_utf8("\ufffd"));
}

TEST(Utf8, invalid_code_points_become_the_replacement) {
  EXPECT_EQ(encode_utf8(std::u32string{0xd7ff, 0xd800, 0xdfff, 0xe000, 0x10ffff, 0x110000}),
            "\xed\x9f\xbf\ufffd\ufffd\xee\x80\x80\xf4\x8f\xbf\xbf\ufffd");
}

TEST(Utf8, iterates_in_both_directions) {
  const std::string text = "aé語😀z";
  const std::u32string points = U"aé語😀z";
  size_t at = 0;
  for (const char32_t c : points) EXPECT_EQ(next_character(text, at), c);
  EXPECT_EQ(at, text.size());
  for (size_t i = points.size(); i-- > 0;) EXPECT_EQ(previous_character(text, at), points[i]);
  EXPECT_EQ(at, 0u);
}

// For every cut, the head without its unfinished end, plus the rest, is the whole text.
TEST(Utf8, unfinished_ends) {
  const std::string text = "aé語😀z";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string_view begin = std::string_view(text).substr(0, cut);
    const size_t complete = cut - unfinished_utf8(begin);
    EXPECT_TRUE(is_utf8(begin.substr(0, complete))) << cut;
    EXPECT_TRUE(is_utf8(std::string_view(text).substr(complete))) << cut;
  }
  EXPECT_EQ(unfinished_utf8("a\xf0\x9f\x98"), 3u);
  EXPECT_EQ(unfinished_utf8("\xe2\x82"), 2u);
  EXPECT_EQ(unfinished_utf8("\xc3"), 1u);
  // These cannot become a character.
  for (const char* bytes :
       {"", "a", "é", "\x80", "\xc0", "\xe0\x9f", "\xed\xa0", "\xf0\x8f", "\xf4\x90", "\xf5", "\xe2x", "\x80\x80\x80\x80"})
    EXPECT_EQ(unfinished_utf8(bytes), 0u);
}

TEST(Utf8, latin1) {
  EXPECT_EQ(utf8_or_latin1("é"), "é");
  EXPECT_EQ(utf8_or_latin1("\xe9"), "é");
  EXPECT_EQ(latin1_to_utf8("a\xc3\xa9"), "aÃ©");
}

}  // namespace
}  // namespace hearth
