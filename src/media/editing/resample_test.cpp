#include "media/editing/resample.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "media/editing/mask.h"
#include "media/golden_files_test.h"
#include "support/complaint.h"

namespace hearth {
namespace {

using test::complaint_of;
using test::from_base64;

const nlohmann::json& golden() {
  static const nlohmann::json json = test::golden_json("pillow/processing.json");
  return json;
}

Pixels image() { return {.width = 37, .height = 29, .rgb = from_base64(golden()["rgb"])}; }
PixelMask mask() { return {.width = 37, .height = 29, .values = from_base64(golden()["mask"])}; }
std::vector<float> floats(const std::string& name) {
  const std::vector<uint8_t> bytes = from_base64(golden()[name]);
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class T> uint32_t checksum(const std::vector<T>& values) {
  return uint32_t(::crc32(0, reinterpret_cast<const Bytef*>(values.data()), uInt(values.size() * sizeof(T))));
}

Filter filter_of(const std::string& name) {
  if (name == "nearest") return Filter::nearest;
  if (name == "box") return Filter::box;
  if (name == "bilinear") return Filter::bilinear;
  return name == "bicubic" ? Filter::bicubic : Filter::lanczos;
}

// Checksums of all bytes. Observed: no difference.
TEST(Resample, is_pillows_bit_for_bit) {
  const Pixels wide{.width = 3001, .height = 2, .rgb = from_base64(golden()["wide"])};
  const std::vector<float> x = floats("floats");
  ASSERT_EQ(golden()["resampled"].size(), 80u);
  for (const auto& c : golden()["resampled"]) {
    const int64_t W = c["width"], H = c["height"];
    const Filter filter = filter_of(c["filter"]);
    if (c.contains("wide")) {
      EXPECT_EQ(checksum(resize(wide, W, H, filter).rgb), c["wide"]) << c;
      continue;
    }
    EXPECT_EQ(checksum(resize(image(), W, H, filter).rgb), c["rgb"]) << c;
    EXPECT_EQ(checksum(resize(mask(), W, H, filter).values), c["mask"]) << c;
    EXPECT_EQ(checksum(resize(x, 37, 29, W, H, filter)), c["floats"]) << c;
    EXPECT_EQ(resize(mask(), W, H, filter).width, W);
    EXPECT_EQ(resize(image(), W, H, filter).height, H);
  }
}

// VaeImageProcessor.preprocess: lanczos, / 255, × 2 − 1.
TEST(Resample, as_diffusers_prepares_a_image) {
  const Pixels small = resize(image(), 16, 24, Filter::lanczos);
  EXPECT_EQ(small.rgb, from_base64(golden()["lanczos_16x24"]));
  EXPECT_EQ(to_floats(small, PixelRange::minus_one_to_one), floats("processed"));
  EXPECT_EQ(to_floats(PixelMask{.width = 3, .height = 1, .values = {0, 51, 255}}, PixelRange::zero_to_one),
            (std::vector<float>{0, 0.2f, 1}));
}

TEST(Resample, refuses_invalid_sizes) {
  EXPECT_EQ(complaint_of([] { resize(image(), 0, 1, Filter::box); }),
            "ShapeError: resize: the size is 0 × 1, expected sides of at least 1");
  EXPECT_EQ(complaint_of([] { resize(image(), 5, -1, Filter::nearest); }),
            "ShapeError: resize: the size is 5 × -1, expected sides of at least 1");
  EXPECT_EQ(complaint_of([] {
              resize(Pixels{.width = 2, .height = 1, .rgb = {1, 2, 3}}, 1, 1, Filter::box);
            }),
            "ShapeError: resize: 3 values for 2 × 1, expected 3 per pixel");
  EXPECT_THROW(resize(PixelMask{}, 1, 1, Filter::box), ShapeError);
}

TEST(Masks, are_blurred_as_pillow_blurs_them) {
  EXPECT_EQ(gaussian_blur(mask(), 4).values, from_base64(golden()["blurred_4"]));
  for (const auto& c : golden()["blurred"]) EXPECT_EQ(checksum(gaussian_blur(mask(), c["radius"]).values), c["values"]) << c;
  PixelMask row{.width = 37, .height = 1, .values = mask().values};
  row.values.resize(37);
  for (const auto& c : golden()["blurred_one_row"]) EXPECT_EQ(checksum(gaussian_blur(row, c["radius"]).values), c["values"]) << c;
  for (const double radius : {-1.0, 2e6, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_NE(complaint_of([&] { gaussian_blur(mask(), radius); }).find("UsageError: gaussian_blur: radius "), std::string::npos);
}

TEST(Masks, are_extended_inverted_and_made_of_images_as_in_pillow) {
  const auto b = golden()["border"].get<std::vector<int64_t>>();
  const Margins margins{.left = b[0], .top = b[1], .right = b[2], .bottom = b[3]};
  const Pixels canvas = extended(image(), margins, {9, 8, 7});
  EXPECT_EQ(canvas.width, 45);
  EXPECT_EQ(canvas.height, 31);
  EXPECT_EQ(canvas.rgb, from_base64(golden()["expanded"]));
  EXPECT_EQ(extended(mask(), margins, 200).values, from_base64(golden()["expanded_mask"]));
  EXPECT_EQ(extended(mask(), margins, 200).width, 45);
  EXPECT_EQ(inverted(mask()).values, from_base64(golden()["inverted"]));
  EXPECT_EQ(luma(image()).values, from_base64(golden()["grey"]));
  EXPECT_EQ(luma(image()).height, 29);
  EXPECT_EQ(complaint_of([] { extended(mask(), {.top = -1}, 0); }), "UsageError: extended: margins 0, -1, 0, 0, expected 0 or more");
}

}  // namespace
}  // namespace hearth
