#include "media/formats/jpeg.h"

#include <gtest/gtest.h>

#include "media/golden_files_test.h"
#include "support/complaint.h"

namespace hearth {
namespace {

using test::complaint_of;
using test::from_base64;
using test::random_pixels;

// Pillow's file of the same image and settings decodes to these pixels. Observed: no difference.
TEST(Jpeg, is_written_as_pillow_writes_it) {
  const auto g = test::golden_json("pillow/pictures.json")["written"];
  const Pixels image{.width = g["width"], .height = g["height"], .rgb = from_base64(g["rgb"])};
  ASSERT_EQ(g["jpeg"].size(), 5u);
  for (const auto& c : g["jpeg"]) {
    const bool full = c["full"];
    const std::string bytes = encode_jpeg(image, {.quality = c["quality"], .chroma = full ? Chroma::full : Chroma::half});
    const Jpeg jpeg = decode_jpeg(bytes, "memory");
    EXPECT_TRUE(jpeg.image.rgb == from_base64(c["rgb"])) << c["quality"] << full;
    EXPECT_EQ(jpeg.kind, full ? "baseline, YCbCr 4:4:4" : "baseline, YCbCr 4:2:0");
    EXPECT_TRUE(jpeg.exif.empty() && jpeg.xmp.empty() && jpeg.notes.empty());
  }
}

TEST(Jpeg, metadata_up_to_the_size_of_a_segment_are_read_back) {
  const Pixels image = random_pixels(9, 4, 1);
  const std::string exif(65'527, 'e'), xmp(65'504, 'x');
  const Jpeg jpeg = decode_jpeg(encode_jpeg(image, {.exif = exif, .xmp = xmp}), "memory");
  EXPECT_TRUE(jpeg.exif == exif);
  EXPECT_TRUE(jpeg.xmp == xmp);
  const std::string one_more = exif + "e";
  EXPECT_EQ(complaint_of([&] { encode_jpeg(image, {.exif = one_more}); }),
            "UsageError: jpeg: 65528 bytes of EXIF and 0 of XMP, expected at most 65527 and 65504");
  EXPECT_NE(complaint_of([&] { encode_jpeg(image, {.xmp = exif}); }), "");
}

TEST(Jpeg, a_segment_that_is_longer_than_the_file_is_its_end) {
  const std::string good = encode_jpeg(random_pixels(9, 4, 1));
  const auto with_segment = [&](const std::string& length) { return good.substr(0, 2) + "\xFF\xE5" + length + good.substr(2); };
  EXPECT_EQ(complaint_of([&] { decode_jpeg(with_segment("\xFF\xFF"), "x"); }), "IoError: jpeg: x: the file ends too early");
  EXPECT_EQ(decode_jpeg(with_segment(std::string("\0\2", 2)), "x").image, decode_jpeg(good, "x").image);
}

TEST(Jpeg, refuses_values_out_of_range) {
  const Pixels image = random_pixels(2, 1, 1);
  EXPECT_EQ(complaint_of([&] { encode_jpeg(image, {.quality = 0}); }), "UsageError: jpeg: quality 0, expected 1 to 100");
  EXPECT_EQ(complaint_of([&] { encode_jpeg(image, {.quality = 101}); }), "UsageError: jpeg: quality 101, expected 1 to 100");
  EXPECT_EQ(complaint_of([] { encode_jpeg({.width = 65'501, .height = 1, .rgb = std::vector<uint8_t>(65'501 * 3)}); }),
            "UsageError: jpeg: 65501 × 1 is out of range, expected sides of at most 65500");
  EXPECT_EQ(decode_jpeg(encode_jpeg({.width = 1, .height = 65'500, .rgb = std::vector<uint8_t>(65'500 * 3)}), "x").image.height, 65'500);
  for (const Pixels& wrong :
       {Pixels{.width = 2, .height = 2, .rgb = {1, 2, 3}}, Pixels{}, Pixels{.width = 1, .height = 1, .rgb = {1, 2, 3, 4}}})
    EXPECT_THROW(encode_jpeg(wrong), ShapeError);
}

}  // namespace
}  // namespace hearth
