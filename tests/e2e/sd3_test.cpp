// Stable Diffusion 3 beyond its goldens: files of every layout, runs without T5, prompts of three encoders, and samplers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "e2e/cases.h"
#include "e2e/checkpoint_copy.h"
#include "hearth/convert.h"
#include "hearth/prompt.h"
#include "hearth/tokenizer.h"
#include "support/complaint.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Change = std::function<void(Request&)>;

Request small() {
  return {.prompt = "a red house", .negative_prompt = "rain", .width = 48, .height = 32, .steps = 3, .guidance = 5, .seed = 3};
}

Generation generated(Model& model, const Change& change = {}) {
  Request r = small();
  if (change) change(r);
  return model.generate(r);
}
Generation generated(Model&& model, const Change& change = {}) { return generated(model, change); }

std::vector<float> latents(Model& model, const Change& change = {}) {
  return generated(model,
                   [&](Request& r) {
                     r.decode = false;
                     if (change) change(r);
                   })
      .latents.values;
}

void without_t5(Request& r) { r.options["no_t5"] = 1; }

Model open(const fs::path& path, const OpenOptions& options = {}) { return Model::open(path, options); }

const std::vector<std::string> encoders{"text_encoder", "text_encoder_2", "text_encoder_3"};

// A copy without weights.
fs::path configs_of(const CheckpointCopy& copy, const TemporaryFolder& folder) {
  const fs::path configs = folder / (copy.path().filename().string() + "-configs");
  fs::copy(copy.path(), configs, fs::copy_options::recursive);
  for (const char* component : {"text_encoder", "text_encoder_2", "text_encoder_3", "transformer", "vae"})
    fs::remove(configs / component / copy.weights(component).filename());
  return configs;
}

NamedTensors tensors_of(const fs::path& file, Backend& device) {
  NamedTensors tensors;
  const auto source = SafetensorsFile::open(file);
  for (const auto& [name, info] : source->list()) tensors[name] = copy_of(source->read(name, info.shape, device), info.dtype);
  return tensors;
}

NamedTensors with_prefix(const NamedTensors& all, const std::string& prefix, const std::string& instead = {}) {
  NamedTensors some;
  for (const auto& [name, x] : all)
    if (name.starts_with(prefix)) some[instead + name.substr(prefix.size())] = x;
  return some;
}

// A checkpoint as one file in Stability's layout, and its configurations.
struct Single {
  explicit Single(const std::string& checkpoint) : copy(checkpoint), configs(configs_of(copy, folder)), file(folder / "model.safetensors") {
    convert({.model = copy.path(), .output = file, .layout = "single"});
    tensors = tensors_of(file, copy.device());
  }
  fs::path write(const std::string& name, const NamedTensors& some) const {
    write_safetensors(folder / name, some);
    return folder / name;
  }
  Model opened(const fs::path& path, const std::map<std::string, ComponentOptions>& components = {},
               Precision precision = Precision::automatic) const {
    return open(path, {.components = components, .config = configs, .precision = precision});
  }

  TemporaryFolder folder;
  CheckpointCopy copy;
  fs::path configs, file;
  NamedTensors tensors;
};

TEST(Sd3Files, a_single_file_generates_the_image_of_the_folder) {
  for (const char* checkpoint : {"sd3", "sd35"}) {
    SCOPED_TRACE(checkpoint);
    Single single(checkpoint);
    const Generation wanted = generated(open(single.copy.path()));
    expect_same(generated(single.opened(single.file)), wanted);
    EXPECT_TRUE(single.tensors.contains("model.diffusion_model.joint_blocks.0.context_block.attn.qkv.weight"));
    EXPECT_TRUE(single.tensors.contains("text_encoders.t5xxl.transformer.shared.weight"));
    // Published files leave out CLIP-L's projection, which is the identity (in bf16 it would round), and have scales that are not used.
    NamedTensors published = single.tensors;
    EXPECT_EQ(published.erase("text_encoders.clip_l.transformer.text_projection.weight"), 1u);
    published["text_encoders.clip_l.logit_scale"] = published["text_encoders.clip_g.logit_scale"] =
        Tensor::zeros(single.copy.device(), {1});
    expect_same(generated(single.opened(single.write("published.safetensors", published), {}, Precision::f32)),
                generated(open(single.copy.path(), {.precision = Precision::f32})));
  }
}

TEST(Sd3Files, conversion_there_and_back_keeps_every_byte) {
  for (const char* checkpoint : {"sd3", "sd35"}) {
    SCOPED_TRACE(checkpoint);
    Single single(checkpoint);
    const fs::path folder = single.folder / "folder", again = single.folder / "again.safetensors";
    convert({.model = single.file, .config = single.configs, .output = folder});
    convert({.model = folder, .output = again, .layout = "single"});
    EXPECT_TRUE(read_file(single.file) == read_file(again));
    EXPECT_TRUE(fs::exists(folder / "tokenizer_3/spiece.model") || fs::exists(folder / "tokenizer_3/tokenizer.json"));
    expect_same(generated(open(folder)), generated(open(single.copy.path())));
  }
}

TEST(Sd3Files, components_may_come_from_any_file) {
  Single single("sd3");
  const Generation wanted = generated(open(single.copy.path()));
  const auto part = [&](const std::string& prefix, const std::string& instead = {}) {
    return single.write(prefix + "safetensors", with_prefix(single.tensors, prefix, instead));
  };
  const fs::path transformer = part("model.diffusion_model."), vae = part("first_stage_model."),
                 clip_l = part("text_encoders.clip_l.transformer."), clip_g = part("text_encoders.clip_g.transformer."),
                 t5 = part("text_encoders.t5xxl.transformer.");
  const std::map<std::string, ComponentOptions> parts{
      {"vae", {vae}}, {"text_encoder", {clip_l}}, {"text_encoder_2", {clip_g}}, {"text_encoder_3", {t5}}};
  for (const char* prefix : {"", "model.diffusion_model.", "diffusion_model.", "transformer."}) {
    SCOPED_TRACE(prefix);
    expect_same(generated(single.opened(
                    single.write("transformer.safetensors", with_prefix(single.tensors, "model.diffusion_model.", prefix)), parts)),
                wanted);
  }
  std::map<std::string, ComponentOptions> folders{{"vae", {single.copy.path() / "vae"}}};
  for (const std::string& encoder : encoders) folders[encoder] = {single.copy.path() / encoder};
  expect_same(generated(single.opened(transformer, folders)), wanted);
  // Files of the diffusers layout.
  for (auto& [name, given] : folders) given = {single.copy.weights(name)};
  expect_same(generated(single.opened(single.copy.weights("transformer"), folders)), wanted);
  // Everything but the encoders, as some published files.
  NamedTensors most = single.tensors;
  std::erase_if(most, [](const auto& t) { return t.first.starts_with("text_encoders."); });
  std::map<std::string, ComponentOptions> three = parts;
  three.erase("vae");
  expect_same(generated(single.opened(single.write("most.safetensors", most), three)), wanted);
}

TEST(Sd3Files, each_missing_encoder_is_named_with_its_flag) {
  Single single("sd3");
  const auto lacking = [&](const std::string& prefix, const Change& change = {}) {
    NamedTensors most = single.tensors;
    std::erase_if(most, [&](const auto& t) { return t.first.starts_with(prefix); });
    const fs::path file = single.write("most.safetensors", most);
    std::string message = complaint_of([&] { generated(single.opened(file), change); });
    const size_t at = message.find(file.string());
    return at == message.npos ? message : message.replace(at, file.string().size(), "FILE");
  };
  const auto has = [](const std::string& message, const std::string& text) { EXPECT_NE(message.find(text), std::string::npos) << message; };
  has(lacking("text_encoders.clip_l."), "holds no text encoder");
  has(lacking("text_encoders.clip_l."), "--text-encoder");
  has(lacking("text_encoders.clip_g."), "--text-encoder-2");
  has(lacking("first_stage_model."), "--vae");
  EXPECT_EQ(lacking("text_encoders.t5xxl."),
            "UsageError: generate: the checkpoint lacks its third text encoder (T5), expected one with --text-encoder-3, or --no-t5 to do "
            "without it");
  EXPECT_EQ(lacking("text_encoders.t5xxl.", without_t5), "");
}

TEST(Sd3WithoutT5, is_the_same_however_it_is_absent) {
  Single single("sd3");
  const Generation wanted = generated(open(single.copy.path()), without_t5);
  EXPECT_NE(wanted.latents.values, generated(open(single.copy.path())).latents.values);
  NamedTensors most = single.tensors;
  std::erase_if(most, [](const auto& t) { return t.first.starts_with("text_encoders.t5xxl."); });
  expect_same(generated(single.opened(single.write("most.safetensors", most)), without_t5), wanted);

  CheckpointCopy null("sd3"), gone("sd3"), empty("sd3");
  null.edit_json("model_index.json", [](Json& index) { index["text_encoder_3"] = index["tokenizer_3"] = {nullptr, nullptr}; });
  expect_same(generated(open(null.path()), without_t5), wanted);
  const Generation unasked = generated(open(null.path()));  // the checkpoint says that it has none
  expect_same(unasked, wanted);
  fs::remove_all(gone.path() / "text_encoder_3"), fs::remove_all(gone.path() / "tokenizer_3");
  expect_same(generated(open(gone.path()), without_t5), wanted);
  EXPECT_EQ(complaint_of([&] { generated(open(gone.path())); }),
            "UsageError: generate: the checkpoint lacks its third text encoder (T5), expected one with --text-encoder-3, or --no-t5 to do "
            "without it");
  fs::remove(empty.weights("text_encoder_3"));
  const std::string message = complaint_of([&] { open(empty.path()); });
  EXPECT_NE(message.find("text_encoder_3"), std::string::npos) << message;
}

TEST(Sd3WithoutT5, is_not_loaded) {
  Model model = open(checkpoint_folder("sd3"), {.load_when_needed = true});
  const auto bytes_of_t5 = [](const Generation& made) {
    const Json report = Json::parse(made.report);
    for (const Json& component : report.at("components"))
      if (component.at("name") == "text_encoder_3") return component.at("bytes").get<int64_t>();
    return int64_t(-1);
  };
  const Generation without = generated(model, without_t5), with = generated(model), again = generated(model, without_t5);
  EXPECT_EQ(bytes_of_t5(without), 0);
  EXPECT_GT(bytes_of_t5(with), 40000);
  expect_same(again, without);
  expect_same(with, generated(open(checkpoint_folder("sd3"))));
  // Its weights need not even be readable.
  CheckpointCopy copy("sd3");
  copy.edit_tensors("text_encoder_3", [&](NamedTensors& tensors) {
    Tensor& x = tensors.at("encoder.final_layer_norm.weight");
    x = copy_of(Tensor::filled(copy.device(), x.shape(), NAN), DType::f16);
  });
  const Generation made = generated(open(copy.path(), {.load_when_needed = true}), without_t5);
  expect_same(made, generated(open(checkpoint_folder("sd3")), without_t5));
  const std::string message = complaint_of([&] { generated(open(copy.path())); });
  EXPECT_NE(message.find("encoder.final_layer_norm.weight"), std::string::npos) << message;
}

TEST(Sd3Prompts, each_encoder_has_its_own_text) {
  Model model = open(checkpoint_folder("sd3"));
  const std::vector<float> plain = latents(model);
  const auto with = [&](const char* option, const char* text) {
    return latents(model, [&](Request& r) { r.options[option] = std::string(text); });
  };
  std::vector<std::vector<float>> others{plain};
  for (const char* option : {"prompt_2", "prompt_3", "negative_prompt_2", "negative_prompt_3"}) {
    EXPECT_EQ(with(option, std::string(option).starts_with("prompt") ? "a red house" : "rain"), plain) << option;
    others.push_back(with(option, "a boat"));
  }
  for (size_t i = 0; i < others.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(others[i], others[j]) << i << " and " << j;
}

TEST(Sd3Prompts, weights_and_edits) {
  Model model = open(checkpoint_folder("sd3"));
  const auto in = [&](PromptSyntax syntax, const char* prompt, const char* third = nullptr) {
    return latents(model, [&](Request& r) {
      r.prompt_syntax = syntax, r.prompt = prompt;
      if (third) r.options["prompt_3"] = std::string(third);
    });
  };
  for (const PromptSyntax syntax : {PromptSyntax::a1111, PromptSyntax::comfyui}) {
    EXPECT_NE(in(syntax, "a (red:1.4) house"), in(syntax, "a (red:1.1) house"));
    EXPECT_EQ(in(syntax, "a (red:1.4) house"), in(syntax, "a (red:1.4) house", "a (red:1.4) house"));
    EXPECT_NE(in(syntax, "a red house", "a boat"), in(syntax, "a red house"));
  }
  // T5's weights are ComfyUI's. In A1111 it has none, and its text only breaks at them.
  const auto third = [&](PromptSyntax syntax, const char* text) { return in(syntax, "a red house", text); };
  EXPECT_NE(third(PromptSyntax::comfyui, "a (red:1.4) house"), third(PromptSyntax::comfyui, "a (red:1.1) house"));
  EXPECT_EQ(third(PromptSyntax::a1111, "a (red:1.4) house"), third(PromptSyntax::a1111, "a (red:1.1) house"));
  EXPECT_EQ(third(PromptSyntax::a1111, "a (red:1.0) house"), in(PromptSyntax::a1111, "a red house"));
  // Edits and composed prompts.
  const std::vector<float> plain = in(PromptSyntax::a1111, "a red house"), edited = in(PromptSyntax::a1111, "a [red:blue:1] house");
  EXPECT_NE(edited, plain);
  EXPECT_NE(edited, in(PromptSyntax::a1111, "a blue house"));
  EXPECT_NE(in(PromptSyntax::a1111, "a [red:blue:1] house", "a red house"), edited);
  EXPECT_NE(in(PromptSyntax::a1111, "a red house", "a [red:blue:1] house"), plain);
  EXPECT_NE(in(PromptSyntax::a1111, "a red house AND a boat:0.5"), plain);
  const std::string message = complaint_of([&] { in(PromptSyntax::a1111, "a red house AND a boat", "a red house"); });
  EXPECT_TRUE(message.starts_with("UsageError: ")) << message;
}

TEST(Sd3Prompts, an_empty_negative_prompt_is_encoded) {
  Model model = open(checkpoint_folder("sd3"));
  const auto negative = [&](std::optional<std::string> text, double guidance = 5) {
    return latents(model, [&](Request& r) { r.negative_prompt = std::move(text), r.guidance = guidance; });
  };
  EXPECT_EQ(negative(""), negative(std::nullopt));
  EXPECT_NE(negative(""), negative("rain"));
  EXPECT_EQ(negative("", 1), negative("rain", 1));
  EXPECT_EQ(negative("", 1), negative("rain", 0));
  const Generation made = generated(model, [](Request& r) { r.guidance = 1; });
  EXPECT_EQ(made.warnings, std::vector<std::string>{"guidance 1 is at most 1: the negative prompt is ignored"});
}

TEST(Sd3Prompts, are_tokenized_by_three_encoders) {
  const fs::path folder = checkpoint_folder("sd3");
  EXPECT_EQ(tokenize(folder, "a house").ids.front(), 722);
  const std::vector<ReadPrompt> read = read_prompt(folder, "a (red:1.2) house", {.syntax = PromptSyntax::comfyui});
  ASSERT_EQ(read.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read[i].encoder, encoders[i]);
    double most = 0;
    for (const PromptToken& t : read[i].conditions.at(0).texts.at(0).chunks.at(0)) most = std::max(most, t.weight);
    EXPECT_NEAR(most, 1.2, 1e-6) << i;
  }
  CheckpointCopy copy("sd3");
  copy.edit_json("model_index.json", [](Json& index) { index["text_encoder_3"] = index["tokenizer_3"] = {nullptr, nullptr}; });
  EXPECT_EQ(read_prompt(copy.path(), "a house").size(), 2u);
}

TEST(Sd3Runs, batches_and_threads_change_nothing) {
  Model model = open(checkpoint_folder("sd35"));
  const auto run = [&](Model& with, int64_t batch, uint64_t seed) {
    return latents(with, [&](Request& r) { r.batch_size = batch, r.seed = seed; });
  };
  const std::vector<float> both = run(model, 2, 7);
  std::vector<float> singles = run(model, 1, 7), second = run(model, 1, 8);
  singles.insert(singles.end(), second.begin(), second.end());
  EXPECT_EQ(both, singles);
  for (const int threads : {1, 3}) {
    Model other = open(checkpoint_folder("sd35"), {.threads = threads});
    EXPECT_EQ(run(other, 2, 7), both) << threads;
  }
}

// Every sampler and schedule either runs or is refused in one line.
TEST(Sd3Runs, samplers_and_schedules) {
  Model model = open(checkpoint_folder("sd3"));
  const auto run = [&](const Change& change) -> std::string {
    return complaint_of([&] {
      const std::vector<float> x = latents(model, [&](Request& r) {
        r.steps = 4, r.width = r.height = 16;
        change(r);
      });
      for (const float v : x) ASSERT_TRUE(std::isfinite(v) && std::abs(v) < 100) << v;
    });
  };
  const auto names = [&](const std::vector<Named>& all, const std::function<Change(const std::string&)>& with) {
    std::vector<std::string> refused;
    for (const Named& one : all) {
      SCOPED_TRACE(one.name);
      const std::string message = run(with(one.name));
      if (message.empty()) continue;
      refused.push_back(one.name);
      EXPECT_TRUE(message.starts_with("UnsupportedError") || message.starts_with("UsageError")) << message;
      EXPECT_NE(message.find("flow"), std::string::npos) << message;
    }
    return refused;
  };
  EXPECT_EQ(names(list_samplers(), [](const std::string& name) { return [=](Request& r) { r.sampler = name; }; }),
            (std::vector<std::string>{"cogvideox_dpm", "ddim", "ddim_cfg_pp", "ddpm", "ipndm_vp", "plms", "scm", "tcd"}));
  EXPECT_EQ(names(list_schedules(), [](const std::string& name) { return [=](Request& r) { r.sampler = "euler", r.schedule = name; }; }),
            (std::vector<std::string>{"vp", "ays", "ays_sdxl", "ays_svd", "ays_11", "ays_sdxl_11", "ays_32", "ays_32_sdxl", "gits",
                                      "gits_a1111", "gits_comfyui", "gits_sdxl", "gits_sdxl_a1111"}));
  EXPECT_EQ(run([](Request& r) { r.compat = Compat::comfyui, r.sampler = "euler"; }), "");
  EXPECT_EQ(run([](Request& r) { r.compat = Compat::diffusers; }), "");
  EXPECT_EQ(run([](Request& r) { r.compat = Compat::a1111, r.sampler = "euler"; }), "");
}

}  // namespace
}  // namespace hearth::test
