// Image prompts by IP-Adapters, compared with diffusers (golden/make_image_prompts.py), and properties that all of them have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/editing_cases_test.h"
#include "hearth/rerun.h"
#include "support/backend_test.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/files.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path adapter(const std::string& name) { return golden_folder() / "image_prompts" / (name + ".safetensors"); }

struct ImagePrompts : testing::Test, EditingCases {
  ImagePrompts() : EditingCases("image_prompts") { add_detached_backend(); }

  ImagePrompt prompt_of(const Json& c) const {
    const int seed = c.at("seed");
    ImagePrompt p{.path = adapter(c.at("adapter")),
                  .image = c.contains("size") ? image(fmt::format("prompt{}", seed), c.at("size")[0], c.at("size")[1]) : Image(),
                  .image_name = {},
                  .scale = c.value("scale", 1.0),
                  .mask = {},
                  .mask_name = {}};
    if (c.value("face", false)) p.face = golden(fmt::format("face{}", seed)).to_vector();
    p.shortcut = c.value("shortcut", false);
    if (c.contains("mask")) p.mask = image(fmt::format("where{}", seed), c.at("mask")[0], c.at("mask")[1]);
    return p;
  }
  Request request(const std::string& name) const {
    const Json& c = cases.at(name);
    Request r = request_of(c);
    if (c.at("kind") == "text") r.width = c.at("width").get<int64_t>(), r.height = c.at("height").get<int64_t>();
    for (const Json& prompt : c.at("prompts")) r.image_prompts.push_back(prompt_of(prompt));
    return r;
  }
  static OpenOptions options(OpenOptions o = {}) {
    o.precision = Precision::f32;
    o.components["image_encoder"].path = golden_folder() / "image_prompts/encoder";
    return o;
  }
  Model& opened(const std::string& name) {
    const std::string checkpoint = cases.at(name).at("checkpoint");
    const auto found = models_.find(checkpoint);
    if (found != models_.end()) return found->second;
    return models_.emplace(checkpoint, Model::open(checkpoint_folder(checkpoint), options())).first->second;
  }
  std::vector<float> latents(Model& m, const Request& r) { return m.generate(r).latents.values; }
  std::string complaint(const std::function<void(Request&)>& change) {
    Request r = request("plain");
    change(r);
    return complaint_of([&] { opened("plain").generate(r); });
  }

 private:
  std::map<std::string, Model> models_;
};

TEST_F(ImagePrompts, latents_are_those_of_diffusers) {
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const double error = relative_error(latents(opened(name), request(name)), golden(name).to_vector());
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", name.c_str(), error);
    EXPECT_LE(error, 1e-4);
  }
}

TEST_F(ImagePrompts, latents_are_those_of_diffusers_on_other_devices) {
  for (const char* backend : {"reference", "detached", "vulkan"})
    for (const char* name : {"plain", "plus", "mask_two", "xl", "face_plus"}) {
      if (!make_test_backend(backend)) continue;
      Model m = Model::open(checkpoint_folder(cases.at(name).at("checkpoint")), options({.device = backend}));
      EXPECT_LE(relative_error(latents(m, request(name)), golden(name).to_vector()), 1e-4) << backend << " " << name;
    }
}

TEST_F(ImagePrompts, scale_zero_order_and_removal_change_no_bit) {
  Model& m = opened("two");
  Request r = request("two");
  const std::vector<float> both = latents(m, r);
  std::swap(r.image_prompts[0], r.image_prompts[1]);
  EXPECT_EQ(latents(m, r), both);
  ImagePrompt third = request("full").image_prompts[0];
  r.image_prompts.push_back(third);
  EXPECT_GE(relative_error(latents(m, r), both), 1e-3);
  r.image_prompts.back().scale = 0;
  EXPECT_EQ(latents(m, r), both);
  for (ImagePrompt& p : r.image_prompts) p.scale = 0;
  const std::vector<float> none = latents(m, r);
  EXPECT_GE(relative_error(none, both), 1e-3);
  r.image_prompts.clear();
  EXPECT_EQ(latents(m, r), none);
  Model without = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32});
  EXPECT_EQ(latents(without, r), none);
}

TEST_F(ImagePrompts, runs_with_different_adapters_equal_runs_of_their_own) {
  Model m = Model::open(checkpoint_folder("pndm"), options());
  for (const char* name : {"plain", "plus", "two", "plain"}) {
    Model alone = Model::open(checkpoint_folder("pndm"), options());
    EXPECT_EQ(latents(m, request(name)), latents(alone, request(name))) << name;
  }
}

TEST_F(ImagePrompts, a_batch_equals_single_images_and_threads_change_nothing) {
  Request r = request("batch");
  Model one = Model::open(checkpoint_folder("pndm"), options({.threads = 1})),
        three = Model::open(checkpoint_folder("pndm"), options({.threads = 3}));
  const std::vector<float> both = latents(one, r);
  EXPECT_EQ(latents(three, r), both);
  r.batch_size = 1;
  const std::vector<float> first = latents(one, r);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin()));
}

// The plan counts the adapter and the encoder, and with each component loaded when it is needed the bits are the same.
TEST_F(ImagePrompts, memory_is_planned_and_freed) {
  const std::vector<float> expected = latents(opened("plain"), request("plain"));
  Model m = Model::open(checkpoint_folder("pndm"), options({.memory_limit = int64_t(1) << 40}));
  const Generation made = m.generate(request("plain"));
  EXPECT_EQ(made.latents.values, expected);
  const Json report = Json::parse(made.report);
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(report.at("components"), [&](const Json& c) { return c.at("name") == name; });
  };
  EXPECT_TRUE(has("image_encoder"));
  EXPECT_TRUE(has("ip_adapter plain.safetensors")) << report.at("components").dump(1);
}

TEST_F(ImagePrompts, metadata_name_them_and_rerun_repeats_them) {
  Request r = request("mask");
  r.decode = true;
  r.image_prompts[0].image_name = "prompt.png", r.image_prompts[0].mask_name = "where.png";
  const Generation made = opened("mask").generate(r);
  const Json recipe = Json::parse(made.images[0].json);
  const std::string text = fmt::format("path={},image=prompt.png,mask=where.png", adapter("plain").string());
  EXPECT_NE(recipe.dump().find(text), std::string::npos) << recipe.dump(1);
  const ImagePrompt wanted{
      .path = "a,b/x.safetensors", .image = {}, .image_name = "i.png", .scale = 0.5, .mask = {}, .mask_name = "m,n.png"};
  EXPECT_EQ(to_text(wanted), "path=a,b/x.safetensors,image=i.png,mask=m,n.png,scale=0.5");
}

TEST_F(ImagePrompts, text_is_parsed_and_what_is_wrong_is_named) {
  const TemporaryFolder folder;
  Image image{.width = 4, .height = 4, .rgb = std::vector<uint8_t>(48, 200)};
  image.save(folder / "a,b.png");
  const std::string png = (folder / "a,b.png").string();
  const ImagePrompt p = parse_image_prompt(fmt::format("image={0},scale=-0.5,mask={0},path=x,y.bin", png));
  EXPECT_EQ(p.path, "x,y.bin");
  EXPECT_EQ(p.scale, -0.5);
  EXPECT_EQ(p.image.width, 4);
  EXPECT_EQ(p.mask->width, 4);
  const auto said = [](const std::string& text) { return complaint_of([&] { parse_image_prompt(text); }); };
  EXPECT_EQ(said("path=x"),
            "UsageError: image prompt: 'path=x' has no image, expected path=PATH,image=FILE, or faceid=FILE for a FaceID adapter");
  EXPECT_NE(said("path=x,image=" + png + ",shortcut=yes").find("shortcut is 'yes', expected on or off"), std::string::npos);
  EXPECT_NE(said("path=x,image=" + png + ",shortcuts=on").find("'shortcuts' is unknown"), std::string::npos);
  EXPECT_NE(said("path=x,faceid=/nowhere.npy").find("/nowhere.npy"), std::string::npos);
  EXPECT_NE(said("path=x,image=" + png + ",scale=much").find("scale is 'much', expected a number"), std::string::npos);
  EXPECT_NE(said("path=x,path=y,image=" + png).find("path is given twice"), std::string::npos);
  EXPECT_NE(said("model=x").find("expected one of path, image, faceid, mask, scale, shortcut"), std::string::npos);
  EXPECT_NE(said("path=x,image=/nowhere.png").find("/nowhere.png"), std::string::npos);
}

// The LoRA in the file of a FaceID adapter acts at its full strength, whatever the scale, and is gone without the prompt.
TEST_F(ImagePrompts, a_face_changes_weights_for_its_run_alone) {
  Model& m = opened("face");
  Request r = request("face");
  const std::vector<float> with = latents(m, r);
  r.image_prompts[0].scale = 1e-6;
  const std::vector<float> lora_alone = latents(m, r);
  r.image_prompts[0].scale = 0;
  const std::vector<float> none = latents(m, r);
  EXPECT_GE(relative_error(lora_alone, none), 1e-3);
  EXPECT_GE(relative_error(lora_alone, with), 1e-3);
  r.image_prompts.clear();
  EXPECT_EQ(latents(m, r), none);
  Model without_encoder = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32});
  EXPECT_EQ(latents(without_encoder, request("face")), with);
  // Two prompts of one file: its LoRA once.
  Request twice = request("face");
  twice.image_prompts.push_back(request("face_half").image_prompts[0]);
  twice.image_prompts[1].scale = 1e-6;
  EXPECT_LE(relative_error(latents(m, twice), with), 1e-4);
}

// A vector in a file of NumPy, from the command's text to the metadata and back.
TEST_F(ImagePrompts, a_face_is_read_from_a_file_and_metadata_name_it) {
  const TemporaryFolder folder;
  const fs::path npy = folder / "face,1.npy", made = folder / "made.png";
  const std::vector<float> vector = golden("face0").to_vector();
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 16), }";
  header.resize(118, ' ');
  std::ofstream(npy, std::ios::binary) << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header
                                       << std::string(reinterpret_cast<const char*>(vector.data()), 4 * vector.size());
  const std::string text = fmt::format("path={},faceid={}", adapter("face").string(), npy.string());
  Request r = request("face");
  r.decode = true;
  r.image_prompts = {parse_image_prompt(text)};
  EXPECT_EQ(r.image_prompts[0].face, vector);
  EXPECT_EQ(to_text(r.image_prompts[0]), text);
  const Generation run = opened("face").generate(r);
  EXPECT_LE(relative_error(run.latents.values, golden("face").to_vector()), 1e-4);
  run.images.at(0).save(made);
  const Rerun again = rerun_of(made);
  const auto flag = std::ranges::find(again.arguments, "--ip-adapter");
  ASSERT_NE(flag, again.arguments.end());
  EXPECT_EQ(*(flag + 1), text);
  EXPECT_TRUE(again.images.empty());
  for (const std::string& line : again.not_reproduced) EXPECT_EQ(line.find("image encoder"), std::string::npos) << line;
  ASSERT_EQ(again.files.size(), 1u);
  EXPECT_EQ(again.files[0].file, npy.string());
  EXPECT_EQ(again.files[0].sha256, file_sum(npy));
}

TEST_F(ImagePrompts, what_a_face_needs_is_named) {
  const auto said = [&](const std::string& name, const std::function<void(ImagePrompt&)>& change) {
    Request r = request(name);
    change(r.image_prompts[0]);
    return complaint_of([&] { opened(name).generate(r); });
  };
  const Image picture = request("plain").image_prompts[0].image;
  EXPECT_NE(said("face", [&](ImagePrompt& p) { p.face.clear(), p.image = picture; }).find("the vector of a face only, expected no image"),
            std::string::npos);
  EXPECT_NE(said("face_plus", [](ImagePrompt& p) { p.face.clear(); }).find("expected faceid=FILE with 16 values"), std::string::npos);
  EXPECT_NE(said("face_plus", [](ImagePrompt& p) { p.image = {}; }).find("sees an image, expected image=FILE"), std::string::npos);
  EXPECT_NE(said("face", [](ImagePrompt& p) { p.face.pop_back(); }).find("the vector of the face has 15 values, expected 16"),
            std::string::npos);
  EXPECT_NE(said("face", [](ImagePrompt& p) { p.shortcut = true; }).find("has no shortcut"), std::string::npos);
  EXPECT_NE(said("plain", [](ImagePrompt& p) { p.face = {1}; }).find("sees an image only, expected no faceid"), std::string::npos);
}

TEST_F(ImagePrompts, what_does_not_fit_is_one_clear_line) {
  EXPECT_NE(complaint([](Request& r) {
              r.image_prompts[0].path = adapter("xl");
            }).find("is for a model whose text states have the width 32, this one has 24"),
            std::string::npos);
  EXPECT_NE(complaint([](Request& r) { r.image_prompts[0].path = golden_folder() / "pndm/unet"; }).find("IP-Adapter"), std::string::npos);
  EXPECT_NE(complaint([](Request& r) { r.image_prompts[0].path = "/nowhere"; }).find("/nowhere"), std::string::npos);
  EXPECT_NE(complaint([](Request& r) { r.image_prompts[0].path = ""; }).find("no adapter is given"), std::string::npos);
  EXPECT_NE(complaint([](Request& r) { r.image_prompts[0].image = {}; }).find("image prompt"), std::string::npos);
  EXPECT_NE(complaint([](Request& r) { r.image_prompts[0].scale = std::nan(""); }).find("expected a finite number"), std::string::npos);
  const TemporaryFolder folder;
  fs::copy_file(adapter("plain"), folder / "cut.safetensors");
  fs::resize_file(folder / "cut.safetensors", fs::file_size(adapter("plain")) - 100);
  EXPECT_NE(complaint([&](Request& r) { r.image_prompts[0].path = folder / "cut.safetensors"; }).find("cut.safetensors"),
            std::string::npos);
  Model without = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32});
  EXPECT_NE(complaint_of([&] { without.generate(request("plain")); }).find("expected --image-encoder PATH"), std::string::npos);
  EXPECT_NE(complaint_of([&] {
              Model::open(checkpoint_folder("pndm"), {.components = {{"image_encoder", {.path = adapter("plain")}}}});
            }).find("image encoder"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::test
