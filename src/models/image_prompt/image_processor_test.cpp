#include "models/image_prompt/image_processor.h"

#include <nlohmann/json.hpp>

#include "support/backend_test.h"
#include "support/files.h"
#include "support/golden.h"
#include "weights/seeded.h"

namespace hearth::models::image_prompt {
namespace {

using nlohmann::json;

Pixels picture(int64_t width, int64_t height) {
  Pixels image{.width = width, .height = height, .rgb = {}};
  for (const float u : seeded_uniforms("picture", width * height * 3)) image.rgb.push_back(uint8_t(u * 256));
  return image;
}

ImageProcessor read(const json& config) { return ImageProcessor::from(Config::parse(config.dump(), "preprocessor_config.json")); }

HOST_TEST(ImageProcessor, images_are_bit_identical_to_the_reference_s) {
  const test::Golden golden(__FILE__, "processor", device);
  for (const auto& [name, c] : json::parse(golden.metadata().at("facts")).at("cases").items()) {
    const Tensor y = read(c.at("config"))(picture(c.at("picture")[0], c.at("picture")[1]), device);
    EXPECT_EQ(y.shape(), (Shape{1, c.at("config").at("size").at("height"), c.at("config").at("size").at("width"), 3}));
    EXPECT_EQ(y.to_vector(), golden.values(name)) << name;
  }
}

HOST_TEST(ImageProcessor, crops_as_clip_s_does) {
  const test::Golden golden(__FILE__, "processor", device);
  const json cases = json::parse(golden.metadata().at("facts")).at("clip");
  ASSERT_EQ(cases.size(), 5u);
  for (const auto& [name, c] : cases.items()) {
    const Tensor y = ImageProcessor::clip(c.at("side"))(picture(c.at("picture")[0], c.at("picture")[1]), device);
    EXPECT_EQ(y.to_vector(), golden.values(name)) << name;
  }
}

TEST(ImageProcessorConfig, reads_every_key_or_refuses_it) {
  const json base = {{"image_processor_type", "SiglipImageProcessor"}, {"size", {{"height", 4}, {"width", 6}}}};
  EXPECT_EQ(read(base).width, 6);
  EXPECT_EQ(read(json::object()).height, 224);
  const auto refusal = [&](const char* key, const json& value) {
    json changed = base;
    changed[key] = value;
    return test::message_of<Error>([&] { read(changed); });
  };
  EXPECT_EQ(refusal("resample", 5), "preprocessor_config.json: 'resample' = 5 is not supported, expected 0 to 4");
  EXPECT_NE(refusal("do_resize", false).find("'do_resize'"), std::string::npos);
  EXPECT_NE(refusal("do_center_crop", true).find("'do_center_crop'"), std::string::npos);
  EXPECT_NE(refusal("image_processor_type", "CLIPImageProcessor").find("CLIPImageProcessor"), std::string::npos);
  EXPECT_NE(refusal("size", {{"shortest_edge", 224}}).find("width"), std::string::npos);
  EXPECT_NE(refusal("size", {{"height", 0}, {"width", 4}}).find("'height' = 0"), std::string::npos);
  EXPECT_EQ(refusal("image_mean", {0.5, 0.5}), "preprocessor_config.json: 'image_mean' has 2 values, expected 3");
  EXPECT_EQ(refusal("image_std", 0), "preprocessor_config.json: 'image_std' contains 0, expected other values");
  EXPECT_NE(refusal("a_key_of_next_year", 1).find("a_key_of_next_year"), std::string::npos);
}

TEST(ImageProcessorFiles, of_clip_are_read) {
  const auto clip = [](const json& config) { return ImageProcessor::from_clip(Config::parse(config.dump(), "preprocessor_config.json")); };
  const ImageProcessor standard = ImageProcessor::clip(224), empty = clip(json::object());
  EXPECT_EQ(empty.width, 224);
  EXPECT_TRUE(empty.crops);
  EXPECT_EQ(empty.mean, standard.mean);
  EXPECT_EQ(empty.deviation, standard.deviation);
  const ImageProcessor stated = clip({{"image_processor_type", "CLIPImageProcessor"},
                                      {"size", {{"shortest_edge", 14}}},
                                      {"crop_size", {{"height", 14}, {"width", 14}}},
                                      {"do_center_crop", true},
                                      {"image_mean", {0.25, 0.5, 0.75}}});
  EXPECT_EQ(stated.height, 14);
  EXPECT_EQ(stated.mean, (std::array<float, 3>{0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(clip({{"size", 30}, {"crop_size", 30}}).width, 30);  // as old files state it
  EXPECT_THROW(clip({{"size", {{"shortest_edge", 16}}}, {"crop_size", 14}}), UnsupportedError);
  EXPECT_THROW(clip({{"do_center_crop", false}}), UnsupportedError);
  EXPECT_THROW(clip({{"image_processor_type", "SiglipImageProcessor"}}), UnsupportedError);
}

}  // namespace
}  // namespace hearth::models::image_prompt
