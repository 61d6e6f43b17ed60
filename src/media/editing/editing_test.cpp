// Preparation of images for inpainting, against Pillow and diffusers (golden/make_editing.py).
#include <gtest/gtest.h>
#include <zlib.h>

#include "media/editing/fit.h"
#include "media/editing/mask.h"
#include "media/editing/overlay.h"
#include "media/editing/region.h"
#include "media/editing/resample.h"
#include "media/golden_files_test.h"
#include "support/complaint.h"

namespace hearth {
namespace {

using test::complaint_of;
using test::from_base64;

const nlohmann::json& golden() {
  static const nlohmann::json json = test::golden_json("editing.json");
  return json;
}

constexpr int64_t W = 53, H = 41;
Pixels image(const char* name = "rgb") { return {.width = W, .height = H, .rgb = from_base64(golden()[name])}; }
PixelMask mask() { return {.width = W, .height = H, .values = from_base64(golden()["mask"])}; }

uint32_t checksum(const std::vector<uint8_t>& bytes) { return uint32_t(::crc32(0, bytes.data(), uInt(bytes.size()))); }

Fit fit_of(const std::string& name) { return name == "stretch" ? Fit::stretch : name == "crop" ? Fit::crop : Fit::fill; }

Region region_of(const nlohmann::json& r) { return {r[0], r[1], r[2], r[3]}; }

// Checksums of all bytes, here and below. Observed: no difference.
TEST(Editing, images_fit_as_in_pillow) {
  ASSERT_EQ(golden()["fits"].size(), 36u);
  for (const auto& c : golden()["fits"]) {
    const Pixels resized = fitted(image(), c["width"], c["height"], fit_of(c["how"]));
    EXPECT_EQ(checksum(resized.rgb), c["rgb"]) << c;
    EXPECT_EQ(resized.width, c["width"].get<int64_t>());
    EXPECT_EQ(resized.height, c["height"].get<int64_t>());
    EXPECT_EQ(checksum(fitted(mask(), c["width"], c["height"], fit_of(c["how"])).values), c["mask"]) << c;
  }
  const Pixels thin{.width = 30, .height = 1, .rgb = from_base64(golden()["thin"])};
  for (const auto& c : golden()["fits_thin"]) EXPECT_EQ(checksum(fitted(thin, c["width"], c["height"], Fit::fill).rgb), c["rgb"]) << c;
  EXPECT_EQ(fitted(thin, 8, 100, Fit::fill).height, 100);  // zero rows would remain, so it becomes one
}

TEST(Editing, masked_regions_grow_as_in_diffusers) {
  ASSERT_EQ(golden()["regions"].size(), 60u);
  for (const auto& c : golden()["regions"]) {
    PixelMask spot{.width = W, .height = H, .values = std::vector<uint8_t>(size_t(W * H))};
    const Region r = region_of(c["spot"]);
    for (int64_t y = r.top; y < r.bottom; ++y)
      for (int64_t x = r.left; x < r.right; ++x) spot.values[size_t(y * W + x)] = 1;
    EXPECT_EQ(masked_region(spot), r);
    EXPECT_EQ(grown(*masked_region(spot), c["padding"], spot, c["width"], c["height"]), region_of(c["region"])) << c;
  }
  EXPECT_EQ(masked_region({.width = 2, .height = 2, .values = {0, 0, 0, 0}}), std::nullopt);
  EXPECT_EQ(grown({1, 1, 2, 2}, INT64_MAX, mask(), 53, 41), (Region{0, 0, W, H}));
  EXPECT_EQ(complaint_of([] {
              grown({0, 0, 1, 1}, -1, mask(), 8, 8);
            }),
            "UsageError: only masked: a padding of -1 pixels, expected at least 0");
  const Region box = region_of(golden()["box"]);
  EXPECT_EQ(checksum(cropped(image(), box).rgb), golden()["cropped"]);
  EXPECT_EQ(checksum(cropped(mask(), box).values), golden()["cropped_mask"]);
  EXPECT_EQ(complaint_of([] { cropped(mask(), {0, 0, W + 1, 1}); }), "ShapeError: cropped: from 0, 0 to 54, 1 of an image of 53 × 41");
  for (const Region& none : {Region{-1, 0, 1, 1}, Region{0, -1, 1, 1}, Region{1, 0, 1, 1}, Region{0, 1, 1, 1}, Region{0, 0, 1, H + 1}})
    EXPECT_THROW(cropped(image(), none), ShapeError);
}

TEST(Editing, results_are_pasted_as_in_pillow) {
  const Pixels source = image(), painted = image("painted"), made = pasted(painted, source, mask());
  const std::vector<uint8_t> values = mask().values;
  EXPECT_EQ(checksum(made.rgb), golden()["pasted"]);
  for (size_t i = 0; i < size_t(W * H); ++i)
    for (size_t c = 0; c < 3; ++c) {
      if (values[i] == 0 || values[i] == 255) {
        const Pixels& from = values[i] == 0 ? source : painted;
        EXPECT_EQ(made.rgb[3 * i + c], from.rgb[3 * i + c]);
      }
    }
  const Pixels large{.width = 64, .height = 64, .rgb = from_base64(golden()["painted_64"])};
  EXPECT_EQ(checksum(pasted(large, image(), mask(), region_of(golden()["box"])).rgb), golden()["pasted_box"]);
  EXPECT_EQ(complaint_of([&] { pasted(large, image(), mask()); }), "ShapeError: overlay: a mask of 53 × 41 on an image of 64 × 64");
  EXPECT_THROW(pasted(image(), large, mask()), ShapeError);
  EXPECT_THROW(pasted(image(), large, mask(), {0, 0, 1, 1}), ShapeError);
}

TEST(Editing, masked_parts_are_filled_from_around_as_in_a1111) {
  EXPECT_EQ(checksum(filled_from_around(image(), mask()).rgb), golden()["filled"]);
  EXPECT_EQ(checksum(filled_from_around(image(), gaussian_blur(mask(), 3)).rgb), golden()["filled_blurred"]);
  EXPECT_THROW(filled_from_around({.width = 1, .height = 1, .rgb = {1, 2, 3}}, mask()), ShapeError);
}

}  // namespace
}  // namespace hearth
