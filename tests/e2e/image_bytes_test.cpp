// Image files in memory.
#include <gtest/gtest.h>

#include "core/files/file.h"
#include "hearth/hearth.h"
#include "support/complaint.h"
#include "support/files.h"

namespace hearth {
namespace {

Image picture() {
  Image image{.width = 5, .height = 3, .rgb = {}, .parameters = "a house\nSteps: 20, Sampler: Euler, Size: 5x3", .json = R"({"a": 1})"};
  for (int i = 0; i < 45; ++i) image.rgb.push_back(uint8_t(5 * i));
  return image;
}

TEST(ImageBytes, are_those_of_the_file) {
  const test::TemporaryFolder folder;
  for (const char* name : {"a.png", "a.jpg", "a.webp"}) {
    const Image image = picture();
    image.save(folder / name);
    const std::string bytes = image.encode(name);
    EXPECT_EQ(bytes, read_file(folder / name)) << name;
    const Image loaded = Image::load(folder / name), decoded = Image::decode(bytes, name);
    EXPECT_EQ(decoded.rgb, loaded.rgb) << name;
    for (const Image& read : {loaded, decoded}) {
      EXPECT_EQ(read.parameters, image.parameters) << name;
      EXPECT_EQ(read.json, image.json) << name;
    }
  }
  EXPECT_EQ(Image::decode(picture().encode("a.png"), "a").rgb, picture().rgb);
  EXPECT_THROW(picture().encode("a.gif"), UsageError);
}

TEST(ImageBytes, refuse_more_pixels_than_the_caller_allows) {
  const std::string bytes = picture().encode("a.png");
  EXPECT_EQ(Image::decode(bytes, "a", 15).width, 5);
  for (const auto& damaged : {bytes.substr(0, 40), bytes.substr(0, 20), std::string("text")})
    EXPECT_NE(test::complaint_of([&] { Image::decode(damaged, "the mask"); }).find("the mask"), std::string::npos);
  EXPECT_NE(test::complaint_of([&] { Image::decode(bytes, "the mask", 14); }).find("the mask"), std::string::npos);
}

}  // namespace
}  // namespace hearth
