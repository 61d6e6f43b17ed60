// Control networks, compared with diffusers (golden/make_control.py), and properties that all of them have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <nlohmann/json.hpp>

#include "e2e/control_cases_test.h"
#include "hearth/rerun.h"
#include "support/complaint.h"
#include "support/files.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Controls : ControlCases {
  Controls() : ControlCases("control") {}

  // The checkpoint of a case, in a copy if its UNet is another.
  fs::path folder(const Json& c) {
    if (!c.contains("unet")) return folder_of(c);
    copies_.push_back(std::make_unique<CheckpointCopy>(c.at("checkpoint")));
    copies_.back()->edit_json("unet/config.json", [&](Json& config) { config.update(c.at("unet")); });
    copies_.back()->seed("unet");
    return copies_.back()->path();
  }
  Model& opened(const Json& c) override {
    if (!c.contains("unet")) return model_of(c);
    other_.emplace_back(Model::open(folder(c), {.precision = Precision::f32}));
    return other_.back();
  }

  std::vector<std::unique_ptr<CheckpointCopy>> copies_;
  std::list<Model> other_;
};

TEST_F(Controls, latents_are_those_of_diffusers) { expect_latents_of_diffusers(1e-4); }
TEST_F(Controls, latents_are_those_of_diffusers_on_other_devices) {
  expect_the_same_on_other_devices({"plain", "pools", "two", "xl_guess", "union", "t2i_xl"}, 1e-4);
}

TEST_F(Controls, scale_zero_order_and_removal_change_no_bit) {
  Model& m = model("pndm");
  Request r = request("two");
  const Control third = control_of(cases.at("t2i").at("controls")[0]);
  const std::vector<float> both = latents(m, r);
  std::swap(r.controls[0], r.controls[1]);
  EXPECT_EQ(latents(m, r), both);
  r.controls.push_back(third);
  const std::vector<float> three = latents(m, r);
  EXPECT_GE(relative_error(three, both), 1e-3);
  std::ranges::rotate(r.controls, r.controls.begin() + 1);
  EXPECT_EQ(latents(m, r), three);
  for (Control& control : r.controls)
    if (control.path == third.path) control.scale = 0;
  EXPECT_EQ(latents(m, r), both);
  std::erase_if(r.controls, [](const Control& control) { return control.scale == 0; });
  EXPECT_EQ(latents(m, r), both);
  for (Control& control : r.controls) control.scale = 0;
  const std::vector<float> none = latents(m, r);
  r.controls.clear();
  EXPECT_EQ(latents(m, r), none);
  EXPECT_GE(relative_error(none, both), 1e-3);
}

TEST_F(Controls, runs_with_different_networks_equal_runs_of_their_own) {
  const auto alone = [&](const char* name) {
    Model m = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32});
    return latents(m, request(name));
  };
  Model m = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32});
  for (const char* name : {"plain", "bgr", "t2i", "two", "plain"}) EXPECT_EQ(latents(m, request(name)), alone(name)) << name;
}

TEST_F(Controls, a_batch_equals_single_images_and_threads_change_nothing) { expect_a_batch_of_single_images("batch"); }
TEST_F(Controls, a_run_resumes_in_the_window_where_it_stopped) {
  for (const char* name : {"window_heun", "window"}) expect_resumed(name);
}

TEST_F(Controls, a_second_pass_and_a_memory_limit) {
  expect_a_second_pass("plain");
  const Json report = Json::parse(model("pndm").generate(request("plain")).report);
  EXPECT_EQ(report.at("components").back().at("class"), "ControlNetModel");
}

// A single file without a configuration gives the bits of the folder: diffusers' names and those of the authors.
TEST_F(Controls, layouts_give_the_same_bits) { expect_same_bits_without_a_configuration({"plain", "xl", "union", "t2i", "t2i_xl"}); }

TEST_F(Controls, names_of_the_authors_give_the_same_bits) {
  for (const auto& [name, stored] : {std::pair{"plain", "canny"}, {"xl", "xl"}}) expect_same_bits_of(name, of_authors(stored));
}

TEST_F(Controls, what_does_not_fit_is_refused) {
  const auto expect = [&](const std::function<void(Request&)>& change, const std::string& wanted, const std::string& name = "plain") {
    expect_refused(name, change, wanted);
  };
  expect(with_network(control_network("xl")),
         "is for a UNet with channels 8, 16, 16 in 1, 1, 1 layers, text states of width 32, an added embedding of width 50");
  expect(with_network(control_network("t2i_xl")), "makes features of 8 for 16×16 pixels");
  expect(with_network(control_network("canny")), "is for a UNet with channels 8, 16, 24", "xl");
  expect(with_network(control_network("xl_lora")),
         "xl_lora.safetensors: changes 'add_embedding.linear_1.weight', which the model's UNet does not have");
  expect(with_network(golden_folder() / "nowhere"), "no such file or folder");
  expect(with_network(checkpoint_folder("pndm") / "unet"), "holds no control network, only UNet");
  expect([](Request& r) { r.controls[0].mode = "canny"; }, "is for one kind of images, expected no mode, not 'canny'");
  expect([](Request& r) { r.controls[0].mode = ""; }, "no mode is given, expected one of openpose, depth, scribble", "union");
  expect([](Request& r) { r.controls[0].mode = "pose"; }, "mode 'pose' is unknown", "union");
  expect([](Request& r) { r.controls[0].guess = true; }, "guess mode is for ControlNets", "t2i");
  expect([](Request& r) { r.controls[0].start = 0.5, r.controls[0].end = 0.5; }, "control: start is 0.5 and end 0.5");
  expect([](Request& r) { r.controls[0].scale = std::nan(""); }, "control: scale is nan");
  expect([](Request& r) { r.controls[0].image = {}; }, "control image: 0 bytes for 0×0 pixels");
  expect([](Request& r) { r.controls[0].path = ""; }, "control: no network is given");
  expect([](Request& r) { r.controls[0].preprocess = "magic"; }, "preprocess: 'magic' is unknown");
  expect([](Request& r) { r.edit.only_masked = true; }, "--control cannot be combined with --only-masked", "paint");
  expect([](Request& r) { r.width = 72; }, "an image of 72×64, expected sides that are multiples of 16", "t2i_xl");
  EXPECT_NE(complaint_of([&] {
              Model m = Model::open(checkpoint_folder("sd3"));
              Request r{.prompt = "a"};
              r.controls = request("plain").controls;
              m.generate(r);
            }).find("is a ControlNetModel for Stable Diffusion 1, Stable Diffusion 2, Stable Diffusion XL"),
            std::string::npos);
}

TEST_F(Controls, damaged_files_are_refused) {
  const TemporaryFolder folder;
  const fs::path own = folder.path() / "cut.safetensors";
  fs::copy_file(control_network("canny") / "diffusion_pytorch_model.safetensors", own);
  fs::resize_file(own, fs::file_size(own) / 2);
  expect_refused("plain", with_network(own), "cut.safetensors");
}

// A file that is replaced between two runs is read again.
TEST_F(Controls, a_changed_file_is_read_again) {
  const TemporaryFolder folder;
  const fs::path own = folder.path() / "net.safetensors";
  const auto put = [&](const char* name) {
    fs::remove(own);
    fs::copy_file(control_network(name) / "diffusion_pytorch_model.safetensors", own);
  };
  Model& m = model("pndm");
  Request r = request("t2i");
  r.controls[0].path = own;
  put("t2i");
  EXPECT_EQ(latents(m, r), latents(m, request("t2i")));
  put("canny");
  EXPECT_EQ(latents(m, r), latents(m, [&] {
              Request other = request("t2i");
              other.controls[0].path = control_network("canny");
              return other;
            }()));
}

TEST_F(Controls, text_and_control_are_inverse) {
  const TemporaryFolder folder;
  const fs::path own = folder.path() / "a,b=c.png";
  image("control0", 64, 64).save(own);
  const std::string text =
      "path=/nets/a,b,image=" + own.string() + ",scale=0.5,start=0.25,end=0.75,mode=canny,guess=on,preprocess=canny:1:2";
  const Control control = parse_control(text);
  EXPECT_EQ(control.path, "/nets/a,b");
  EXPECT_EQ(to_text(control), text);
  const auto complaint = [](const std::string& t) { return complaint_of([&] { parse_control(t); }); };
  EXPECT_NE(complaint("image=a.png").find("has no path"), std::string::npos);
  EXPECT_NE(complaint("path=a").find("has no image"), std::string::npos);
  EXPECT_NE(complaint("a.safetensors").find("does not begin with a key"), std::string::npos);
  EXPECT_NE(complaint("path=a,path=b,image=c").find("path is given twice"), std::string::npos);
  EXPECT_EQ(complaint("path=a,image=b.png,scal=2"),
            "UsageError: control: 'scal' is unknown, expected one of path, image, mask, scale, start, end, mode, guess, preprocess; did "
            "you mean scale?");
  EXPECT_NE(complaint("path=a,strat=0.5,image=b").find("'strat' is unknown"), std::string::npos);
  EXPECT_NE(complaint("imagge=b,path=a").find("'imagge' is unknown"), std::string::npos);
  EXPECT_NE(complaint("path=a,image=b,scale=x").find("scale is 'x', expected a number"), std::string::npos);
  EXPECT_NE(complaint("path=a,image=b,guess=yes").find("guess is 'yes', expected on or off"), std::string::npos);
}

TEST_F(Controls, metadata_can_make_the_image_again) {
  const TemporaryFolder folder;
  const fs::path edges = folder.path() / "edges.png", made = folder.path() / "made.png";
  image("control0", 64, 64).save(edges);
  Request r = request("plain");
  r.decode = true;
  r.controls = {
      parse_control(fmt::format("path={},image={},scale=0.8,preprocess=invert", control_network("canny").string(), edges.string()))};
  model("pndm").generate(r).images.at(0).save(made);
  const Rerun rerun = rerun_of(made);
  const auto flag = std::ranges::find(rerun.arguments, "--control");
  ASSERT_NE(flag, rerun.arguments.end());
  EXPECT_EQ(*(flag + 1), to_text(r.controls[0]));
  ASSERT_EQ(rerun.images.size(), 1u);
  EXPECT_EQ(rerun.images[0].file, edges.string());
  EXPECT_EQ(rerun.images[0].sha256, pixels_sum(edges));
}

}  // namespace
}  // namespace hearth::test
