// FLUX.2, compared with diffusers (golden/make_flux2.py), in every layout and on every backend; and what it refuses.
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "backends/backends.h"
#include "core/files/json.h"
#include "e2e/editing_cases_test.h"
#include "hearth/convert.h"
#include "hearth/prompt.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Flux2 : testing::Test, EditingCases {
  Flux2() : EditingCases("flux2") {}

  std::vector<float> latents(const char* name, const std::function<void(Request&)>& change = {}) {
    Request r = request_of(cases.at(name));
    if (change) change(r);
    return model_of(cases.at(name)).generate(r).latents.values;
  }
};

TEST_F(Flux2, latents_are_those_of_diffusers) { expect_golden_latents(2e-5); }  // observed 1.3e-7 to 3.2e-6

TEST_F(Flux2, latents_are_those_of_diffusers_on_every_backend) {
  expect_golden_latents_on_every_backend({"few_tokens", "klein_little", "klein_long"}, 2e-5);  // observed 1.4e-7 to 5.6e-7
}

TEST_F(Flux2, each_setting_has_its_effect) {
  const auto wanted = latents("default");
  EXPECT_EQ(latents("default", [](Request& r) { r.guidance.reset(); }), wanted);  // 4
  EXPECT_EQ(latents("default", [](Request& r) { r.negative_prompt = "rain"; }), wanted);
  EXPECT_NE(latents("default", [](Request& r) { r.guidance = 3.9; }), wanted);
  EXPECT_NE(latents("default", [](Request& r) { r.options["max_sequence_length"] = int64_t(500); }), wanted);  // padding takes part
  const auto klein = latents("klein");
  EXPECT_EQ(latents("klein", [](Request& r) { r.guidance.reset(); }), klein);  // 4
  EXPECT_EQ(latents("klein", [](Request& r) { r.negative_prompt = ""; }), klein);
  EXPECT_NE(latents("klein", [](Request& r) { r.negative_prompt = "rain"; }), klein);
  EXPECT_EQ(latents("distilled", [](Request& r) { r.guidance = 4; }), latents("distilled"));
}

// Images come back as they are, up to what the autoencoder loses: its two directions are inverse to each other.
TEST_F(Flux2, runs_start_from_images) {
  Request r = request_of(cases.at("few_tokens"));
  r.edit.image = image("reference0", 96, 64);
  r.width.reset(), r.height.reset();
  r.edit.strength = 0.5;
  const auto half = model_of(cases.at("few_tokens")).generate(r).latents;
  EXPECT_EQ(half.shape, (std::vector<int64_t>{1, 8, 4, 6}));
  r.edit.strength = 0.9;
  EXPECT_NE(model_of(cases.at("few_tokens")).generate(r).latents.values, half.values);
}

TEST_F(Flux2, previews_are_as_large_as_the_image) {
  Request r = request_of(cases.at("klein_little"));
  int64_t shown = 0;
  r.preview.show = [&](const std::vector<Image>& images, int64_t, int64_t) {
    ++shown;
    EXPECT_EQ(images.at(0).width, 64);
    EXPECT_EQ(images.at(0).height, 48);
  };
  model_of(cases.at("klein_little")).generate(r);
  EXPECT_GT(shown, 0);
}

// Threads, batches and interruptions change nothing.
TEST_F(Flux2, a_run_is_the_same_in_any_batch_and_after_a_stop) {
  expect_same_in_any_batch_and_after_a_stop({"few_tokens", "klein_little", "klein_reference"});
}

TEST_F(Flux2, memory_is_planned_before_the_run) { expect_planned_memory({"few_tokens", "klein_reference"}); }

// Black Forest Labs' names, in one file and as a GGUF file of the transformer.
TEST_F(Flux2, every_layout_gives_the_same_bits) {
  for (const char* name : {"few_tokens", "klein_little"}) {
    SCOPED_TRACE(name);
    const Json& c = cases.at(name);
    const fs::path official = folder_of(c);
    const TemporaryFolder folder;
    const fs::path configs = folder / "configs";
    fs::copy(official, configs, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(configs)) {
      fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
      if (entry.path().extension() == ".safetensors") fs::remove(entry);
    }
    Request r = request_of(c);
    r.decode = true;
    const Generation wanted = Model::open(official).generate(r);
    convert({.model = official, .output = folder / "all.safetensors", .layout = "single"});
    expect_same(Model::open(folder / "all.safetensors", {.config = configs}).generate(r), wanted);
    convert({.model = folder / "all.safetensors", .config = configs, .output = folder / "again"});
    expect_same(Model::open(folder / "again").generate(r), wanted);
    convert({.model = official, .output = folder / "transformer.gguf", .layout = "gguf", .component = "transformer"});
    OpenOptions options{.precision = Precision::f32};
    options.components["transformer"].path = folder / "transformer.gguf";
    EXPECT_LE(relative_error(Model::open(official, options).generate(r).latents.values, golden(name).to_vector()), 2e-5);
  }
}

TEST_F(Flux2, a_checkpoint_is_inspected_and_its_prompts_are_shown) {
  for (const char* name : {"default", "klein"}) {
    const Inspection found = inspect(folder_of(cases.at(name)));
    EXPECT_TRUE(found.usable) << found.text;
    EXPECT_EQ(Json::parse(found.json).at("family"), "flux2");
  }
  const auto tokens = read_prompt(folder_of(cases.at("default")), "a red house").at(0).conditions.at(0).texts.at(0).chunks.at(0);
  EXPECT_EQ(tokens.front().piece, "<s>");
  EXPECT_EQ(tokens.at(1).piece, "[SYSTEM_PROMPT]");
  EXPECT_EQ(tokens.back().piece, "[/INST]");
}

TEST_F(Flux2, what_does_not_fit_is_refused_in_one_line) {
  const auto expect = [&](const char* name, const std::function<void(Request&)>& change, const char* says) {
    SCOPED_TRACE(says);
    const std::string said = complaint_of([&] { latents(name, change); });
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_TRUE(said.starts_with("UsageError") || said.starts_with("UnsupportedError")) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect(
      "default", [](Request& r) { r.width = 56; }, "width is 56, expected a multiple of 16 pixels");
  expect(
      "default", [](Request& r) { r.options["max_sequence_length"] = int64_t(600); }, "max_sequence_length");
  expect(
      "klein", [](Request& r) { r.guidance_method = "slg"; }, "guidance 'slg': not supported by the transformer of flux2");
}

TEST_F(Flux2, a_checkpoint_whose_parts_do_not_fit_is_refused) {
  const auto expect = [&](const char* checkpoint, const std::string& config, const Json& change, const char* says) {
    SCOPED_TRACE(says);
    CheckpointCopy copy(checkpoint);
    copy.edit_json(config, [&](Json& values) { values.merge_patch(change); });
    const std::string said = complaint_of([&] { Model::open(copy.path()); });
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect("flux2_dev", "transformer/config.json", {{"joint_attention_dim", 20}}, "width 20 (joint_attention_dim), expected 24");
  expect("flux2_dev", "transformer/config.json", {{"in_channels", 12}}, "expected 8 of each for the autoencoder's latents");
  expect("flux2_dev", "transformer/config.json", {{"guidance_embeds", false}}, "expected one for Flux2Pipeline");
  expect("flux2_dev", "model_index.json", {{"_class_name", "Flux2KleinPipeline"}}, "expected none for Flux2KleinPipeline");
  expect("flux2_dev", "text_encoder/config.json", {{"text_config", {{"num_hidden_layers", 29}}}}, "has 29 layers, expected at least 30");
  expect("flux2_dev", "text_encoder/config.json", {{"text_config", {{"vocab_size", 100}}}}, "expected less than its 100 embedding rows");
  expect("flux2_dev", "vae/config.json", {{"patch_size", {4, 4}}}, "'patch_size' = [4,4] is not supported");
  expect("flux2_dev", "vae/config.json", {{"decoder_block_out_channels", {4, 4, 8, 8}}}, "decoder_block_out_channels");
  expect("flux2_dev", "vae/config.json", {{"new_key", 1}}, "new_key");
  expect("flux2_klein", "model_index.json", {{"scheduler", {"diffusers", "EulerDiscreteScheduler"}}},
         "expected a scheduler of flow models");
}

}  // namespace
}  // namespace hearth::test
