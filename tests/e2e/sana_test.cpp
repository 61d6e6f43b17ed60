// SANA's own: runs from an image with Sprint, the options of prompts, other encoders, and what the family refuses; compared with diffusers
// (golden/make_sana.py). What all image families must do is in golden_test and image_families_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backends/backends.h"
#include "core/files/json.h"
#include "e2e/checkpoint_copy.h"
#include "e2e/editing_cases_test.h"
#include "hearth/convert.h"
#include "hearth/prompt.h"
#include "hearth/quantize.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/files.h"
#include "support/tolerance.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Sana : testing::Test, EditingCases {
  Sana() : EditingCases("sana_images") {}

  std::vector<float> latents(const std::string& checkpoint, const std::string& name, const std::function<void(Request&)>& change = {}) {
    Request r = find_case(checkpoint, name).request;
    r.decode = false;
    if (change) change(r);
    return model(checkpoint).generate(r).latents.values;
  }
};

// Observed 5.9e-7 to 7.6e-7.
TEST_F(Sana, runs_from_an_image_are_those_of_diffusers) { expect_golden_latents(7e-6); }

TEST_F(Sana, runs_from_an_image_on_every_backend) {
  add_detached_backend();
  const Json& c = cases.at("image_040");
  for (const char* backend : {"reference", "detached"}) {
    Model model = Model::open(folder_of(c), {.device = backend, .precision = Precision::f32});
    EXPECT_LE(relative_error(model.generate(request_of(c)).latents.values, golden("image_040").to_vector()), 1e-5) << backend;
  }
}

// The pipelines' defaults, which their cases state.
TEST_F(Sana, defaults_are_those_of_the_pipelines) {
  const auto unset = [](Request& r) { r.steps = 0, r.guidance.reset(); };
  EXPECT_EQ(latents("sana_sprint", "default", unset), latents("sana_sprint", "default"));
  const auto twenty = [](Request& r) { r.steps = 20; };
  EXPECT_EQ(latents("sana", "default", unset), latents("sana", "default", twenty));
  const Generation made = model("sana").generate(find_case("sana", "whole_size").request);
  EXPECT_EQ(made.images.at(0).width, 512);
}

// Weights of a text's rows: the instruction precedes the prompt alone, which `hearth tokenize` shows.
TEST_F(Sana, prompts_are_shown_with_their_instruction) {
  const std::vector<ReadPrompt> read = read_prompt(checkpoint_folder("sana"), "  A Red House ");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].encoder, "text_encoder");
  const PromptText& text = read[0].conditions.at(0).texts.at(0);
  EXPECT_TRUE(text.text.starts_with("Given a user prompt, generate an 'Enhanced prompt'")) << text.text;
  EXPECT_TRUE(text.text.ends_with("User Prompt: a red house")) << text.text;
  EXPECT_EQ(text.chunks.at(0).at(0).piece, "<bos>");
  std::string shown;
  for (const PromptToken& token : text.chunks.at(0)) shown += token.piece;
  EXPECT_TRUE(shown.ends_with("Prompt:\u2581a\u2581red\u2581house")) << shown;
}

TEST_F(Sana, what_is_cut_off_or_has_no_effect_is_said) {
  const auto warned = [&](const char* checkpoint, const char* name, const std::function<void(Request&)>& change, const std::string& part) {
    Request r = find_case(checkpoint, name).request;
    r.decode = false;
    change(r);
    const std::vector<std::string> warnings = model(checkpoint).generate(r).warnings;
    EXPECT_TRUE(std::ranges::any_of(warnings, [&](const std::string& w) { return w.find(part) != w.npos; })) << part;
  };
  warned(
      "sana", "long", [](Request&) {}, "the prompt has ");
  warned(
      "sana", "long", [](Request&) {}, "the negative prompt has ");
  warned(
      "sana_sprint", "negative", [](Request&) {}, "the negative prompt is ignored: it requires guidance");
  warned(
      "sana", "no_guidance", [](Request&) {}, "the negative prompt is ignored: it requires guidance");
}

// Clamping changes nothing where nothing is beyond the range of float16.
TEST_F(Sana, attention_is_clamped_on_request) {
  const auto clamp = [](Request& r) { r.options["clamp_attention"] = 1; };
  EXPECT_LE(relative_error(latents("sana", "default", clamp), latents("sana", "default")), 1e-5);
  CheckpointCopy copy("sana");
  copy.convert("transformer", DType::f32);
  copy.edit_tensors("transformer", [&](NamedTensors& tensors) {
    Tensor& bias = tensors.at("transformer_blocks.0.attn1.to_out.0.bias");
    std::vector<float> values = bias.to_vector();
    values[0] = 1e6f;
    bias = Tensor::from(copy.device(), bias.shape(), values);
  });
  Request r = find_case("sana", "default").request;
  r.decode = false;
  Model model = Model::open(copy.path(), {.precision = Precision::f32});
  const auto plain = model.generate(r).latents.values;
  clamp(r);
  EXPECT_NE(model.generate(r).latents.values, plain);
}

// The language model in llama.cpp's layout brings its configuration and its tokenizer.
TEST_F(Sana, a_text_encoder_may_be_a_gguf_file) {
  const fs::path official = checkpoint_folder("sana");
  const TemporaryFolder folder;
  const fs::path text = folder / "text";
  fs::copy(official / "text_encoder", text);
  for (const auto& entry : fs::directory_iterator(official / "tokenizer")) fs::copy(entry.path(), text / entry.path().filename());
  NamedTensors named;  // as of a model with a head, which is what `hearth quantize` reads
  const auto bare = SafetensorsFile::open(official / "text_encoder" / "model.safetensors");
  for (const auto& [name, info] : bare->list()) named["model." + name] = copy_of(bare->read(name, info.shape, *device), info.dtype);
  fs::remove(text / "model.safetensors");
  write_safetensors(text / "model.safetensors", named);
  quantize({.model = text.string(), .output = (folder / "text.gguf").string(), .type = "f32", .threads = 2});
  Request r = find_case("sana", "negative").request;
  r.decode = false;
  OpenOptions options{.precision = Precision::f32};
  const auto wanted = Model::open(official, options).generate(r).latents.values;
  options.components["text_encoder"].path = folder / "text.gguf";
  EXPECT_LE(relative_error(Model::open(official, options).generate(r).latents.values, wanted), 1e-5);
}

// mit-han-lab's file, alone and nested as in a pickle: queries, keys and values are rows of one 1×1 kernel. Diffusers' converter turns
// these names into the folder's (src/models/sana/golden/make.py).
TEST_F(Sana, the_autoencoder_may_be_the_authors_file) {
  const auto names = load_json(fs::path(HEARTH_SOURCE_DIR) / "src/models/sana/golden/dc_original.json").at("names");
  CheckpointCopy copy("sana");
  const auto official = SafetensorsFile::open(copy.weights("vae"));
  NamedTensors original;
  const auto read = [&](const std::string& name) { return official->read(name, official->list().at(name).shape, copy.device()); };
  for (const auto& [stored, parts] : names.items()) {
    std::vector<float> values;
    Shape shape;
    for (const std::string part : parts.at("official")) {
      const Tensor x = read(part);
      for (const float v : x.to_vector()) values.push_back(v);
    }
    for (const int64_t n : parts.at("shape")) shape.push_back(n);
    original[stored] = Tensor::from(copy.device(), shape, std::span<const float>(values));
  }
  const TemporaryFolder files;
  write_safetensors(files / "dc-ae.safetensors", original);
  EXPECT_NE(inspect(files / "dc-ae.safetensors").text.find("deep compression autoencoder (SANA)"), std::string::npos);
  const Request r = find_case("sana", "negative").request;
  const auto pixels = [&](const OpenOptions& options) {
    return Model::open(checkpoint_folder("sana"), options).generate(r).images.at(0).rgb;
  };
  OpenOptions given{.precision = Precision::f32};
  const auto wanted = pixels(given);
  given.components["vae"].path = files / "dc-ae.safetensors";
  EXPECT_EQ(pixels(given), wanted);
  // Written again under the folder's names.
  convert({.model = checkpoint_folder("sana"), .components = {{"vae", files / "dc-ae.safetensors"}}, .output = files / "folder"});
  const auto back = SafetensorsFile::open(files / "folder/vae/diffusion_pytorch_model.safetensors");
  ASSERT_EQ(back->list().size(), official->list().size());
  for (const auto& [name, info] : official->list())
    EXPECT_EQ(back->read(name, info.shape, copy.device()).to_vector(), read(name).to_vector()) << name;
  original.erase("decoder.stages.3.op_list.1.context_module.main.qkv.conv.weight");
  write_safetensors(files / "dc-ae.safetensors", original);
  const std::string message = complaint_of([&] { pixels(given); });
  EXPECT_NE(message.find("decoder.up_blocks.3.1.attn.to_k.weight"), message.npos) << message;
}

TEST_F(Sana, what_does_not_fit_is_refused_in_one_line) {
  const auto expect = [&](const char* name, const std::function<void(Request&)>& change, const char* says) {
    SCOPED_TRACE(says);
    const std::string said = complaint_of([&] { latents("sana", name, change); });
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_TRUE(said.starts_with("UsageError") || said.starts_with("UnsupportedError")) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect(
      "default", [](Request& r) { r.width = 80; }, "width is 80, expected a multiple of 32 pixels");
  expect(
      "default", [](Request& r) { r.options["max_sequence_length"] = int64_t(0); }, "max_sequence_length");
  expect(
      "default", [](Request& r) { r.prompt = "a (b:1.3)", r.prompt_syntax = PromptSyntax::a1111; }, "weights are not supported");
  expect(
      "default", [](Request& r) { r.guidance_method = "pag"; }, "guidance 'pag': not supported by the transformer of sana");
  expect(
      "default", [](Request& r) { r.sampler = "scm"; }, "is for TrigFlow networks");
}

TEST_F(Sana, a_checkpoint_whose_parts_do_not_fit_is_refused) {
  const auto expect = [&](const char* checkpoint, const std::string& config, const Json& change, const char* says) {
    SCOPED_TRACE(says);
    CheckpointCopy copy(checkpoint);
    copy.edit_json(config, [&](Json& values) { values.update(change); });
    const std::string said = complaint_of([&] { Model::open(copy.path()); });
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect("sana", "transformer/config.json", {{"caption_channels", 24}}, "width 24 (caption_channels), expected text_encoder's 16");
  expect("sana", "transformer/config.json", {{"in_channels", 6}}, "6 input and 4 output channels, expected 4 and 4 or 8");
  expect("sana", "text_encoder/config.json", {{"vocab_size", 100}}, "expected less than text_encoder's 100 embedding rows");
  expect("sana", "text_encoder/config.json", {{"model_type", "none"}}, "the model type 'none' is not supported as a text encoder");
  expect("sana", "model_index.json", {{"vae", {"diffusers", "AutoencoderKL"}}}, "AutoencoderKL");
  expect("sana", "model_index.json", {{"text_encoder", {nullptr, nullptr}}}, "text_encoder");
  expect("sana", "model_index.json", {{"controlnet", {"diffusers", "SanaControlNetModel"}}},
         "'controlnet' (SanaControlNetModel) is not supported");
  expect("sana", "model_index.json", {{"_class_name", "SanaControlNetPipeline"}}, "SanaControlNetPipeline");
  expect("sana", "model_index.json", {{"_class_name", "SanaPAGPipeline"}}, "SanaPAGPipeline");
  expect("sana", "model_index.json", {{"_class_name", "SanaSprintPipeline"}}, "expected SCMScheduler");
  expect("sana", "scheduler/scheduler_config.json", {{"prediction_type", "epsilon"}, {"use_flow_sigmas", false}},
         "is not set up for a flow network");
  expect("sana_sprint", "transformer/config.json", {{"guidance_embeds", false}}, "lacks an input for the guidance scale (guidance_embeds)");
}

}  // namespace
}  // namespace hearth::test
