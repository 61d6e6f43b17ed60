#include "media/formats/webp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "media/golden_files_test.h"
#include "support/complaint.h"

namespace hearth {
namespace {

using test::complaint_of;
using test::random_pixels;

PixelMask random_alpha(int64_t W, int64_t H) {
  PixelMask alpha{.width = W, .height = H, .values = {}};
  const Pixels random = random_pixels(W, H, 9);
  for (size_t i = 0; i < random.rgb.size(); i += 3) alpha.values.push_back(random.rgb[i] < 100 ? 0 : random.rgb[i]);
  return alpha;
}

double error(const Pixels& a, const Pixels& b) {  // root of the mean square
  double sum = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) sum += std::pow(int(a.rgb[i]) - int(b.rgb[i]), 2);
  return std::sqrt(sum / double(a.rgb.size()));
}

TEST(WebP, lossless_comes_back_as_written_with_its_metadata) {
  const Pixels image = random_pixels(23, 11, 3);
  const PixelMask alpha = random_alpha(23, 11);
  const WebP plain = decode_webp(encode_webp(image, {}, {.lossless = true}), "memory");
  EXPECT_TRUE(plain.image == image);
  EXPECT_EQ(plain.alpha, PixelMask{});
  EXPECT_EQ(plain.kind, "lossless");
  EXPECT_TRUE(plain.exif.empty() && plain.xmp.empty() && plain.notes.empty());
  const std::string exif(100'001, 'e');
  const WebP webp = decode_webp(encode_webp(image, alpha, {.lossless = true, .exif = exif, .xmp = "<x>"}), "memory");
  EXPECT_TRUE(webp.image == image);  // even where it is transparent
  EXPECT_EQ(webp.alpha, alpha);
  EXPECT_TRUE(webp.exif == exif);
  EXPECT_EQ(webp.xmp, "<x>");
}

// The image of golden/make_pictures.py, whose noisy chroma WebP subsamples. Observed: RMS errors of 32.0, 33.7 and 52.3.
TEST(WebP, quality_trades_size_for_error) {
  const auto g = test::golden_json("pillow/pictures.json")["written"];
  const Pixels image{.width = g["width"], .height = g["height"], .rgb = test::from_base64(g["rgb"])};
  double last_error = 0;
  size_t last_size = size_t(1) << 30;
  for (const int quality : {100, 50, 0}) {
    const std::string bytes = encode_webp(image, {}, {.quality = quality});
    const WebP webp = decode_webp(bytes, "memory");
    EXPECT_EQ(webp.kind, "lossy");
    EXPECT_LT(bytes.size(), last_size) << quality;
    EXPECT_GT(error(webp.image, image), last_error) << quality;
    last_size = bytes.size();
    last_error = error(webp.image, image);
    if (std::getenv("HEARTH_PRINT_ERRORS")) fmt::print("webp quality {}: {} bytes, error {}\n", quality, last_size, last_error);
  }
  EXPECT_LT(last_error, 60);
  const PixelMask alpha = random_alpha(40, 30);
  EXPECT_EQ(decode_webp(encode_webp(image, alpha), "memory").alpha, alpha);  // transparency is lossless
}

TEST(WebP, refuses_values_out_of_range) {
  const Pixels image = random_pixels(2, 1, 1);
  EXPECT_EQ(complaint_of([&] { encode_webp(image, {}, {.quality = -1}); }), "UsageError: webp: quality -1, expected 0 to 100");
  EXPECT_EQ(complaint_of([&] { encode_webp(image, {}, {.quality = 101}); }), "UsageError: webp: quality 101, expected 0 to 100");
  EXPECT_EQ(complaint_of([&] {
              encode_webp(image, {.width = 1, .height = 2, .values = {1, 2}});
            }),
            "ShapeError: webp: alpha of 1 × 2 for an image of 2 × 1");
  EXPECT_EQ(complaint_of([] { encode_webp({.width = 16'384, .height = 1, .rgb = std::vector<uint8_t>(16'384 * 3)}, {}); }),
            "UsageError: webp: 16384 × 1 is out of range, expected sides of at most 16383");
  EXPECT_EQ(decode_webp(encode_webp({.width = 16'383, .height = 1, .rgb = std::vector<uint8_t>(16'383 * 3)}, {}), "x").image.width, 16'383);
  for (const Pixels& wrong :
       {Pixels{.width = 2, .height = 2, .rgb = {1, 2, 3}}, Pixels{}, Pixels{.width = 1, .height = 1, .rgb = {1, 2, 3, 4}}})
    EXPECT_THROW(encode_webp(wrong, {}), ShapeError);
}

}  // namespace
}  // namespace hearth
