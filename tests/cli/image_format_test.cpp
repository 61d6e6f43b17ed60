// hearth generate to JPEG and WebP files.
#include <fmt/format.h>

#include "cli/generate_test.h"
#include "hearth/hearth.h"
#include "support/complaint.h"

namespace hearth::test {
namespace {

class ImageFormatTest : public GenerateTest {};

TEST_F(ImageFormatTest, jpeg_and_webp_store_generation_parameters_too) {
  ASSERT_EQ(generate({"--prompt", "a red house, \"big\" <&>: 日本", "--output", "a.png"}).code, 0);
  const Image png = Image::load(folder / "a.png");
  for (const char* name : {"b.jpg", "b.JPEG", "b.webp"}) {
    ASSERT_EQ(generate({"--prompt", "a red house, \"big\" <&>: 日本", "--output", name}).code, 0) << name;
    const Image image = Image::load(folder / name);
    EXPECT_EQ(image.parameters, png.parameters) << name;
    EXPECT_EQ(image.json, png.json) << name;
    EXPECT_EQ(image.width, png.width) << name;
    int64_t difference = 0;
    for (size_t i = 0; i < png.rgb.size(); ++i) difference += std::abs(int(image.rgb[i]) - int(png.rgb[i]));
    EXPECT_LT(difference, int64_t(png.rgb.size()) * 12) << name;  // 12 of 255 on average
    EXPECT_GT(difference, 0) << name;
    const Json inspected = Json::parse(run({"inspect", name, "--json"}).out);
    EXPECT_EQ(inspected["hearth"]["prompt"], "a red house, \"big\" <&>: 日本");
    EXPECT_EQ(inspected["format"], name[2] == 'w' ? "WebP" : "JPEG");
  }
}

TEST_F(ImageFormatTest, unsupported_options_of_a_format_fail_before_loading) {
  const auto refused = [&](const Arguments& more) {
    const Ended r = generate(more);
    EXPECT_EQ(not_one_line(r, 2), "");  // nothing was loaded
    return r.err;
  };
  for (const char* name : {"a", "a.gif", "png", ".png", "", "a.png/", "a.png.txt"})
    EXPECT_EQ(refused({"--output", name}),
              fmt::format("hearth: image: '{}' has an unsupported extension, expected .png, .jpg, .jpeg or .webp\n", name));
  EXPECT_EQ(refused({"--output", "a.webp", "--width", "16384"}),
            "hearth: image: a side of 16384 pixels for WebP, expected at most 16383\n");
  EXPECT_EQ(refused({"--output", "a.jpg", "--height", "65504"}),
            "hearth: image: a side of 65504 pixels for JPEG, expected at most 65500\n");
  EXPECT_EQ(refused({"--output", "a.jpg", "--quality", "0"}), "hearth: image: quality 0 for JPEG, expected 1 to 100\n");
  EXPECT_EQ(refused({"--output", "a.jpg", "--prompt", std::string(40'000, 'x')}),
            "hearth: image: prompts of 40000 bytes exceed a JPEG's 64 kB of metadata, expected PNG or WebP\n");
  EXPECT_EQ(generate({"--output", "a.jpg", "--prompt", std::string(25'000, 'x'), "--steps", "1"}).code, 0);
  EXPECT_EQ(files(), Arguments{"a.jpg"});
}

TEST_F(ImageFormatTest, an_image_is_saved_with_its_options_or_not_at_all) {
  Image image{
      .width = 2, .height = 1, .rgb = {1, 2, 3, 250, 251, 252}, .alpha = {9, 255}, .rgb16 = {300, 600, 900, 64'100, 64'300, 64'600}};
  for (const char* name : {"a.png", "a.webp"}) {
    image.save(folder / name, {.lossless = name[2] == 'w'});
    const Image read = Image::load(folder / name);
    EXPECT_EQ(read.rgb, image.rgb) << name;
    EXPECT_EQ(read.alpha, image.alpha) << name;
    EXPECT_TRUE(read.rgb16.empty()) << name;
  }
  image.save(folder / "a.png", {.png_bits = 16});
  EXPECT_EQ(Image::load(folder / "a.png").rgb16, image.rgb16);
  EXPECT_EQ(Image::load(folder / "a.png").alpha, image.alpha);

  const auto refused = [&](const char* name, const SaveOptions& options) {
    return complaint_of([&] { image.save(folder / name, options); });
  };
  EXPECT_NE(refused("b.jpg", {}).find("is transparent, which JPEG does not support"), std::string::npos);
  image.rgb16.clear();
  EXPECT_NE(refused("b.png", {.png_bits = 16}).find("expected Request::deep_color"), std::string::npos);
  EXPECT_EQ(refused("b.png", {.png_bits = 12}), "UsageError: image: 12 bits, expected 8 or 16");
  EXPECT_EQ(refused("b.png", {.quality = 90}), "UsageError: image: quality 90 requires JPEG or WebP, PNG is lossless");
  EXPECT_EQ(refused("b.png", {.lossless = true}), "UsageError: image: lossless requires WebP, not PNG");
  EXPECT_EQ(refused("b.webp", {.quality = 90, .lossless = true}), "UsageError: image: quality 90 cannot be combined with lossless");
  EXPECT_EQ(refused("b.webp", {.jpeg_chroma = JpegChroma::half}), "UsageError: image: chroma subsampling requires JPEG, not WebP");
  EXPECT_EQ(refused("b.webp", {.png_bits = 8}), "UsageError: image: 8 bits per channel require PNG, WebP has 8");
  EXPECT_EQ(refused("b.webp", {.quality = 101}), "UsageError: image: quality 101 for WebP, expected 0 to 100");
  EXPECT_EQ(files(), (Arguments{"a.png", "a.webp"}));
}

}  // namespace
}  // namespace hearth::test
