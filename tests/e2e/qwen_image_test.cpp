// Qwen-Image, compared with diffusers (golden/make_qwen_image.py), in every layout and on every backend; and what it refuses.
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

struct QwenImage : testing::Test, EditingCases {
  QwenImage() : EditingCases("qwen_image") {}

  Generation made(const char* name, const std::function<void(Request&)>& change = {}) {
    Request r = request_of(cases.at(name));
    if (change) change(r);
    return model_of(cases.at(name)).generate(r);
  }
  std::vector<float> latents(const char* name, const std::function<void(Request&)>& change = {}) {
    return made(name, change).latents.values;
  }
};

TEST_F(QwenImage, latents_are_those_of_diffusers) { expect_golden_latents(2e-5); }  // observed 6.1e-7 to 3.2e-6

TEST_F(QwenImage, latents_are_those_of_diffusers_on_every_backend) {
  expect_golden_latents_on_every_backend({"default", "negative", "wide", "image_060", "paint_batch"}, 2e-5);  // observed 7.6e-7 to 2.9e-6
}

// Without a negative prompt the reference's pipeline has no guidance; ComfyUI always has a negative prompt, and plain guidance.
TEST_F(QwenImage, guidance_is_that_of_the_program) {
  const auto unguided = latents("default"), guided = latents("empty_negative");
  const Generation plain = made("default");
  EXPECT_TRUE(std::ranges::any_of(plain.warnings, [](const std::string& w) {
    return w == "classifier-free guidance is off: it requires --negative-prompt, which may be empty";
  })) << fmt::format("{}", fmt::join(plain.warnings, "; "));
  EXPECT_EQ(Json::parse(plain.report).at("request").at("guidance"), 1.0);
  EXPECT_EQ(latents("default", [](Request& r) { r.guidance = 1; }), unguided);
  EXPECT_EQ(latents("empty_negative", [](Request& r) { r.guidance.reset(); }), guided);  // 4
  const auto with = [&](const char* name, Compat compat, const char* method, const char* patch = "") {
    return latents(name, [&](Request& r) {
      r.compat = compat, r.sampler = "euler", r.sigmas = {1.0, 0.9, 0.75, 0.4, 0}, r.guidance_method = method;
      if (*patch) r.guidance_options["patch"] = patch;
    });
  };
  const auto plain_guidance = with("default", Compat::comfyui, "");
  EXPECT_EQ(with("empty_negative", Compat::diffusers, "cfg"), plain_guidance);
  const auto norms = with("empty_negative", Compat::diffusers, "");
  EXPECT_NE(norms, plain_guidance);
  EXPECT_EQ(with("default", Compat::comfyui, "norm_preserving"), norms);
  EXPECT_NE(with("empty_negative", Compat::diffusers, "norm_preserving", "1"), norms);
  EXPECT_EQ(with("empty_negative", Compat::diffusers, "norm_preserving", "2"), norms);
}

TEST_F(QwenImage, what_has_no_effect_is_said) {
  const auto warned = [&](const char* name, const std::function<void(Request&)>& change, const std::string& part) {
    const std::vector<std::string> warnings = made(name, change).warnings;
    EXPECT_TRUE(std::ranges::any_of(warnings, [&](const std::string& w) { return w.find(part) != w.npos; }))
        << fmt::format("{}", fmt::join(warnings, "; "));
  };
  warned(
      "off", [](Request&) {}, "the negative prompt is ignored: it requires classifier-free guidance");
  warned(
      "cut", [](Request&) {}, "tokens too many for the 43 of the text encoder; dropped: ");
}

// Threads, batches and interruptions change nothing.
TEST_F(QwenImage, a_run_is_the_same_in_any_batch_and_after_a_stop) {
  expect_same_in_any_batch_and_after_a_stop({"default", "negative", "image_060", "paint_060"});
}

// A linear function of the latents, which is fitted to the autoencoder: of any size, and without an effect on the image.
TEST_F(QwenImage, previews_are_as_large_as_the_image) {
  for (const char* name : {"negative", "paint_batch"}) {
    SCOPED_TRACE(name);
    std::vector<int64_t> steps;
    std::vector<std::vector<uint8_t>> shown;
    const auto show = [&](Request& r) {
      r.preview = {.every = 2, .show = [&](const std::vector<Image>& images, int64_t step, int64_t) {
                     steps.push_back(step);
                     EXPECT_EQ(images.size(), size_t(r.batch_size));
                     EXPECT_EQ(images.at(0).width, cases.at(name).at("width"));
                     EXPECT_EQ(images.at(0).height, cases.at(name).at("height"));
                     shown.push_back(images[0].rgb);
                   }};
    };
    const auto wanted = latents(name);
    EXPECT_EQ(latents(name, show), wanted);
    EXPECT_EQ(steps, (std::vector<int64_t>{2, 4}));
    EXPECT_NE(shown.at(0), shown.at(1));
    EXPECT_NE(*std::ranges::max_element(shown[1]), *std::ranges::min_element(shown[1]));
  }
}

TEST_F(QwenImage, memory_is_planned_before_the_run) { expect_planned_memory({"negative", "image_060"}); }

// ComfyUI's names: with everything in one file, and with each network in a file of its own; and a GGUF file of the transformer.
TEST_F(QwenImage, every_layout_gives_the_same_bits) {
  const Json& c = cases.at("negative");
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

  const std::map<std::string, std::string> prefixes{
      {"transformer", "model.diffusion_model."}, {"vae", "vae."}, {"text", "text_encoders.qwen25_7b.transformer."}};
  const auto all = SafetensorsFile::open(folder / "all.safetensors");
  for (const char* name : {"model.diffusion_model.transformer_blocks.0.img_mod.1.weight", "vae.decoder.upsamples.3.residual.2.weight",
                           "vae.encoder.downsamples.1.resample.1.weight", "vae.conv1.weight"})
    EXPECT_TRUE(all->has(name)) << name;
  size_t tensors = 0;
  for (const auto& [stem, prefix] : prefixes) {
    NamedTensors part;
    for (const auto& [stored, info] : all->list())
      if (stored.starts_with(prefix)) part[stored.substr(prefix.size())] = copy_of(all->read(stored, info.shape, *device), info.dtype);
    tensors += part.size();
    write_safetensors(folder / (stem + ".safetensors"), part);
  }
  EXPECT_EQ(tensors, all->list().size());
  OpenOptions parts{.config = configs};
  parts.components["vae"].path = folder / "vae.safetensors";
  parts.components["text_encoder"].path = folder / "text.safetensors";
  expect_same(Model::open(folder / "transformer.safetensors", parts).generate(r), wanted);
  OpenOptions other = parts;  // under diffusers' names
  other.components["vae"].path = official / "vae" / "diffusion_pytorch_model.safetensors";
  expect_same(Model::open(folder / "transformer.safetensors", other).generate(r), wanted);
  OpenOptions fewer = parts;
  fewer.components.erase("text_encoder");
  const std::string message = complaint_of([&] { Model::open(folder / "transformer.safetensors", fewer); });
  EXPECT_TRUE(message.ends_with("give one with --text-encoder")) << message;

  convert({.model = official, .output = folder / "transformer.gguf", .layout = "gguf", .component = "transformer"});
  OpenOptions options{.precision = Precision::f32};
  options.components["transformer"].path = folder / "transformer.gguf";
  EXPECT_LE(relative_error(Model::open(official, options).generate(request_of(c)).latents.values, golden("negative").to_vector()), 2e-5);
}

TEST_F(QwenImage, a_checkpoint_is_inspected_and_its_prompts_are_shown) {
  const Inspection found = inspect(folder_of(cases.at("default")));
  EXPECT_TRUE(found.usable) << found.text;
  EXPECT_EQ(Json::parse(found.json).at("family"), "qwen_image");
  const std::vector<ReadPrompt> read = read_prompt(folder_of(cases.at("default")), "a red house");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].encoder, "text_encoder");
  const std::vector<PromptToken>& tokens = read[0].conditions.at(0).texts.at(0).chunks.at(0);
  EXPECT_EQ(tokens.front().piece, "<|im_start|>");
  EXPECT_EQ(tokens.back().piece, "\u010a");  // a line break behind "assistant"
}

TEST_F(QwenImage, what_does_not_fit_is_refused_in_one_line) {
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
      "default", [](Request& r) { r.options["max_sequence_length"] = int64_t(1025); }, "max_sequence_length");
  expect(
      "default", [](Request& r) { r.prompt = "a (b:1.3)", r.prompt_syntax = PromptSyntax::a1111; }, "weights are not supported");
  expect(
      "default", [](Request& r) { r.guidance_method = "slg"; }, "guidance 'slg': not supported by the transformer of qwen_image");
  expect(
      "default",
      [](Request& r) {
        r.references.push_back({.image = Image{.width = 1, .height = 1, .rgb = {0, 0, 0}}, .name = ""});
      },
      "does not look at reference images");
}

TEST_F(QwenImage, a_checkpoint_whose_parts_do_not_fit_is_refused) {
  const auto expect = [&](const std::string& config, const Json& change, const char* says) {
    SCOPED_TRACE(says);
    CheckpointCopy copy("qwen_image");
    copy.edit_json(config, [&](Json& values) { values.merge_patch(change); });
    const std::string said = complaint_of([&] { Model::open(copy.path()); });
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect("transformer/config.json", {{"joint_attention_dim", 20}}, "width 20 (joint_attention_dim), expected text_encoder's 24");
  expect("transformer/config.json", {{"in_channels", 12}}, "12 input and 4 output channels, expected 16 and 4");
  expect("transformer/config.json", {{"guidance_embeds", true}}, "'guidance_embeds' = true is not supported");
  expect("transformer/config.json", {{"use_layer3d_rope", true}}, "'use_layer3d_rope' = true is not supported");
  expect("text_encoder/config.json", {{"text_config", {{"vocab_size", 100}}}}, "expected less than its 100 embedding rows");
  expect("text_encoder/config.json", {{"text_config", {{"num_hidden_layers", 4}, {"layer_types", nullptr}}}}, "layers.3");
  expect("vae/config.json", {{"new_key", 1}}, "new_key");
  expect("model_index.json", {{"text_encoder", {nullptr, nullptr}}}, "text_encoder");
  expect("model_index.json", {{"controlnet", {"diffusers", "QwenImageControlNetModel"}}},
         "the component 'controlnet' (QwenImageControlNetModel) is not supported");
  expect("model_index.json", {{"scheduler", {"diffusers", "EulerDiscreteScheduler"}}}, "expected a scheduler of flow models");
}

}  // namespace
}  // namespace hearth::test
