#include "api/settings/recipe.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "api/rerun/rerun.h"
#include "api/settings/a1111.h"
#include "core/error.h"

namespace hearth::api {
namespace {

RecipeFacts facts() {
  return {.version = "0.1.0",
          .model = "demo, \"best\"",
          .family = "sd1",
          .hashes = {{"vae", "00ff"}, {"unet", "6ce0161689b3853acaa03779ec93eafe"}},
          .denoiser_hash = "6ce0161689b3853acaa03779ec93eafe",
          .precision = "f16"};
}

// The request as used by a run; two of its settings were not given.
Request example() {
  Request r{.prompt = "a \"red\" house,\nNegative prompt: 日本 🙂",
            .negative_prompt = "blurry: very",
            .prompt_syntax = PromptSyntax::a1111,
            .emphasis = Emphasis::no_norm,
            .embeddings = {{.file = "tiny.pt", .name = "tiny"}},
            .width = 520,
            .height = 768,
            .options = {{"clip_skip", int64_t(2)}},
            .steps = 33,
            .guidance = 7.1,
            .guidance_method = "cfg",
            .sampler = "dpmpp_2m",
            .schedule = "karras"};
  r.seed = std::numeric_limits<uint64_t>::max();
  r.batch_size = 4, r.batch_index = 3;
  r.compat = Compat::diffusers;
  return r;
}

Request asked_for(Request used) {
  used.width.reset();
  used.sampler.clear();
  return used;
}

std::string written(const Request& used) { return write_recipe(facts(), asked_for(used), used); }
std::string parameters(const Request& used) { return write_parameters(to_parameters(facts(), used)); }

std::string with(std::string json, const std::string& from, const std::string& to) {
  const size_t at = json.find(from);
  EXPECT_NE(at, json.npos) << from;
  return json.replace(at, from.size(), to);
}

TEST(Recipe, has_the_documented_form) {
  EXPECT_EQ(written(example()),
            "{\"hearth\":\"0.1.0\",\"format\":1,\"model\":{\"name\":\"demo, "
            "\\\"best\\\"\",\"family\":\"sd1\",\"hashes\":{\"vae\":\"00ff\",\"unet\":"
            "\"6ce0161689b3853acaa03779ec93eafe\"}},\"prompt\":\"a \\\"red\\\" house,\\nNegative prompt: 日本 "
            "🙂\",\"negative_prompt\":\"blurry: very\","
            "\"prompt_syntax\":\"a1111\",\"emphasis\":\"no-norm\",\"clip_skip\":2,\"embeddings\":[\"tiny\"],"
            "\"width\":520,\"height\":768,\"steps\":33,\"guidance\":7.1,\"sampler\":\"dpmpp_2m\",\"schedule\":\"karras\",\"seed\":"
            "18446744073709551615,"
            "\"batch_size\":4,\"batch_index\":3,\"compat\":\"diffusers\",\"precision\":\"f16\",\"noise\":\"seed\",\"defaults\":[\"width\","
            "\"sampler\"]}");
}

// All settings that are stored only if given, in their order; numbers are exact.
TEST(Recipe, stores_the_given_settings) {
  Request r = example();
  r.options["negative_prompt_2"] = "n", r.options["prompt_2"] = "p", r.options["clip_skip_2"] = 3;
  r.options["target_size"] = std::array<int64_t, 2>{64, 48}, r.options["crop"] = std::array<int64_t, 2>{1, 2};
  r.options["aesthetic_score"] = 6.5;
  r.refiner_start = 0.1 + 0.2;
  r.guidance_method = "apg", r.guidance_rescale = 0.7;
  r.guidance_options = {{"eta", "0.5"}};
  r.sampler_options = {{"solver_type", "heun"}};
  r.eta_noise_seed_delta = 31337;
  r.variation = {.seed = 0, .strength = 0.25};
  r.hires = Hires();
  RecipeFacts f = facts();
  f.refiner = "polish", f.flags = {{"vae-precision", "f32"}};
  const std::string json = write_recipe(f, asked_for(r), r);
  EXPECT_EQ(
      json.substr(json.find("\"defaults\"")),
      "\"defaults\":[\"width\",\"sampler\"],\"prompt_2\":\"p\",\"negative_prompt_2\":\"n\",\"clip_skip_2\":3,\"size_conditions\":{"
      "\"aesthetic_score\":[6.5],\"crop\":[1.0,2.0],\"target_size\":[64.0,48.0]},\"refiner\":{\"name\":\"polish\",\"start\":"
      "0.30000000000000004},\"sampler_options\":{\"solver_type\":\"heun\"},\"guidance_settings\":{\"method\":\"apg\",\"rescale\":0.7,"
      "\"options\":{\"eta\":\"0.5\"}},\"eta_noise_seed_delta\":31337,\"variation\":{\"seed\":0,\"strength\":0.25},\"flags\":{\"hires\":"
      "\"2\",\"hires-strength\":\"0.7\",\"hires-upscaler\":\"latent\",\"vae-precision\":\"f32\"}}");
  EXPECT_EQ(read_recipe(json).dump(), json);
  r.guidance_interval = {0.28, 5.42};
  EXPECT_NE(written(r).find("\"rescale\":0.7,\"interval\":[0.28,5.42],\"options\""), std::string::npos);
  r = example();
  r.guidance_interval = {0.28, 5.42};  // the only given one: the others of its object are stored too
  EXPECT_NE(written(r).find(R"("guidance_settings":{"method":"cfg","rescale":0.0,"interval":[0.28,5.42],"options":{}})"), std::string::npos)
      << written(r);
}

TEST(Recipe, becomes_a_command_again) {
  const auto arguments = [](const Request& used) { return rerun_of_recipe(read_recipe(written(used))).arguments; };
  using Arguments = std::vector<std::string>;
  Request r = example();
  r.embeddings.clear(), r.prompt = "x", r.compat = Compat::hearth;
  EXPECT_EQ(
      arguments(r),
      (Arguments{
          "--prompt",    "x",   "--negative-prompt", "blurry: very", "--prompt-syntax", "a1111",  "--emphasis", "no-norm",
          "--clip-skip", "2",   "--width",           "520",          "--height",        "768",    "--steps",    "33",
          "--cfg-scale", "7.1", "--sampler",         "dpmpp_2m",     "--schedule",      "karras", "--seed",     "18446744073709551615"}));
  r.options = {{"crop", std::array<int64_t, 2>{1, 2}}, {"original_size", std::array<int64_t, 2>{64, 48}}, {"aesthetic_score", 6.0}};
  r.schedule = "sigmas:3.5,1,0", r.negative_prompt = "-night", r.variation = {.seed = 0, .strength = 0.5};
  const Arguments more = arguments(r);
  const auto has = [&](const Arguments& part) { return std::search(more.begin(), more.end(), part.begin(), part.end()) != more.end(); };
  EXPECT_TRUE(has({"--negative-prompt=-night"}));
  EXPECT_TRUE(has({"--original-size", "64x48"}));
  EXPECT_TRUE(has({"--crop", "1,2"}));
  EXPECT_TRUE(has({"--aesthetic-score", "6"}));
  EXPECT_TRUE(has({"--sigmas", "3.5,1,0"}));
  EXPECT_FALSE(has({"--steps"}));
  EXPECT_TRUE(has({"--variation-seed", "0", "--variation-strength", "0.5"}));
}

// Settings that older versions did not store keep the meaning that they had.
TEST(Recipe, recipes_of_earlier_versions_keep_their_meaning) {
  std::string json = written(example());
  json = with(json, "\"prompt_syntax\":\"a1111\",\"emphasis\":\"no-norm\",\"clip_skip\":2,\"embeddings\":[\"tiny\"],", "");
  const Rerun rerun = rerun_of_recipe(read_recipe(json));
  const std::vector<std::string> begin(rerun.arguments.begin() + 4, rerun.arguments.begin() + 8);
  EXPECT_EQ(begin, (std::vector<std::string>{"--prompt-syntax", "plain", "--width", "520"}));
}

TEST(Recipe, later_keys_are_ignored_and_later_formats_rejected) {
  const std::string json = written(example());
  EXPECT_NO_THROW(read_recipe(with(json, "\"format\":1", "\"format\":1,\"new\":[1,{}]")));
  EXPECT_THROW(read_recipe(with(json, "\"format\":1", "\"format\":2")), IoError);
  EXPECT_THROW(read_recipe(with(json, "\"format\":1", "\"format\":0")), IoError);
  EXPECT_THROW(read_recipe(with(json, "\"format\":1", "\"format\":4294967297")), IoError);  // 1 in 32 bits
}

TEST(Recipe, errors_are_one_line) {
  Request r = example();
  r.options["clip_skip_2"] = 3, r.variation = {.seed = 17, .strength = 0.25}, r.hires = Hires();
  const std::string json = written(r);
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("null"), std::string("[]"), std::string("{}"), json.substr(0, json.size() - 1),
        with(json, "520", "520.5"), with(json, "520", "1e300"), with(json, "520", "\"520\""), with(json, "\"width\":520,", ""),
        with(json, "7.1", "\"7\""), with(json, "{\"vae\":\"00ff\",", "{\"vae\":1,"), with(json, "[\"width\",\"sampler\"]", "[1]"),
        with(json, "\"f16\"", "null"), with(json, "\"clip_skip_2\":3", "\"clip_skip_2\":3.5"), with(json, "\"seed\":17", "\"seed\":1.5"),
        with(json, "\"0.7\"", "0.7"), std::string(100'000, '[')}) {
    try {
      read_recipe(bad);
      ADD_FAILURE() << bad.substr(0, 200);
    } catch (const IoError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      EXPECT_EQ(std::string(e.what()).rfind("recipe: ", 0), 0u) << e.what();
    }
  }
  RecipeFacts f = facts();
  f.model = "\xff";
  EXPECT_THROW(write_recipe(f, r, r), UsageError);
  r.guidance = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(written(r), UsageError);
}

// Random byte changes give a command or a one-line error.
TEST(Recipe, damaged_recipes_are_a_command_or_a_one_line_error) {
  Request r = example();
  r.variation = {.seed = 17, .strength = 0.25}, r.guidance_interval = {0.28, 5.42}, r.options["crop"] = std::array<int64_t, 2>{1, 2};
  const std::string whole = written(r);
  std::mt19937 random(2);
  int commands = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string json = whole;
    const size_t at = random() % json.size();
    if (i % 3 == 0) json.erase(at, 1 + random() % 9);
    else if (i % 3 == 1) json[at] = "\"{}[],:0x-"[random() % 10];
    else json.insert(at, json.substr(random() % json.size(), random() % 20));
    try {
      rerun_of_recipe(read_recipe(json));
      ++commands;
    } catch (const IoError& e) { EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos); }
  }
  EXPECT_GT(commands, 100);
}

TEST(Recipe, is_written_as_a1111_does) {
  Request r = example();
  r.prompt = "a house";
  EXPECT_EQ(parameters(r),
            "a house\nNegative prompt: blurry: very\nSteps: 33, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 7.1, Seed: "
            "18446744073709551615, Size: 520x768, "
            "Model hash: 6ce0161689, Model: \"demo, \\\"best\\\"\", Clip skip: 2, Emphasis: No norm, RNG: CPU, Version: hearth 0.1.0");
  r.schedule.clear();
  r.noise = Array();
  r.guidance = 7;
  r.sampler = "a_new_one";
  RecipeFacts f = facts();
  f.denoiser_hash.clear(), f.model = "demo";
  EXPECT_EQ(write_parameters(to_parameters(f, r)),
            "a house\nNegative prompt: blurry: very\nSteps: 33, Sampler: a_new_one, CFG scale: 7, Seed: 18446744073709551615, Size: "
            "520x768, Model: demo, "
            "Clip skip: 2, Emphasis: No norm, Version: hearth 0.1.0");
}

TEST(Recipe, all_settings_that_a1111_knows_are_written) {
  const auto has = [](const Request& r, const char* part) {
    const std::string text = parameters(r);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  Request r = example();
  r.compat = Compat::a1111, r.eta_noise_seed_delta = 31337;
  has(r, "RNG: NV, ENSD: 31337, Version");
  r.rng = Rng::cpu, r.discard_penultimate = true;
  has(r, "RNG: CPU, ENSD: 31337, Discard penultimate sigma: True, Version");
  r.variation = {.seed = 17, .strength = 0.25};
  r.edit = {.strength = 0.55, .mask_blur = 4, .fill = InpaintFill::noise, .only_masked = true, .mask_padding = 20};
  has(r,
      "Variation seed: 17, Variation seed strength: 0.25, Denoising strength: 0.55, Mask blur: 4, Inpaint area: Only masked, Masked area "
      "padding: 20, Masked content: latent noise, Version");
  r.edit = {}, r.variation = {}, r.hires = Hires{.steps = 9};
  has(r, "Discard penultimate sigma: True, Denoising strength: 0.7, Hires upscale: 2, Hires steps: 9, Hires upscaler: latent, Version");
  r.hires.reset(), r.edit.image_guidance = 1.25, r.refiner_start = 0.8;
  has(r, "Refiner switch at: 0.8, Clip skip: 2");
  has(r, "Image CFG scale: 1.25, Version");
}

}  // namespace
}  // namespace hearth::api
