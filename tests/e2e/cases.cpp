#include "e2e/cases.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/error.h"
#include "core/files/json.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

Tensor golden(const Case& c, const std::string& what) {
  static const auto device = make_backend({.name = "reference", .threads = 1});
  static std::map<std::string, std::shared_ptr<SafetensorsFile>> files;
  auto& file = files[c.checkpoint];
  if (!file) file = SafetensorsFile::open(golden_folder() / (c.checkpoint + ".safetensors"));
  const std::string name = c.name + "." + what;
  return file->read(name, file->list().at(name).shape, *device);
}

}  // namespace

Request to_request(const nlohmann::json& json) {
  Request r{.prompt = json.at("prompt"), .steps = json.at("steps"), .guidance = json.at("guidance").get<double>()};
  const auto option = [&](const char* key, const char* name, auto example) {
    if (json.contains(key)) r.options[name] = json.at(key).get<decltype(example)>();
  };
  if (json.contains("negative")) r.negative_prompt = json.at("negative").get<std::string>();
  if (json.contains("end")) r.refiner_start = json.at("end").get<double>();
  option("prompt_2", "prompt_2", std::string()), option("negative_2", "negative_prompt_2", std::string());
  option("length", "max_sequence_length", int64_t()), option("true_cfg", "true_cfg_scale", double());
  option("prompt_3", "prompt_3", std::string()), option("negative_3", "negative_prompt_3", std::string());
  option("instruction", "complex_human_instruction", std::string());
  for (const char* name : {"clip_skip", "clip_skip_2", "max_sequence_length"}) option(name, name, int64_t());
  for (const auto& [key, name] : {std::pair{"no_t5", "no_t5"}, {"no_binning", "no_resolution_binning"}})
    if (json.value(key, false)) r.options[name] = 1;
  if (json.contains("sigmas")) r.sigmas = json.at("sigmas").get<std::vector<double>>();
  for (const char* name : {"original_size", "target_size", "crop", "negative_original_size", "negative_target_size", "negative_crop"})
    option(name, name, std::array<int64_t, 2>());
  option("aesthetic", "aesthetic_score", double()), option("negative_aesthetic", "negative_aesthetic_score", double());
  if (!json.value("size_from_config", false)) {
    r.width = json.at("width").get<int64_t>();
    r.height = json.at("height").get<int64_t>();
  }
  if (json.contains("slg")) {
    r.guidance_method = "slg";
    for (const auto& [name, value] : json.at("slg").items())
      r.guidance_options[name] =
          value.is_array() ? fmt::format("{}", fmt::join(value.get<std::vector<int64_t>>(), ",")) : fmt::format("{}", value.get<double>());
  }
  if (json.contains("guidance_method")) r.guidance_method = json.at("guidance_method").get<std::string>();
  if (json.contains("guidance_options")) r.guidance_options = json.at("guidance_options").get<std::map<std::string, std::string>>();
  if (json.contains("lowest_sigma")) r.guidance_interval = {json.at("lowest_sigma").get<double>(), HUGE_VAL};
  r.sampler = json.value("sampler", "");
  r.schedule = json.value("schedule", "");
  r.seed = json.at("seed").get<uint64_t>();
  r.batch_size = json.value("batch", 1);
  r.compat = choice_named<Compat>(json.value("compat", ""));
  r.prompt_syntax = PromptSyntax::plain;  // as in diffusers
  return r;
}

std::filesystem::path golden_folder() { return HEARTH_SOURCE_DIR "/tests/e2e/golden"; }

std::filesystem::path checkpoint_folder(const std::string& checkpoint) {
  return checkpoint == "demo" ? std::filesystem::path(HEARTH_SOURCE_DIR "/assets/demo-model") : golden_folder() / checkpoint;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* checkpoint :
       {"pndm", "ddim_v", "euler",        "dpmpp",        "ancestral", "demo",       "xl",         "xl_lcm", "xl_v",    "xl_refiner",
        "sd3",  "sd35",   "pixart_alpha", "pixart_sigma", "aura_flow", "hunyuan_11", "hunyuan_12", "sana",   "sana_15", "sana_sprint"}) {
    const nlohmann::json file = load_json(golden_folder() / (std::string(checkpoint) + ".json"));
    for (const auto& [name, json] : file.at("cases").items())
      cases.push_back({checkpoint, name, json.value("base", ""), to_request(json), json.value("image_step", 1), json.at("rounding")});
  }
  return cases;
}

Case find_case(const std::string& checkpoint, const std::string& name) {
  for (Case& c : all_cases())
    if (c.checkpoint == checkpoint && c.name == name) return c;
  fail<UsageError>("no case {}.{}", checkpoint, name);
}

Model open_model(const Case& c, OpenOptions options) {
  if (c.base.empty()) return Model::open(checkpoint_folder(c.checkpoint), options);
  options.refiner = checkpoint_folder(c.checkpoint);
  return Model::open(checkpoint_folder(c.base), options);
}

Array golden_latents(const Case& c) {
  const Tensor x = golden(c, "latents");
  return {.shape = {x.shape().begin(), x.shape().end()}, .values = x.to_vector()};
}

std::vector<std::vector<uint8_t>> golden_images(const Case& c) {
  const Tensor x = golden(c, "image");
  std::vector<std::vector<uint8_t>> images;
  for (int64_t b = 0; b < x.size(0); ++b) {
    const Tensor one = x.slice(0, b, b + 1);
    images.emplace_back(one.data<uint8_t>(), one.data<uint8_t>() + one.numel());
  }
  return images;
}

void expect_same(const Generation& made, const Generation& wanted) {
  EXPECT_EQ(made.latents.shape, wanted.latents.shape);
  EXPECT_EQ(made.latents.values, wanted.latents.values);
  ASSERT_EQ(made.images.size(), wanted.images.size());
  for (size_t i = 0; i < made.images.size(); ++i) EXPECT_EQ(made.images[i].rgb, wanted.images[i].rgb) << "image " << i;
}

}  // namespace hearth::test
