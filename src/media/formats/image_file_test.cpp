#include "media/formats/image_file.h"

#include <gtest/gtest.h>

#include "core/files/file.h"
#include "media/formats/png_chunks.h"
#include "media/formats/webp.h"
#include "media/golden_files_test.h"
#include "support/complaint.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using test::complaint_of;
using test::from_base64;
using test::golden_file;

const nlohmann::json& golden() {
  static const nlohmann::json json = test::golden_json("pillow/pictures.json");
  return json;
}

LoadedImage read(const std::string& name) { return read_image(golden_file("pillow/" + name)); }

// Every value of every pixel, after applying the orientation, and every alpha value. Observed: no difference.
TEST(LoadedImage, every_kind_is_read_as_pillow_reads_it) {
  EXPECT_EQ(golden()["shown"].size(), 99u);
  for (const auto& [name, expected] : golden()["shown"].items()) {
    const LoadedImage image = read_image(golden_file(name));
    EXPECT_EQ(image.image.width, expected["width"]) << name;
    EXPECT_EQ(image.image.height, expected["height"]) << name;
    EXPECT_TRUE(image.image.rgb == from_base64(expected["rgb"])) << name;
    EXPECT_TRUE(image.alpha.values == from_base64(expected["alpha"])) << name;
    EXPECT_EQ(image.alpha.width, expected["alpha"] == "" ? 0 : expected["width"].get<int64_t>()) << name;
    const char* ending = image.format == ImageFormat::png ? "png" : image.format == ImageFormat::jpeg ? "jpg" : "webp";
    EXPECT_TRUE(name.ends_with(ending)) << name;
  }
}

TEST(LoadedImage, format_and_orientation) {
  const std::pair<const char*, const char*> kinds[] = {{"full.jpg", "baseline, YCbCr 4:4:4"},
                                                       {"half.jpg", "baseline, YCbCr 4:2:0"},
                                                       {"half_across.jpg", "baseline, YCbCr 4:2:2"},
                                                       {"half_down.jpg", "baseline, YCbCr 4:4:0"},
                                                       {"quarter.jpg", "baseline, YCbCr 4:1:1"},
                                                       {"progressive.jpg", "progressive, YCbCr 4:2:0"},
                                                       {"rgb.jpg", "baseline, RGB 4:4:4"},
                                                       {"grey.jpg", "baseline, gray"},
                                                       {"cmyk.jpg", "baseline, CMYK 4:4:4"},
                                                       {"ycck.jpg", "baseline, YCCK 4:4:4"},
                                                       {"arithmetic.jpg", "arithmetic coding, YCbCr 4:2:0"},
                                                       {"arithmetic_progressive.jpg", "progressive, arithmetic coding, YCbCr 4:2:0"},
                                                       {"lossy.webp", "lossy"},
                                                       {"lossless_alpha.webp", "lossless"},
                                                       {"grey_alpha.png", "8 bits, gray with alpha"},
                                                       {"palette_alpha.png", "8 bits, palette"}};
  for (const auto& [name, kind] : kinds) EXPECT_EQ(read(name).kind, kind) << name;
  for (int n = 0; n < 10; ++n)
    for (const char* ending : {"jpg", "webp", "png"}) EXPECT_EQ(read(fmt::format("turned{}.{}", n, ending)).orientation, n) << ending;
  EXPECT_EQ(read("turned_little.jpg").orientation, 6);
  EXPECT_EQ(read("turned_xmp.png").orientation, 8);
  EXPECT_EQ(read("turned_xmp.webp").orientation, 5);
  EXPECT_EQ(read("turned_profile.png").orientation, 6);
}

TEST(LoadedImage, sixteen_bits_are_turned_upright_too) {
  const DeepPixels deep{.width = 2, .height = 1, .rgb = {1, 2, 3, 40'000, 50'000, 60'000}};
  std::string bytes = encode_png(deep);
  bytes.insert(33,
               "\0\0\0\x1a"
               "eXIf"
               "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0"
               "\0\0\0\0"s);
  const LoadedImage image = decode_image(test::with_checksums(bytes), "x");
  EXPECT_EQ(image.orientation, 6);
  EXPECT_EQ(image.deep, (DeepPixels{.width = 1, .height = 2, .rgb = deep.rgb}));
  EXPECT_EQ(image.image.height, 2);
}

TEST(LoadedImage, how_it_was_made_is_found_wherever_programs_write_it) {
  const std::string text = golden()["a1111"];
  for (const char* name : {"a1111.jpg", "a1111.webp", "little_comment.jpg"}) {
    ASSERT_NE(read(name).find("parameters"), nullptr) << name;
    EXPECT_EQ(*read(name).find("parameters"), text) << name;
    EXPECT_EQ(read(name).texts.size(), 1u) << name;
  }
  EXPECT_EQ(*read("ascii_comment.webp").find("parameters"), "a cat\nSteps: 1, Sampler: DDIM, Seed: 2");
  EXPECT_EQ(*read("comment.jpg").find("parameters"), "a red house\nSteps: 20, Sampler: Euler, Seed: 7");
  EXPECT_EQ(*read("comfyui.webp").find("prompt"), "{\"1\": \"cat\"}");
  EXPECT_EQ(*read("comfyui.webp").find("workflow"), "{\"nodes\": []}");
  EXPECT_EQ(*read("sdcpp.webp").find("parameters"), "a <lora:x:1> & \"cat\"\nSteps: 1, Sampler: DDIM, Seed: 2");
  EXPECT_TRUE(read("half.jpg").texts.empty());
  EXPECT_EQ(read("half.jpg").find("parameters"), nullptr);
}

TEST(LoadedImage, color_profiles_are_noted) {
  const std::vector<std::string> note = {"the embedded color profile is ignored, sRGB assumed"};
  EXPECT_EQ(read("profile.jpg").notes, note);
  EXPECT_EQ(read("profile.webp").notes, note);
  EXPECT_TRUE(read("half.jpg").notes.empty());
}

TEST(LoadedImage, unreadable_files_are_refused_in_one_line) {
  EXPECT_EQ(golden()["hostile"].size(), 26u);
  for (const auto& [name, recorded] : golden()["hostile"].items()) {
    const std::string message = complaint_of([&, name = name] { read(name); });
    std::string says = recorded.get<std::string>();  // in the words of an earlier version
    for (const auto& [before, now] :
         {std::pair{"needed", "expected"}, {"is no picture", "is not an image"}, {"picture", "image"}, {"colours", "channels"}})
      if (const size_t at = says.find(before); at != says.npos) says.replace(at, std::string_view(before).size(), now);
    EXPECT_NE(message.find(": "), std::string::npos) << name;
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_EQ(message.starts_with("UnsupportedError: "),
              says.find("expected") != std::string::npos && says.find("not an image") == std::string::npos)
        << message;
  }
}

TEST(LoadedImage, limits_hold_for_every_format) {
  for (const std::string name : {"half.jpg", "lossy.webp", "key.png"}) {
    const std::string bytes = read_file(golden_file("pillow/" + name));
    EXPECT_NE(complaint_of([&] { decode_image(bytes, "x", {.pixels = 23 * 17 - 1}); }).find("x is 23 × 17, at most 390 pixels are read"),
              std::string::npos);
    EXPECT_EQ(decode_image(bytes, "x", {.pixels = 23 * 17}).image.width, 23);
    EXPECT_NE(complaint_of([&] { decode_image(bytes, "x", {.file_bytes = 10}); }).find("expected at most 10"), std::string::npos);
    EXPECT_NE(complaint_of([&] { read_image(golden_file("pillow/" + name), {.file_bytes = 10}); }).find("read "), std::string::npos);
    for (size_t n = 0; n < bytes.size(); n += 7) EXPECT_NE(complaint_of([&] { decode_image(bytes.substr(0, n), "x"); }), "") << n;
  }
}

TEST(LoadedImage, known_by_its_bytes_not_by_its_name) {
  const fs::path file = fs::path(testing::TempDir()) / fmt::format("hearth-{}.png", ::getpid());
  write_file(file, read_file(golden_file("pillow/half.jpg")));
  EXPECT_EQ(read_image(file).format, ImageFormat::jpeg);
  fs::remove(file);
  EXPECT_EQ(image_format("", "x"), std::nullopt);
  EXPECT_EQ(image_format("RIFF1234WAVE", "x"), std::nullopt);
  EXPECT_EQ(image_format("\xFF\xD8", "x"), std::nullopt);
}

}  // namespace
}  // namespace hearth
