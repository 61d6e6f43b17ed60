#include "media/metadata/exif.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "media/golden_files_test.h"
#include "media/metadata/xmp.h"

namespace hearth {
namespace {

using namespace std::string_literals;

// piexif omits the four bytes that end the inner directory.
TEST(Exif, is_written_as_piexif_writes_it) {
  const auto g = test::golden_json("pillow/pictures.json");
  const std::vector<uint8_t> bytes = test::from_base64(g["a1111_exif"]);
  const std::string piexif(bytes.begin(), bytes.end()), ours = "Exif\0\0"s + write_exif(g["a1111"].get<std::string>());
  EXPECT_EQ(parse_exif(piexif).user_comment, g["a1111"]);
  EXPECT_EQ(ours.size(), piexif.size() + 4);
  EXPECT_EQ(ours.substr(0, 42), piexif.substr(0, 42));
  EXPECT_EQ(ours.substr(50), piexif.substr(46));  // UNICODE and the text
  EXPECT_EQ(parse_exif(ours).user_comment, g["a1111"]);
  EXPECT_EQ(parse_exif(write_exif("日本")).user_comment, "日本");  // no zero byte indicates the order
  EXPECT_EQ(parse_exif(write_exif("")).user_comment, "");
  EXPECT_THROW(write_exif("\xff"), UsageError);
}

// One directory with the given fields: tag, type, count, value (4 bytes).
std::string little(const std::vector<std::array<uint32_t, 4>>& fields, const std::string& behind = "") {
  std::string out = "II*\0\x08\0\0\0"s;
  const auto put = [&out](uint32_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) out += char(v >> 8 * i);
  };
  put(uint32_t(fields.size()), 2);
  for (const auto& [tag, type, count, value] : fields) put(tag, 2), put(type, 2), put(count, 4), put(value, 4);
  put(0, 4);
  return out + behind;
}

TEST(Exif, fields_in_either_byte_order_and_of_either_width) {
  EXPECT_EQ(parse_exif(little({{0x0112, 3, 1, 7}})).orientation, 7);
  EXPECT_EQ(parse_exif(little({{0x0112, 4, 1, 8}})).orientation, 8);
  EXPECT_EQ(parse_exif(little({{0x0112, 2, 4, 0x61}})).orientation, std::nullopt);
  EXPECT_EQ(parse_exif("MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\5\0\0\0\0\0\0"s).orientation, 5);
  const Exif texts = parse_exif(little({{0x010F, 2, 3, 0x006261}, {0x0110, 2, 6, 26 + 12}}, "caf\xe9\0\0"s));
  EXPECT_EQ(texts.texts, (std::vector<std::pair<uint16_t, std::string>>{{0x010F, "ab"}, {0x0110, "café"}}));
}

TEST(Exif, comments_of_every_kind) {
  const auto comment = [](const std::string& data) {
    const std::string inner = "\1\0\x86\x92\7\0"s + char(data.size()) + "\0\0\0\x2c\0\0\0\0\0\0\0"s;
    return parse_exif(little({{0x8769, 4, 1, 26}}, inner + data)).user_comment;
  };
  EXPECT_EQ(comment("ASCII\0\0\0abc"s), "abc");
  EXPECT_EQ(comment("\0\0\0\0\0\0\0\0caf\xe9\0\0"s), "café");
  EXPECT_EQ(comment("UNICODE\0a\0b\0"s), "ab");
  EXPECT_EQ(comment("UNICODE\0\0a\0b"s), "ab");
  EXPECT_EQ(comment("UNICODE\0\xFE\xFF"
                    "e\xe5"s),
            "日");
  EXPECT_EQ(comment("UNICODE\0\xFF\xFE\xe5"
                    "e"s),
            "日");
  EXPECT_EQ(comment("UNICODE\0\xe5"
                    "e"s),
            "日");  // in the byte order of the block
  EXPECT_EQ(comment("UNICODE\0\x3d\xd8\x42\xde"
                    "a\0"s),
            "🙂a");
  EXPECT_EQ(comment("UNICODE\0a\0\x3d\xd8"
                    "b\0"s),
            "a\uFFFDb");
  EXPECT_EQ(comment("short"), "");
}

TEST(Exif, damaged_fields_are_ignored) {
  for (const std::string& bytes : {""s, "Exif\0\0"s, "II*\0"s, "XX*\0\x08\0\0\0"s, "II*\0\xff\xff\xff\xff"s, "II*\0\x08\0\0\0\xff\xff"s})
    EXPECT_EQ(parse_exif(bytes).orientation, std::nullopt);
  EXPECT_TRUE(parse_exif(little({{0x010F, 2, 0xFFFFFFFF, 8}})).texts.empty());
  EXPECT_TRUE(parse_exif(little({{0x010F, 2, 100, 26}})).texts.empty());
  // After the block's 26 bytes and the 8 of a value; a value that ends with the block is complete.
  for (const uint32_t offset : {27u, 34u, 35u, 1000u, 0xFFFFFFF8u})
    EXPECT_TRUE(parse_exif(little({{0x010F, 2, 8, offset}}, "12345678")).texts.empty()) << offset;
  EXPECT_EQ(parse_exif(little({{0x010F, 2, 8, 26}}, "12345678")).texts.size(), 1u);
  EXPECT_TRUE(parse_exif(little({{0x010F, 2, 0, 26}, {0x0110, 99, 1, 26}})).texts.empty());  // no value; unknown type
  EXPECT_EQ(parse_exif(little({{0x8769, 4, 1, 8}})).user_comment, "");                       // a directory that points to itself
  const std::string whole = little({{0x0112, 3, 1, 6}});
  for (size_t n = 0; n < 22; ++n) EXPECT_EQ(parse_exif(whole.substr(0, n)).orientation, std::nullopt) << n;
}

TEST(Xmp, texts_come_back_and_are_found_under_any_prefix) {
  for (const std::string text : {"", "a < b && c > \"d\" &amp; 'e'", "日本\n&#65;", "{\"hearth\":\"0.1.0\"}"})
    EXPECT_EQ(xmp_text(write_xmp("recipe", text), "recipe"), text);
  EXPECT_EQ(xmp_text(write_xmp("recipe", "x"), "recip"), std::nullopt);
  EXPECT_EQ(xmp_text("<a:b c=\"d\">1</a:b><x:b>2</x:b>", "b"), "2");
  EXPECT_EQ(xmp_text("</a:b><a:b>1 &#x41;&#66;&lt;&bad; &; &#xD800; &", "b"), std::nullopt);
  EXPECT_EQ(xmp_text("</a:b><a:b>1 &#x41;&#66;&lt;&bad; &; &#xD800; &</a:b>", "b"), "1 AB<&bad; &; &#xD800; &");
  EXPECT_EQ(xmp_text("", "b"), std::nullopt);
}

TEST(Xmp, orientation_as_attribute_or_element) {
  EXPECT_EQ(xmp_orientation("<a tiff:Orientation=\"6\"/>"), 6);
  EXPECT_EQ(xmp_orientation("<tiff:Orientation>3</tiff:Orientation>"), 3);
  EXPECT_EQ(xmp_orientation("tiff:Orientation='6' tiff:Orientation=\"x tiff:Orientation=\"2"), 2);
  for (const char* none : {"", "tiff:Orientation", "tiff:Orientation=\"", "exif:Orientation=\"6\""})
    EXPECT_EQ(xmp_orientation(none), std::nullopt);
}

}  // namespace
}  // namespace hearth
