#include "models/qwen_image/images.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "support/backend_test.h"
#include "support/complaint.h"

namespace hearth::models::qwen_image {
namespace {

using Size = std::array<int64_t, 2>;  // height, width

// Values of diffusers' calculate_dimensions, 0.39.0: (width, height) → megapixel, 384².
TEST(QwenImageSizes, are_the_reference_s) {
  struct Row {
    Size image, megapixel, small;
  };
  for (const auto& [image, megapixel, small] :
       {Row{{64, 96}, {832, 1248}, {320, 480}}, Row{{1024, 1024}, {1024, 1024}, {384, 384}}, Row{{1080, 1920}, {768, 1376}, {288, 512}},
        Row{{70, 30}, {1568, 672}, {576, 256}}, Row{{1000, 333}, {1760, 576}, {672, 224}}, Row{{37, 4000}, {96, 10656}, {32, 4000}}}) {
    EXPECT_EQ(size_of_reference(image[0], image[1]), megapixel);
    EXPECT_EQ(size_of_area(384.0 * 384, image[0], image[1]), small);
  }
}

// Values of transformers' smart_resize, 4.57.1; halves are rounded to even numbers of squares.
TEST(QwenImagePreparation, sizes_are_the_reference_s) {
  const ImagePreparation p;
  for (const auto& [image, seen] : {std::pair{Size{64, 96}, Size{56, 84}},
                                    {{832, 1248}, {812, 1204}},
                                    {{14, 14}, {56, 56}},
                                    {{42, 70}, {56, 56}},
                                    {{3000, 2000}, {1204, 812}},
                                    {{20, 3000}, {28, 2996}},
                                    {{500, 500}, {504, 504}}})
    EXPECT_EQ(p.size_of(image[0], image[1]), seen) << image[0] << "×" << image[1];
  EXPECT_EQ(test::complaint_of([&] { p.size_of(10, 2001); }),
            "UsageError: generate: a reference image is 2001×10, expected no side more than 200 times the other");
}

TEST(QwenImagePreparation, pixels_are_normalized_by_color) {
  const auto device = test::make_test_backend("reference");
  const ImagePreparation p{.mean = {0, 0.5f, 1}, .deviation = {1, 0.5f, 2}};
  EXPECT_EQ(p.normalized({.width = 2, .height = 1, .rgb = {0, 0, 0, 255, 255, 255}}, *device).to_vector(),
            (std::vector<float>{0, -1, -0.5f, 1, 1, 0}));
}

TEST(QwenImagePreparation, every_key_is_applied_or_refused) {
  const parts::QwenVisionConfig tower;
  const auto read = [&](const nlohmann::json& config) {
    return ImagePreparation::from(Config::parse(config.dump(), "preprocessor_config.json"), tower);
  };
  EXPECT_EQ(read({{"min_pixels", 100}, {"max_pixels", 200}}).most_pixels, 200);
  EXPECT_EQ(read({{"size", {{"shortest_edge", 100}, {"longest_edge", 300}}}}).least_pixels, 100);
  EXPECT_EQ(read({{"image_mean", {1, 2, 3}}}).mean, (std::array<float, 3>{1, 2, 3}));
  const auto refused = [&](const nlohmann::json& config, const std::string& says) {
    const std::string said = test::complaint_of([&] { read(config); });
    EXPECT_NE(said.find(says), said.npos) << said;
  };
  refused({{"do_resize", false}}, "'do_resize' = false is not supported");
  refused({{"do_center_crop", true}}, "'do_center_crop' = true is not supported");
  refused({{"merge_size", 4}}, "'merge_size' = 4 is not supported");
  refused({{"rescale_factor", 0.5}}, "'rescale_factor' = 0.5 is not supported");
  refused({{"image_processor_type", "CLIPImageProcessor"}}, "CLIPImageProcessor");
  refused({{"new_key", 1}}, "new_key");
  refused({{"image_std", {1, 2}}}, "'image_std' has 2 values, expected 3");
}

}  // namespace
}  // namespace hearth::models::qwen_image
