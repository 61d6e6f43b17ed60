#include "media/editing/control_image.h"

#include <gtest/gtest.h>

#include "core/files/sha256.h"
#include "media/editing/edges.h"
#include "media/editing/resample.h"
#include "media/golden_files_test.h"
#include "support/complaint.h"

namespace hearth {
namespace {

using test::random_pixels;

// The pictures of golden/make_control.py.
Pixels picture(const std::string& kind, int64_t W, int64_t H) {
  if (kind == "random") return random_pixels(W, H, 3);
  Pixels out{.width = W, .height = H, .rgb = {}};
  const int64_t w = (W + 7) / 8;
  const Pixels coarse = random_pixels(w, (H + 7) / 8, 7);
  for (int64_t y = 0; y < H; ++y)
    for (int64_t x = 0; x < W; ++x)
      for (int64_t c = 0; c < 3; ++c)
        out.rgb.push_back(kind == "waves" ? uint8_t((x * x * (3 + c) + y * y * (5 - c) + x * y) / (60 + 7 * c) % 256)
                                          : coarse.rgb[size_t((y / 8 * w + x / 8) * 3 + c)]);
  return out;
}

TEST(ControlImage, canny_is_bit_identical_to_opencv) {
  int with_edges = 0;
  const auto golden = test::golden_json("control.json");
  for (const auto& c : golden.at("canny")) {
    SCOPED_TRACE(c.dump());
    const PixelMask edges = canny(picture(c.at("kind"), c.at("width"), c.at("height")), c.at("low"), c.at("high"));
    EXPECT_EQ(std::ranges::count(edges.values, 255), c.at("edges"));
    Sha256 sum;
    sum.add({reinterpret_cast<const char*>(edges.values.data()), edges.values.size()});
    EXPECT_EQ(sum.hex(), c.at("sha256"));
    with_edges += c.at("edges") > 0;
  }
  EXPECT_GE(with_edges, 20);
  EXPECT_THROW(canny(picture("waves", 8, 8), 200, 100), UsageError);
  EXPECT_THROW(canny(picture("waves", 8, 8), -1, 100), UsageError);
}

// The reference sums in f32, so that values may differ by one.
TEST(ControlImage, line_art_is_that_of_a1111) {
  const auto golden = test::golden_json("control.json");
  ASSERT_FALSE(golden.at("lineart").empty());
  for (const auto& c : golden.at("lineart")) {
    const Pixels made = control_image(picture(c.at("kind"), c.at("width"), c.at("height")), "lineart");
    const std::vector<uint8_t> wanted = test::from_base64(c.at("values"));
    ASSERT_EQ(made.rgb.size(), 3 * wanted.size());
    int64_t other = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_NEAR(made.rgb[3 * i], wanted[i], 1) << i;
      ASSERT_EQ(made.rgb[3 * i], made.rgb[3 * i + 2]);
      other += made.rgb[3 * i] != wanted[i];
    }
    EXPECT_LE(other, int64_t(wanted.size() / 100));
  }
}

TEST(ControlImage, simple_filters) {
  const Pixels small{.width = 2, .height = 1, .rgb = {0, 100, 255, 127, 128, 1}};
  EXPECT_EQ(control_image(small, ""), small);
  EXPECT_EQ(control_image(small, "invert").rgb, (std::vector<uint8_t>{255, 155, 0, 128, 127, 254}));
  EXPECT_EQ(control_image(small, "threshold").rgb, (std::vector<uint8_t>{0, 0, 255, 0, 255, 0}));
  EXPECT_EQ(control_image(small, "threshold:99.5").rgb, (std::vector<uint8_t>{0, 255, 255, 255, 255, 0}));
  const Pixels large = picture("waves", 64, 48);
  EXPECT_EQ(control_image(large, "tile"), resize(large, 16, 12, Filter::box));
}

TEST(ControlImage, shuffling_depends_on_the_seed_alone) {
  const Pixels image = picture("blocks", 96, 64);
  const Pixels a = control_image(image, "shuffle:3");
  EXPECT_EQ(a, control_image(image, "shuffle:3"));
  EXPECT_NE(a, control_image(image, "shuffle:4"));
  EXPECT_NE(a, image);
  EXPECT_EQ(a.width, 96);
  EXPECT_EQ(control_image(image, "shuffle"), control_image(image, "shuffle:0"));
  const Pixels flat{.width = 9, .height = 7, .rgb = std::vector<uint8_t>(9 * 7 * 3, 93)};
  EXPECT_EQ(control_image(flat, "shuffle:5"), flat);
}

TEST(ControlImage, what_is_wrong_is_said) {
  const auto complaint = [](const std::string& how) {
    return test::complaint_of([&] { control_image({.width = 1, .height = 1, .rgb = {1, 2, 3}}, how); });
  };
  EXPECT_EQ(complaint("sobel"),
            "UsageError: preprocess: 'sobel' is unknown, expected one of canny, threshold, blur, tile, invert, shuffle, lineart");
  EXPECT_EQ(complaint("threshold:300"), "UsageError: preprocess: the level of 'threshold:300' is 300, expected 0 to 255");
  EXPECT_EQ(complaint("invert:1"), "UsageError: preprocess: 'invert:1' has 1 values, expected at most 0");
  EXPECT_NE(complaint("canny:a").find("'a'"), std::string::npos);
  EXPECT_NE(complaint("canny:200:100").find("the lower one first"), std::string::npos);
}

}  // namespace
}  // namespace hearth
