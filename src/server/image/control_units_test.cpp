#include "server/image/control_units.h"

#include <gtest/gtest.h>

#include "hearth/preprocess.h"
#include "server/api/base64.h"
#include "support/complaint.h"

namespace hearth::server {
namespace {

struct ControlUnits : testing::Test {
  static Image picture(int64_t width, int64_t height) {
    Image image{.width = width, .height = height};
    for (int64_t i = 0; i < width * height * 3; ++i) image.rgb.push_back(uint8_t(i * 37 % 251));
    return image;
  }
  static std::string text_of(const Image& image) { return base64(image.encode("a.png")); }
  std::vector<Control> controls(const Json& list) const {
    const Json body{{"controls", list}};
    return read_controls(Fields(body), limits);
  }
  std::vector<Control> units(const Json& list, const std::optional<Image>& init = {}) const {
    return read_control_units(list, "alwayson_scripts.controlnet.args", init, 16, 8, limits);
  }
  std::string complaint(const std::function<void()>& f) const {
    try {
      f();
    } catch (const ApiError& e) { return e.what(); }
    return "";
  }

  ImageService::Limits limits{.controls = {{"canny", "/nets/canny.safetensors"}, {"union", "/nets/union"}}};
  Image small = picture(16, 8);
};

TEST_F(ControlUnits, fields_of_openai_requests_are_those_of_the_command) {
  EXPECT_TRUE(controls(Json::array()).empty());
  const auto all = controls({{{"network", "canny"}, {"image", text_of(small)}},
                             {{"network", "union"},
                              {"image", "data:image/png;base64," + text_of(small)},
                              {"scale", 0.5},
                              {"start", 0.25},
                              {"end", 0.75},
                              {"mode", "depth"},
                              {"guess", true},
                              {"preprocess", "invert"}}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].path, "/nets/canny.safetensors");
  EXPECT_EQ(all[0].image.rgb, small.rgb);
  EXPECT_EQ(to_text(all[0]), "path=/nets/canny.safetensors");
  EXPECT_EQ(to_text(all[1]), "path=/nets/union,scale=0.5,start=0.25,end=0.75,mode=depth,guess=on,preprocess=invert");
}

TEST_F(ControlUnits, what_is_wrong_in_openai_requests_is_named) {
  const auto of = [&](Json one) { return complaint([&] { controls(Json::array({std::move(one)})); }); };
  EXPECT_EQ(of({{"network", "pose"}, {"image", text_of(small)}}), "controls[0].network: 'pose' is unknown, expected one of canny, union");
  EXPECT_NE(of({{"network", "canny"}}).find("controls[0].image"), std::string::npos);
  EXPECT_NE(of({{"network", "canny"}, {"image", "no image"}}).find("controls[0].image"), std::string::npos);
  EXPECT_NE(of({{"network", "canny"}, {"image", text_of(small)}, {"weight", 1}}).find("controls[0].weight: is unknown"), std::string::npos);
  EXPECT_NE(of({{"network", "canny"}, {"image", text_of(small)}, {"start", 2}}).find("controls[0].start"), std::string::npos);
  limits.controls.clear();
  EXPECT_NE(of({{"network", "canny"}, {"image", text_of(small)}}).find("offers no control networks"), std::string::npos);
}

TEST_F(ControlUnits, units_of_a1111) {
  const auto all = units({nullptr,
                          {{"enabled", false}, {"model", "nothing"}},
                          {{"model", "canny [1a2b3c4d]"},
                           {"module", "canny"},
                           {"threshold_a", 10},
                           {"threshold_b", 20},
                           {"weight", 0.6},
                           {"guidance_start", 0.1},
                           {"guidance_end", 0.9},
                           {"resize_mode", "Just Resize"},
                           {"control_mode", 0},
                           {"image", text_of(small)}},
                          {{"model", "union"}, {"module", "none"}, {"image", {{"image", text_of(picture(8, 8))}}}},
                          {{"model", "canny"}, {"module", "invert (from white bg & black line)"}, {"resize_mode", 0}}},
                         small);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(to_text(all[0]), "path=/nets/canny.safetensors,scale=0.6,start=0.1,end=0.9");
  EXPECT_EQ(all[0].image.rgb, preprocess(small, "canny:10:20").rgb);
  EXPECT_EQ(all[1].image.width, 16) << "cropped to the run's shape";
  EXPECT_EQ(all[1].image.height, 8);
  EXPECT_EQ(all[2].image.rgb, preprocess(small, "invert").rgb) << "of the image that the run starts from";
}

TEST_F(ControlUnits, what_a1111_has_and_hearth_lacks_is_refused) {
  const auto of = [&](Json one) {
    one["image"] = text_of(small);
    return complaint([&] { units(Json::array({std::move(one)})); });
  };
  const std::string at = "alwayson_scripts.controlnet.args[0].";
  EXPECT_NE(of({{"model", "canny"}, {"module", "openpose"}}).find(at + "module: 'openpose' is not supported"), std::string::npos);
  EXPECT_NE(of({{"model", "canny"}, {"control_mode", 2}}).find(at + "control_mode: 'ControlNet is more important' is not supported"),
            std::string::npos);
  EXPECT_NE(of({{"model", "canny"}, {"resize_mode", "Zoom"}}).find(at + "resize_mode: 'Zoom' is unknown"), std::string::npos);
  EXPECT_NE(of({{"model", "other"}}).find(at + "model: 'other' is unknown"), std::string::npos);
  EXPECT_NE(complaint([&] { units({{{"model", "canny"}}}); }).find(at + "image: is missing"), std::string::npos);
}

}  // namespace
}  // namespace hearth::server
