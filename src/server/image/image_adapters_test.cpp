#include "server/image/image_adapters.h"

#include <gtest/gtest.h>

#include "hearth/preprocess.h"
#include "server/api/base64.h"
#include "support/complaint.h"

namespace hearth::server {
namespace {

struct ImageAdapters : testing::Test {
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
  std::vector<ImagePrompt> image_prompts(const Json& list) const {
    const Json body{{"image_prompts", list}};
    return read_image_prompts(Fields(body), limits);
  }
  Request with_units(const Json& list, const std::optional<Image>& init = {}) const {
    Request request;
    request.width = 16, request.height = 8;
    request.edit.image = init;
    add_control_units(list, "alwayson_scripts.controlnet.args", limits, request);
    return request;
  }
  std::vector<Control> units(const Json& list, const std::optional<Image>& init = {}) const { return with_units(list, init).controls; }
  std::string complaint(const std::function<void()>& f) const {
    try {
      f();
    } catch (const ApiError& e) { return e.what(); }
    return "";
  }

  ImageService::Limits limits{.adapters = {.controls = {{"canny", "/nets/canny.safetensors"}, {"union", "/nets/union"}},
                                           .image_prompts = {{"plus", "/nets/plus.safetensors"}}}};
  Image small = picture(16, 8);
};

TEST_F(ImageAdapters, fields_of_openai_requests_are_those_of_the_command) {
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

TEST_F(ImageAdapters, what_is_wrong_in_openai_requests_is_named) {
  const auto of = [&](Json one) { return complaint([&] { controls(Json::array({std::move(one)})); }); };
  EXPECT_EQ(of({{"network", "pose"}, {"image", text_of(small)}}), "controls[0].network: 'pose' is unknown, expected one of canny, union");
  EXPECT_NE(of({{"network", "canny"}}).find("controls[0].image"), std::string::npos);
  EXPECT_NE(of({{"network", "canny"}, {"image", "no image"}}).find("controls[0].image"), std::string::npos);
  EXPECT_NE(of({{"network", "canny"}, {"image", text_of(small)}, {"weight", 1}}).find("controls[0].weight: is unknown"), std::string::npos);
  EXPECT_NE(of({{"network", "canny"}, {"image", text_of(small)}, {"start", 2}}).find("controls[0].start"), std::string::npos);
  limits.adapters.controls.clear();
  EXPECT_NE(of({{"network", "canny"}, {"image", text_of(small)}}).find("offers no control networks"), std::string::npos);
}

TEST_F(ImageAdapters, units_of_a1111) {
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

TEST_F(ImageAdapters, what_a1111_has_and_hearth_lacks_is_refused) {
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

TEST_F(ImageAdapters, images_as_prompts) {
  const auto all = image_prompts({{{"adapter", "plus"}, {"image", text_of(small)}},
                                  {{"adapter", "plus"}, {"image", text_of(small)}, {"scale", 0.5}, {"mask", text_of(picture(4, 4))}}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].path, "/nets/plus.safetensors");
  EXPECT_EQ(all[0].image.rgb, small.rgb);
  EXPECT_EQ(all[0].scale, 1);
  EXPECT_FALSE(all[0].mask);
  EXPECT_EQ(all[1].scale, 0.5);
  EXPECT_EQ(all[1].mask->width, 4);
  const auto faces = image_prompts(
      {{{"adapter", "plus"}, {"face", {0.5, -1}}}, {{"adapter", "plus"}, {"face", {1}}, {"image", text_of(small)}, {"shortcut", true}}});
  EXPECT_EQ(faces[0].face, (std::vector<float>{0.5f, -1}));
  EXPECT_EQ(faces[0].image.width, 0);
  EXPECT_EQ(faces[1].image.width, 16);
  EXPECT_TRUE(faces[1].shortcut && !faces[0].shortcut);
  const auto of = [&](Json one) { return complaint([&] { image_prompts(Json::array({std::move(one)})); }); };
  EXPECT_EQ(of({{"adapter", "face"}, {"image", text_of(small)}}), "image_prompts[0].adapter: 'face' is unknown, expected one of plus");
  EXPECT_NE(of({{"adapter", "plus"}}).find("image_prompts[0].image"), std::string::npos);
  EXPECT_NE(of({{"adapter", "plus"}, {"face", Json::array()}}).find("image_prompts[0].face: 0 values"), std::string::npos);
  EXPECT_NE(of({{"adapter", "plus"}, {"face", {"a"}}}).find("image_prompts[0].face: has a value that is no number"), std::string::npos);
  EXPECT_NE(of({{"adapter", "plus"}, {"image", text_of(small)}, {"weight", 1}}).find("image_prompts[0].weight: is unknown"),
            std::string::npos);
  limits.adapters.image_prompts.clear();
  EXPECT_NE(of({{"adapter", "plus"}, {"image", text_of(small)}}).find("offers no adapters for image prompts"), std::string::npos);
}

TEST_F(ImageAdapters, units_of_a1111_with_images_as_prompts) {
  const Request request =
      with_units({{{"model", "plus [12345678]"}, {"module", "ip-adapter-auto"}, {"weight", 0.7}, {"image", text_of(small)}},
                  {{"model", "canny"}, {"image", text_of(small)}},
                  {{"model", "plus"}, {"image", text_of(small)}, {"effective_region_mask", text_of(picture(4, 4))}}});
  EXPECT_EQ(request.controls.size(), 1u);
  ASSERT_EQ(request.image_prompts.size(), 2u);
  EXPECT_EQ(request.image_prompts[0].scale, 0.7);
  EXPECT_EQ(request.image_prompts[0].image.width, 16);
  EXPECT_EQ(request.image_prompts[1].mask->width, 4);
  const auto of = [&](Json one) {
    one["image"] = text_of(small);
    return complaint([&] { with_units(Json::array({std::move(one)})); });
  };
  EXPECT_NE(of({{"model", "plus"}, {"module", "canny"}}).find("args[0].module: 'canny' is not for image prompts"), std::string::npos);
  EXPECT_NE(of({{"model", "plus"}, {"guidance_end", 0.5}}).find("args[0].guidance_end"), std::string::npos);
  const Request more = with_units({{{"model", "plus"}, {"face", {0.5}}, {"shortcut", true}},
                                   {{"model", "canny"}, {"image", text_of(small)}, {"mask", text_of(picture(4, 4))}}});
  EXPECT_EQ(more.image_prompts[0].face, std::vector<float>{0.5f});
  EXPECT_TRUE(more.image_prompts[0].shortcut);
  EXPECT_EQ(more.controls[0].mask->width, 4);
  EXPECT_NE(of({{"model", "canny"}, {"effective_region_mask", text_of(small)}}).find("args[0].effective_region_mask"), std::string::npos);
  EXPECT_NE(of({{"model", "other"}}).find("expected one of canny, union, plus"), std::string::npos);
}

}  // namespace
}  // namespace hearth::server
