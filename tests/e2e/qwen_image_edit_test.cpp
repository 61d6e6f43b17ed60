// Qwen-Image-Edit, compared with diffusers (golden/make_qwen_image_edit.py); and what it refuses.
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>

#include "core/files/json.h"
#include "e2e/editing_cases_test.h"
#include "hearth/convert.h"
#include "support/complaint.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct QwenImageEdit : testing::Test, EditingCases {
  QwenImageEdit() : EditingCases("qwen_image_edit") {}

  Generation made(const char* name, const std::function<void(Request&)>& change = {}) {
    Request r = request_of(cases.at(name));
    if (change) change(r);
    return model_of(cases.at(name)).generate(r);
  }
};

TEST_F(QwenImageEdit, latents_are_those_of_diffusers) { expect_golden_latents(1e-4); }  // observed 2.2e-6 to 2.5e-5

// The size of a megapixel with the image's ratio of sides.
TEST_F(QwenImageEdit, the_size_is_that_of_the_reference_image) {
  const Generation plain = made("default_size", [](Request& r) { r.width.reset(), r.height.reset(); });
  EXPECT_LE(relative_error(plain.latents.values, golden("default_size").to_vector()), 1e-4);
}

TEST_F(QwenImageEdit, a_run_is_the_same_in_any_batch_and_after_a_stop) {
  const Json& c = cases.at("two");
  Request r = request_of(c);
  const auto whole = model_of(c).generate(r).latents.values;
  Request first = r;
  first.stop_after = 1;
  Request rest = r;
  rest.resume = model_of(c).generate(first).state;
  ASSERT_TRUE(rest.resume.has_value());
  EXPECT_EQ(model_of(c).generate(rest).latents.values, whole);
  r.batch_size = 2;
  const auto batch = model_of(c).generate(r).latents.values;
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), batch.begin()));
}

TEST_F(QwenImageEdit, memory_is_planned_before_the_run) {
  for (const int64_t limit : {int64_t(0), int64_t(2'000'000'000)}) {
    const Json& c = cases.at("one");
    Request r = request_of(c);
    r.decode = true;
    Model model = Model::open(folder_of(c), {.threads = 2, .precision = Precision::f32, .memory_limit = limit});
    const Json memory = Json::parse(model.generate(r).report).at("memory");
    EXPECT_EQ(memory.at("measured").at("peak"), memory.at("planned").at("peak"));
  }
}

TEST_F(QwenImageEdit, a_converted_checkpoint_gives_the_same_bits) {
  const Json& c = cases.at("one");
  const TemporaryFolder folder;
  const fs::path configs = folder / "configs";
  fs::copy(folder_of(c), configs, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(configs)) {
    fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
    if (entry.path().extension() == ".safetensors") fs::remove(entry);
  }
  const Request r = request_of(c);
  const auto wanted = Model::open(folder_of(c)).generate(r).latents.values;
  convert({.model = folder_of(c), .output = folder / "all.safetensors", .layout = "single"});
  EXPECT_EQ(Model::open(folder / "all.safetensors", {.config = configs}).generate(r).latents.values, wanted);
  convert({.model = folder / "all.safetensors", .config = configs, .output = folder / "again"});
  EXPECT_EQ(Model::open(folder / "again").generate(r).latents.values, wanted);
}

TEST_F(QwenImageEdit, what_does_not_fit_is_refused_in_one_line) {
  const auto expect = [&](const char* name, const std::function<void(Request&)>& change, const char* says) {
    SCOPED_TRACE(says);
    const std::string said = complaint_of([&] { made(name, change); });
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_TRUE(said.starts_with("UsageError") || said.starts_with("UnsupportedError")) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect(
      "one", [](Request& r) { r.references.clear(); }, "this model edits images, expected one with --reference");
  expect(
      "edit", [](Request& r) { r.references.push_back(r.references[0]); }, "edits one image, but there are 2 reference images");
  expect(
      "one", [](Request& r) { r.options["max_sequence_length"] = int64_t(100); }, "max_sequence_length is not supported");
  expect(
      "one", [](Request& r) { r.prompt = "a <|image_pad|>"; }, "the prompt contains <|image_pad|>");
  expect(
      "one",
      [](Request& r) {
        Image& image = r.references[0].image;
        image = {.width = 3000, .height = 2};
        image.rgb.resize(3000 * 2 * 3);
      },
      "a reference image is 3000×2, expected sides that differ less");
}

TEST_F(QwenImageEdit, a_checkpoint_whose_parts_do_not_fit_is_refused) {
  const auto expect = [&](const std::string& config, const Json& change, const char* says) {
    SCOPED_TRACE(says);
    CheckpointCopy copy("qwen_image_edit");
    copy.edit_json(config, [&](Json& values) { values.merge_patch(change); });
    const std::string said = complaint_of([&] { Model::open(copy.path()); });
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect("model_index.json", {{"processor", nullptr}}, "processor");
  expect("processor/preprocessor_config.json", {{"resample", 2}}, "'resample' = 2 is not supported");
  expect("processor/preprocessor_config.json", {{"patch_size", 16}}, "'patch_size' = 16 is not supported");
  expect("processor/preprocessor_config.json", {{"image_std", {1, 0, 1}}}, "'image_std' contains 0");
  expect("processor/preprocessor_config.json", {{"min_pixels", 2000000}}, "expected the smaller number first");
  expect("text_encoder/config.json", {{"vision_config", {{"out_hidden_size", 8}}}}, "rows of width 8 (out_hidden_size), expected the 24");
  expect("text_encoder/config.json", {{"text_config", {{"rope_scaling", nullptr}}}}, "mrope_section");
}

}  // namespace
}  // namespace hearth::test
