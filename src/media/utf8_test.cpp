#include "media/utf8.h"

#include <gtest/gtest.h>

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
  }
}

TEST(Utf8, what_is_not_well_formed) {
  for (const char* bytes :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF", "\xF0\x9F\x99", "\xC2\xC2", "\xC2\xC2\x80"})
    EXPECT_FALSE(decode_utf8(bytes)) << bytes;
  EXPECT_FALSE(decode_utf8(std::string_view("aé").substr(0, 2)));  // what stands behind the end does not count
}

}  // namespace
}  // namespace hearth
