// ControlNets of Stable Diffusion 3 and FLUX.1, compared with diffusers (golden/make_control_transformers.py).
#include <algorithm>
#include <cstdlib>

#include "e2e/control_cases_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/files.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct TransformerControls : testing::Test, ControlCases {
  TransformerControls() : ControlCases("control_transformers") { add_detached_backend(); }

  std::string complaint(const std::string& name, const std::function<void(Request&)>& change) {
    Request r = request(name);
    change(r);
    return complaint_of([&] { model_of(cases.at(name)).generate(r); });
  }
};

fs::path of_authors(const std::string& name) { return golden_folder() / "control/authors" / (name + ".safetensors"); }

TEST_F(TransformerControls, latents_are_those_of_diffusers) {
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const double error = relative_error(latents(model_of(c), request(name)), golden(name).to_vector());
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", name.c_str(), error);
    EXPECT_LE(error, 5e-5);  // observed 3.4e-7 to 7.1e-6
  }
}

TEST_F(TransformerControls, latents_are_those_of_diffusers_on_other_devices) {
  for (const char* name_of_device : {"reference", "detached"})
    for (const char* name : {"sd3", "sd3_alone", "sd3_fill", "flux_union", "flux_pixels", "flux_true_cfg", "flux_image"}) {
      Model m = Model::open(folder_of(cases.at(name)), {.device = name_of_device, .precision = Precision::f32});
      EXPECT_LE(relative_error(latents(m, request(name)), golden(name).to_vector()), 5e-5) << name_of_device << " " << name;
    }
}

// Each control acts: without it, the result is another one.
TEST_F(TransformerControls, scale_zero_order_and_removal_change_no_bit) {
  for (const char* name : {"sd3_two", "flux_union_two"}) {
    SCOPED_TRACE(name);
    Model& m = model_of(cases.at(name));
    Request r = request(name);
    r.compat = Compat::hearth;  // diffusers draws in the order of the request
    const std::vector<float> both = latents(m, r);
    std::swap(r.controls[0], r.controls[1]);
    EXPECT_EQ(latents(m, r), both);
    Request one = r;
    one.controls.pop_back();
    const std::vector<float> alone = latents(m, one);
    EXPECT_GE(relative_error(both, alone), 1e-3);
    r.controls[1].scale = 0;
    EXPECT_EQ(latents(m, r), alone);
    r.controls[0].scale = 0;
    const std::vector<float> none = latents(m, r);
    r.controls.clear();
    EXPECT_EQ(latents(m, r), none);
    EXPECT_GE(relative_error(none, alone), 1e-3);
  }
}

TEST_F(TransformerControls, a_batch_equals_single_images_and_threads_change_nothing) {
  for (const char* name : {"sd3_batch", "flux_batch"}) {
    SCOPED_TRACE(name);
    Request r = request(name);
    const fs::path folder = folder_of(cases.at(name));
    Model one = Model::open(folder, {.threads = 1, .precision = Precision::f32});
    const std::vector<float> both = latents(one, r);
    EXPECT_EQ(latents(model_of(cases.at(name)), r), both);
    r.batch_size = 1;
    const std::vector<float> first = latents(one, r);
    r.seed = *r.seed + 1;
    const std::vector<float> second = latents(one, r);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin()));
    EXPECT_TRUE(std::equal(second.begin(), second.end(), both.begin() + std::ptrdiff_t(first.size())));
  }
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

TEST_F(TransformerControls, a_run_resumes_and_is_planned) {
  for (const char* name : {"sd3_window", "flux_window"}) {
    SCOPED_TRACE(name);
    Model& m = model_of(cases.at(name));
    Request r = request(name);
    const std::vector<float> whole = latents(m, r);
    r.stop_after = 3;
    Request rest = request(name);
    rest.resume = m.generate(r).state;
    EXPECT_EQ(latents(m, rest), whole);
    Request hires = request(name);
    hires.hires = Hires{.scale = 1.5, .steps = 3};
    const Generation made = m.generate(hires);
    Request plain = hires;
    plain.controls.clear();
    EXPECT_GE(relative_error(made.latents.values, latents(m, plain)), 1e-3);
    Model tight = Model::open(folder_of(cases.at(name)), {.precision = Precision::f32, .memory_limit = int64_t(2'000'000'000)});
    EXPECT_EQ(latents(tight, hires), made.latents.values);
    const Json memory = Json::parse(made.report).at("memory");
    const int64_t planned = memory.at("planned").at("peak"), measured = memory.at("measured").at("peak");
    EXPECT_GE(measured, planned);
    EXPECT_LE(measured, planned + 3'000'000);
  }
}

TEST_F(TransformerControls, single_files_give_the_bits_of_the_folders) {
  const TemporaryFolder folder;
  for (const char* name : {"sd3", "sd3_alone", "sd3_fill", "sd35", "flux", "flux_union", "flux_pixels"}) {
    SCOPED_TRACE(name);
    Request r = request(name);
    Model& m = model_of(cases.at(name));
    const std::vector<float> wanted = latents(m, r);
    const fs::path own = folder.path() / (std::string(name) + ".safetensors");
    fs::copy_file(r.controls[0].path / "diffusion_pytorch_model.safetensors", own);
    r.controls[0].path = own;
    EXPECT_EQ(latents(m, r), wanted);
  }
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
  const auto expect = [&](const std::string& name, const std::function<void(Request&)>& change, const std::string& wanted) {
    const std::string message = complaint(name, change);
    EXPECT_NE(message.find(wanted), std::string::npos) << message;
  };
  const auto path = [](const fs::path& to) { return [to](Request& r) { r.controls[0].path = to; }; };
  expect("sd3", path(control_network("flux_canny")),
         "is a FluxControlNetModel for FLUX.1, expected a control network for Stable Diffusion 3");
  expect("flux", path(control_network("sd3_pose")),
         "is a SD3ControlNetModel for Stable Diffusion 3, expected a control network for FLUX.1");
  expect("flux", path(control_network("canny")), "is a ControlNetModel for Stable Diffusion 1");
  expect("sd3", path(control_network("sd35_dual")), "is for a transformer with width 12, patches of 2");
  expect("flux", path(control_network("flux_schnell")), "is for a transformer with width 24 in 2 heads, axes 2, 4, 6, 24 input channels");
  expect(
      "sd3", [](Request& r) { r.controls[0].mode = "canny"; }, "is for one kind of images, expected no mode, not 'canny'");
  expect(
      "sd3", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  expect(
      "flux", [](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets of a UNet");
  expect(
      "sd3_alone", [](Request& r) { r.controls[0].mode = "pose"; }, "mode 'pose' is unknown, expected one of blur, canny, depth");
  expect(
      "sd3_alone", [](Request& r) { r.controls[0].path = of_authors("sd3_canny"); }, "is for the mode 'canny', not 'depth'");
  expect(
      "flux_union", [](Request& r) { r.controls[0].mode = ""; },
      "no mode is given, expected one of canny, tile, depth, blur, pose, gray, lq");
  expect(
      "flux_union", [](Request& r) { r.controls[0].mode = "segment"; }, "mode 'segment' is unknown");
  expect(
      "sd3_fill", [](Request& r) { r.controls[0].mask.reset(); }, "fills what a mask covers, expected mask=FILE");
  expect(
      "sd3", [&](Request& r) { r.controls[0].mask = image("mask", 64, 64); }, "sees a whole image, expected no mask");
  expect(
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
