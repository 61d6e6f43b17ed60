// ControlNets of Stable Diffusion 3 and FLUX.1, compared with diffusers (golden/make_control_transformers.py).
#include <algorithm>

#include "e2e/control_cases_test.h"
#include "support/complaint.h"
#include "support/files.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;

struct TransformerControls : ControlCases {
  TransformerControls() : ControlCases("control_transformers") {}
};

TEST_F(TransformerControls, latents_are_those_of_diffusers) { expect_latents_of_diffusers(5e-5); }  // observed 3.4e-7 to 7.1e-6
TEST_F(TransformerControls, latents_are_those_of_diffusers_on_other_devices) {
  expect_the_same_on_other_devices({"sd3", "sd3_alone", "sd3_fill", "flux_union", "flux_pixels", "flux_true_cfg", "flux_image"}, 5e-5);
}
TEST_F(TransformerControls, scale_zero_order_and_removal_change_no_bit) {
  for (const char* name : {"sd3_two", "flux_union_two"}) expect_that_each_acts_in_any_order(name);
}
TEST_F(TransformerControls, a_batch_equals_single_images_and_threads_change_nothing) {
  for (const char* name : {"sd3_batch", "flux_batch"}) expect_a_batch_of_single_images(name);
}
TEST_F(TransformerControls, a_run_resumes_and_is_planned) {
  for (const char* name : {"sd3_window", "flux_window"}) expect_resumed(name), expect_a_second_pass(name);
}
TEST_F(TransformerControls, single_files_give_the_bits_of_the_folders) {
  expect_same_bits_without_a_configuration({"sd3", "sd3_alone", "sd3_fill", "sd35", "flux", "flux_union", "flux_pixels"});
}

// Samplers that control their steps by the error of one image work on a batch image by image.
TEST_F(TransformerControls, images_that_are_sampled_one_by_one_keep_their_own_latents) {
  Request r = request("flux_batch");
  r.sampler = "dpm_adaptive";
  Model& m = model_of(cases.at("flux_batch"));
  const std::vector<float> both = latents(m, r);
  r.batch_size = 1, r.seed = *r.seed + 1;
  const std::vector<float> second = latents(m, r);
  EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + std::ptrdiff_t(second.size())));
}

// Stability's files say what they were trained on.
TEST_F(TransformerControls, names_of_the_authors_give_the_same_bits) {
  for (const auto& [name, stored] :
       {std::pair{"sd3_alone", "sd3_depth"}, {"sd3_alone_canny", "sd3_canny"}, {"flux_pixels", "flux_pixels"}}) {
    SCOPED_TRACE(name);
    Request r = request(name);
    Model& m = model_of(cases.at(name));
    const std::vector<float> wanted = latents(m, r);
    r.controls[0].path = of_authors(stored);
    EXPECT_EQ(latents(m, r), wanted);
    r.controls[0].mode.clear();
    EXPECT_EQ(latents(m, r), wanted);
  }
  EXPECT_NE(latents(model("sd3"), request("sd3_alone")), [&] {
    Request r = request("sd3_alone");
    r.controls[0].mode = "canny";
    return latents(model("sd3"), r);
  }());
}

TEST_F(TransformerControls, what_does_not_fit_is_refused) {
  expect_refused("sd3", with_network(control_network("flux_canny")),
                 "is a FluxControlNetModel for FLUX.1, expected a control network for Stable Diffusion 3");
  expect_refused("flux", with_network(control_network("sd3_pose")),
                 "is a SD3ControlNetModel for Stable Diffusion 3, expected a control network for FLUX.1");
  expect_refused("flux", with_network(control_network("canny")), "is a ControlNetModel for Stable Diffusion 1");
  expect_refused("sd3", with_network(control_network("sd35_dual")), "is for a transformer with width 12, patches of 2");
  expect_refused("flux", with_network(control_network("flux_schnell")),
                 "is for a transformer with width 24 in 2 heads, axes 2, 4, 6, 24 input channels");
  expect_refused(
      "sd3", [](Request& r) { r.controls[0].mode = "canny"; }, "is for one kind of images, expected no mode, not 'canny'");
  expect_refused(
      "sd3", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  expect_refused(
      "flux", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  expect_refused(
      "sd3_alone", [](Request& r) { r.controls[0].mode = "pose"; }, "mode 'pose' is unknown, expected one of blur, canny, depth");
  expect_refused(
      "sd3_alone", [](Request& r) { r.controls[0].path = of_authors("sd3_canny"); }, "is for the mode 'canny', not 'depth'");
  expect_refused(
      "flux_union", [](Request& r) { r.controls[0].mode = ""; },
      "no mode is given, expected one of canny, tile, depth, blur, pose, gray, lq");
  expect_refused(
      "flux_union", [](Request& r) { r.controls[0].mode = "segment"; }, "mode 'segment' is unknown");
  expect_refused(
      "sd3_fill", [](Request& r) { r.controls[0].mask.reset(); }, "fills what a mask covers, expected mask=FILE");
  expect_refused(
      "sd3", [&](Request& r) { r.controls[0].mask = image("mask", 64, 64); }, "sees a whole image, expected no mask");
  expect_refused(
      "sd3", [](Request& r) { r.width = 208; }, "expected at most 192");
}

TEST_F(TransformerControls, models_with_an_image_as_input_refuse_them) {
  EditingCases flux("flux");
  for (const char* name : {"control", "fill"}) {
    Request r = flux.request_of(flux.cases.at(name));
    r.controls = request("flux").controls;
    const std::string message = complaint_of([&] { flux.model_of(flux.cases.at(name)).generate(r); });
    EXPECT_NE(message.find("cannot be combined with a model that has an image as input"), std::string::npos) << message;
  }
  Request r = flux.request_of(flux.cases.at("kontext"));
  r.controls = request("flux").controls;
  const std::string message = complaint_of([&] { flux.model_of(flux.cases.at("kontext")).generate(r); });
  EXPECT_NE(message.find("cannot be combined with reference images"), std::string::npos) << message;
}

TEST_F(TransformerControls, a_mask_is_part_of_the_text) {
  const TemporaryFolder folder;
  const fs::path picture = folder.path() / "a,b.png", mask = folder.path() / "mask=1.png";
  image("control0", 64, 64).save(picture);
  image("mask", 64, 64).save(mask);
  const std::string text = fmt::format("path=/nets/fill,image={},mask={},scale=0.5", picture.string(), mask.string());
  const Control control = parse_control(text);
  ASSERT_TRUE(control.mask);
  EXPECT_EQ(control.mask->rgb, Image::load(mask).rgb);
  EXPECT_EQ(to_text(control), text);
}

}  // namespace
}  // namespace hearth::test
