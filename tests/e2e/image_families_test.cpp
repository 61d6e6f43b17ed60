// What every image family must do with its checkpoint: the same bits in every layout, batch and thread count, after a stop and with
// streamed weights; memory as planned; inspection. Its goldens are in golden_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "e2e/cases.h"
#include "e2e/checkpoint_copy.h"
#include "hearth/convert.h"
#include "hearth/quantize.h"
#include "hearth/rerun.h"
#include "hearth/tokenizer.h"
#include "support/complaint.h"
#include "support/tolerance.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Family {
  const char *checkpoint, *family;
  const char* original;                         // the authors' module that holds the queries of the first self-attention of the image
  int64_t parts;                                // of its rows, of which the queries are the first
  std::map<std::string, std::string> prefixes;  // component → prefix of its tensors in a single file; the denoiser's has the first letter
  int64_t unit = 16;                            // of sides, in pixels
  bool changes_prompts = true;                  // prompts that change, are composed or weighted; else refused
};
const Family families[] = {
    {"pixart_alpha",
     "pixart",
     "blocks.0.attn.qkv",
     3,
     {{"transformer", "model.diffusion_model."}, {"vae", "first_stage_model."}, {"text_encoder", "text_encoders.t5xxl.transformer."}}},
    {"pixart_sigma",
     "pixart",
     "blocks.0.attn.qkv",
     3,
     {{"transformer", "model.diffusion_model."}, {"vae", "first_stage_model."}, {"text_encoder", "text_encoders.t5xxl.transformer."}}},
    {"aura_flow",
     "aura_flow",
     "double_layers.0.attn.w2q",
     1,
     {{"transformer", "model.diffusion_model."}, {"vae", "vae."}, {"text_encoder", "text_encoders.pile_t5xl.transformer."}}},
    {"hunyuan_11",
     "hunyuan_dit",
     "blocks.0.attn1.Wqkv",
     3,
     {{"transformer", "model.diffusion_model."},
      {"vae", "vae."},
      {"text_encoder", "text_encoders.hydit_clip.transformer.bert."},
      {"text_encoder_2", "text_encoders.mt5xl.transformer."}}},
    {"hunyuan_12",
     "hunyuan_dit",
     "blocks.0.attn1.Wqkv",
     3,
     {{"transformer", "model.diffusion_model."},
      {"vae", "vae."},
      {"text_encoder", "text_encoders.hydit_clip.transformer.bert."},
      {"text_encoder_2", "text_encoders.mt5xl.transformer."}}},
    {"sana",
     "sana",
     "blocks.0.attn.qkv",
     3,
     {{"transformer", "model.diffusion_model."}, {"vae", "vae."}, {"text_encoder", "text_encoders.gemma2_2b.transformer."}},
     32,
     false},
    {"sana_15",
     "sana",
     "blocks.0.attn.qkv",
     3,
     {{"transformer", "model.diffusion_model."}, {"vae", "vae."}, {"text_encoder", "text_encoders.gemma2_2b.transformer."}},
     32,
     false},
    {"sana_sprint",
     "sana",
     "blocks.0.attn.qkv",
     3,
     {{"transformer", "model.diffusion_model."}, {"vae", "vae."}, {"text_encoder", "text_encoders.gemma2_2b.transformer."}},
     32,
     false},
};

void PrintTo(const Family& f, std::ostream* out) { *out << f.checkpoint; }

struct ImageFamilies : testing::TestWithParam<Family> {
  fs::path folder = checkpoint_folder(GetParam().checkpoint);
  // A small run that is not square.
  Request request() const {
    Request r = find_case(GetParam().checkpoint, "negative").request;
    r.steps = 3;
    return r;
  }
};

std::vector<float> latents(const fs::path& path, const Request& r, const OpenOptions& options = {.precision = Precision::f32}) {
  return Model::open(path, options).generate(r).latents.values;
}

TEST_P(ImageFamilies, every_layout_gives_the_same_bits) {
  const TemporaryFolder files;
  const fs::path configs = files / "configs";
  fs::copy(folder, configs, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(configs)) {
    fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
    if (entry.path().extension() == ".safetensors") fs::remove(entry);
  }
  const Generation wanted = Model::open(folder).generate(request());
  convert({.model = folder, .output = files / "all.safetensors", .layout = "single"});
  expect_same(Model::open(files / "all.safetensors", {.config = configs}).generate(request()), wanted);
  convert({.model = files / "all.safetensors", .config = configs, .output = files / "folder"});
  expect_same(Model::open(files / "folder").generate(request()), wanted);
  convert({.model = files / "folder", .output = files / "again.safetensors", .layout = "single"});
  EXPECT_TRUE(read_file(files / "all.safetensors", 1 << 28) == read_file(files / "again.safetensors", 1 << 28));

  // Each network in a file of its own.
  CheckpointCopy copy(GetParam().checkpoint);
  const auto all = SafetensorsFile::open(files / "all.safetensors");
  size_t tensors = 0;
  OpenOptions parts{.config = configs};
  for (const auto& [component, prefix] : GetParam().prefixes) {
    NamedTensors part;
    for (const auto& [stored, info] : all->list())
      if (stored.starts_with(prefix))
        part[stored.substr(prefix.size())] = copy_of(all->read(stored, info.shape, copy.device()), info.dtype);
    tensors += part.size();
    write_safetensors(files / (component + ".safetensors"), part);
    if (component != "transformer") parts.components[component].path = files / (component + ".safetensors");
  }
  EXPECT_EQ(tensors, all->list().size());
  expect_same(Model::open(files / "transformer.safetensors", parts).generate(request()), wanted);
  for (const auto& given : parts.components) {
    OpenOptions fewer = parts;
    fewer.components.erase(given.first);
    std::string flag = "--" + given.first;
    std::ranges::replace(flag, '_', '-');
    const std::string message = complaint_of([&] { Model::open(files / "transformer.safetensors", fewer); });
    EXPECT_TRUE(message.ends_with("give one with " + flag)) << message;
  }
  // Files of the folder's own layout.
  for (auto& [component, given] : parts.components) given.path = copy.weights(component);
  expect_same(Model::open(copy.weights("transformer"), parts).generate(request()), wanted);
}

// The default of the reference's pipeline, which the case states; SANA's other defaults are in sana_test.
TEST_P(ImageFamilies, the_default_guidance_is_the_reference_s) {
  Request r = find_case(GetParam().checkpoint, "default").request;
  r.decode = false;
  const auto stated = latents(folder, r);
  r.guidance.reset();
  EXPECT_EQ(latents(folder, r), stated);
  if (GetParam().family == std::string("sana")) return;
  r.steps = 0;
  const auto all = latents(folder, r);
  r.steps = GetParam().family == std::string("pixart") ? 20 : 50;
  EXPECT_EQ(latents(folder, r), all);
}

TEST_P(ImageFamilies, threads_batches_and_stops_change_nothing) {
  Request r = request();
  r.decode = false;
  Model model = Model::open(folder, {.precision = Precision::f32});
  const auto whole = model.generate(r).latents.values;
  EXPECT_EQ(latents(folder, r, {.threads = 3, .precision = Precision::f32}), whole);
  Request first = r, rest = r, both = r;
  first.stop_after = 1;
  rest.resume = model.generate(first).state;
  ASSERT_TRUE(rest.resume.has_value());
  EXPECT_EQ(model.generate(rest).latents.values, whole);
  both.batch_size = 2;
  const auto batch = model.generate(both).latents.values;
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), batch.begin()));
  both.batch_size = 1, both.seed = *both.seed + 1;
  const auto second = model.generate(both).latents.values;
  EXPECT_TRUE(std::equal(second.begin(), second.end(), batch.begin() + std::ptrdiff_t(whole.size())));
}

TEST_P(ImageFamilies, prompts_that_change_or_are_composed) {
  Model model = Model::open(folder, {.precision = Precision::f32});
  const auto values = [&](const std::string& prompt, PromptSyntax syntax = PromptSyntax::a1111) {
    Request r = request();
    r.decode = false, r.prompt = prompt, r.prompt_syntax = syntax;
    return model.generate(r).latents.values;
  };
  if (!GetParam().changes_prompts) {
    for (const char* prompt : {"a [house:boat:1]", "a house AND a boat", "a (house:1.5)"})
      EXPECT_NE(complaint_of([&] { values(prompt); }).find("not supported for a text encoder that is a language model"), std::string::npos);
    return;
  }
  const auto house = values("a house"), boat = values("a boat");
  EXPECT_NE(house, boat);
  EXPECT_EQ(values("[a house:a boat:9]"), house);
  EXPECT_EQ(values("[a house:a boat:0.0]"), boat);
  const auto changed = values("a [house:boat:1]"), composed = values("a house AND a boat");
  EXPECT_NE(changed, house);
  EXPECT_NE(changed, boat);
  EXPECT_NE(composed, house);
  EXPECT_NE(composed, changed);
  EXPECT_EQ(values("a house AND a boat:0"), values("a house AND rain:0"));
  EXPECT_NE(values("a (house:1.5)", PromptSyntax::comfyui), values("a house", PromptSyntax::comfyui));
  EXPECT_EQ(values("a (house:1.0)", PromptSyntax::comfyui).size(), house.size());
}

// From an image, under a mask, in two passes: what the shared run does for all families.
TEST_P(ImageFamilies, runs_from_an_image) {
  Model model = Model::open(folder, {.precision = Precision::f32});
  Request r = request();
  r.steps = 4;
  const Image image = model.generate(r).images[0];
  r.edit.image = image, r.edit.strength = 0.5;
  const Generation from_image = model.generate(r);
  EXPECT_EQ(from_image.images[0].width, image.width);
  r.edit.mask = Image{.width = image.width, .height = image.height, .rgb = std::vector<uint8_t>(image.rgb.size(), 0)};
  EXPECT_NE(model.generate(r).latents.values, from_image.latents.values);
  Request twice = request();
  twice.hires = Hires{.scale = 1.5, .upscaler = "latent", .steps = 2, .strength = 0.6};
  const Generation larger = model.generate(twice);
  EXPECT_GT(larger.images[0].width, image.width);
}

TEST_P(ImageFamilies, memory_is_planned_before_the_run) {
  const auto run = [&](int64_t limit) {
    Model model = Model::open(folder, {.threads = 2, .precision = Precision::f32, .memory_limit = limit});
    const Generation made = model.generate(request());
    const Json memory = Json::parse(made.report).at("memory");
    EXPECT_EQ(memory.at("measured").at("peak").get<int64_t>(), memory.at("planned").at("peak").get<int64_t>());
    return made;
  };
  expect_same(run(int64_t(2'000'000'000)), run(0));
}

TEST_P(ImageFamilies, a_checkpoint_is_inspected_and_its_prompts_are_shown) {
  const Inspection found = inspect(folder);
  EXPECT_TRUE(found.usable) << found.text;
  EXPECT_EQ(Json::parse(found.json).at("family"), GetParam().family);
}

TEST_P(ImageFamilies, previews_metadata_and_rerun) {
  Model model = Model::open(folder, {.precision = Precision::f32});
  Request r = request();
  int shown = 0;
  r.preview.show = [&](const std::vector<Image>& images, int64_t, int64_t) { shown += int(images.size()); };
  const Generation made = model.generate(r);
  EXPECT_EQ(shown, 3);
  const TemporaryFolder files;
  made.images[0].save(files / "made.png");
  const std::vector<std::string> arguments = rerun_of(files / "made.png").arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] == "--width" || arguments[i] == "--height") {
      EXPECT_EQ(arguments[i + 1], std::to_string(arguments[i] == "--width" ? made.images[0].width : made.images[0].height));
    }
  const bool exact = find_case(GetParam().checkpoint, "negative").request.options.contains("no_resolution_binning");
  EXPECT_EQ(std::ranges::count(arguments, "--no-resolution-binning"), exact ? 1 : 0);
}

// Its transformer as a GGUF file.
TEST_P(ImageFamilies, a_gguf_file_gives_the_same_bits) {
  const TemporaryFolder files;
  quantize({.model = folder.string(), .output = (files / "transformer.gguf").string(), .type = "f32"});
  OpenOptions options{.precision = Precision::f32};
  const auto wanted = latents(folder, request(), options);
  options.components["transformer"].path = files / "transformer.gguf";
  EXPECT_EQ(latents(folder, request(), options), wanted);
}

// An adapter under the official name of a matrix equals the matrix that it changes; under the authors' name of a fused one it changes the
// same; one for another model is refused.
TEST_P(ImageFamilies, adapters_change_what_they_name) {
  CheckpointCopy copy(GetParam().checkpoint);
  copy.convert("transformer", DType::f32);
  const TemporaryFolder files;
  std::string module;
  std::vector<float> change;
  NamedTensors adapter;
  copy.edit_tensors("transformer", [&](NamedTensors& tensors) {
    for (const auto& [name, w] : tensors)
      if (module.empty() && name.ends_with("to_q.weight") && name.find("single") == name.npos) module = name.substr(0, name.size() - 7);
    const Tensor w = tensors.at(module + ".weight");
    const int64_t out = w.size(0), in = w.size(1);
    const auto values = [&](int64_t count, float step) {
      std::vector<float> all;
      for (int64_t i = 0; i < count; ++i) all.push_back(0.3f * std::sin(step * float(i + 1)));
      return all;
    };
    const std::vector<float> a = values(in, 1.3f), b = values(out, 0.7f), before = w.to_vector();
    adapter["transformer." + module + ".lora_A.weight"] = Tensor::from(copy.device(), {1, in}, a);
    adapter["transformer." + module + ".lora_B.weight"] = Tensor::from(copy.device(), {out, 1}, b);
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i) change.push_back(before[size_t(o * in + i)] + b[size_t(o)] * a[size_t(i)]);
  });
  write_safetensors(files / "adapter.safetensors", adapter);
  Request r = request();
  r.decode = false;
  const auto plain = latents(copy.path(), r);
  r.loras = {{.file = files / "adapter.safetensors"}};
  const auto adapted = latents(copy.path(), r);
  EXPECT_GE(relative_error(adapted, plain), 1e-4);
  const auto same = [&](const std::string& name, const NamedTensors& tensors) {
    write_safetensors(files / (name + ".safetensors"), tensors);
    r.loras = {{.file = files / (name + ".safetensors")}};
    EXPECT_EQ(latents(copy.path(), r), adapted) << name;
  };
  const Tensor a = adapter.at("transformer." + module + ".lora_A.weight"), b = adapter.at("transformer." + module + ".lora_B.weight");
  same("peft", {{"base_model.model." + module + ".lora_A.weight", a}, {"base_model.model." + module + ".lora_B.weight", b}});
  std::vector<float> rows = b.to_vector();
  rows.resize(rows.size() * size_t(GetParam().parts), 0.0f);
  const Tensor all = Tensor::from(copy.device(), {int64_t(rows.size()), 1}, rows);
  const std::string original = GetParam().original;
  same("original", {{"diffusion_model." + original + ".lora_A.weight", a}, {"diffusion_model." + original + ".lora_B.weight", all}});
  std::string flat = "lora_unet_" + original;
  std::ranges::replace(flat, '.', '_');
  same("kohya", {{flat + ".lora_down.weight", a},
                 {flat + ".lora_up.weight", all},
                 {flat + ".alpha", Tensor::from(copy.device(), {}, std::vector<float>{1})}});
  copy.edit_tensors("transformer", [&](NamedTensors& tensors) {
    Tensor& w = tensors.at(module + ".weight");
    w = Tensor::from(copy.device(), w.shape(), change);
  });
  r.loras.clear();
  EXPECT_CLOSE(adapted, latents(copy.path(), r), 2e-5);

  write_safetensors(files / "foreign.safetensors", {{"lora_unet_nowhere.lora_down.weight", Tensor::zeros(copy.device(), {1, 4})},
                                                    {"lora_unet_nowhere.lora_up.weight", Tensor::zeros(copy.device(), {4, 1})}});
  r.loras = {{.file = files / "foreign.safetensors"}};
  const std::string message = complaint_of([&] { latents(copy.path(), r); });
  EXPECT_NE(message.find("foreign.safetensors"), message.npos) << message;
}

TEST_P(ImageFamilies, faults_are_errors_of_one_line) {
  const auto changed = [&](const fs::path& file, const std::function<void(Json&)>& change) {
    CheckpointCopy copy(GetParam().checkpoint);
    copy.edit_json(file, change);
    const std::string message = complaint_of([&] { Model::open(copy.path()); });
    EXPECT_TRUE(message.starts_with("WeightError") || message.starts_with("UnsupportedError")) << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    return message;
  };
  const auto has = [](const std::string& message, const char* text) { EXPECT_NE(message.find(text), message.npos) << message; };
  has(changed("transformer/config.json", [](Json& j) { j["new_key"] = 1; }), "new_key");
  has(changed("model_index.json", [](Json& j) { j["new_key"] = 1; }), "new_key");
  has(changed("model_index.json", [](Json& j) { j["transformer"] = {"diffusers", "UNet2DConditionModel"}; }), "transformer");
  has(changed("model_index.json", [](Json& j) { j["text_encoder"] = {"transformers", "CLIPVisionModel"}; }), "text_encoder");
  has(changed("transformer/config.json", [](Json& j) { j["in_channels"] = 7; }), "latent");
  has(changed("vae/config.json", [](Json& j) { j["latent_channels"] = 7; }), "latent");
  has(changed("scheduler/scheduler_config.json", [](Json& j) { j["new_key"] = 1; }), "new_key");
  CheckpointCopy lacking(GetParam().checkpoint);
  lacking.edit_tensors("transformer", [](NamedTensors& tensors) { tensors.erase("proj_out.weight"); });
  has(complaint_of([&] { Model::open(lacking.path()); }), "proj_out.weight");
  Model model = Model::open(folder);
  Request odd = request();
  odd.width = 83;
  has(complaint_of([&] { model.generate(odd); }), fmt::format("width is 83, expected a multiple of {} pixels", GetParam().unit).c_str());
  Request guided = request();
  guided.guidance_method = "slg";
  has(complaint_of([&] { model.generate(guided); }), "guidance 'slg'");
}

INSTANTIATE_TEST_SUITE_P(All, ImageFamilies, testing::ValuesIn(families), [](const auto& f) { return std::string(f.param.checkpoint); });

}  // namespace
}  // namespace hearth::test
