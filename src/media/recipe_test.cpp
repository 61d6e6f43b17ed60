#include "media/recipe.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace hearth {
namespace {

RecipeOption skip(int64_t layer) { return {.name = "clip_skip", .stated = true, .a1111 = "Clip skip", .value = layer}; }

// The options that a reader knows.
const std::vector<RecipeOption> known{
    {.name = "clip_skip", .stated = true, .a1111 = "Clip skip"},
    {.name = "clip_skip_2"},
    {.name = "prompt_2", .type = OptionType::text},
    {.name = "crop", .group = "size_conditions", .type = OptionType::point},
    {.name = "aesthetic_score", .group = "size_conditions", .type = OptionType::number},
};

Recipe example() {
  return {.version = "0.1.0",
          .model = "demo, \"best\"",
          .family = "sd1",
          .hashes = {{"vae", "00ff"}, {"unet", "6ce0161689b3853acaa03779ec93eafe"}},
          .prompt = "a \"red\" house,\nNegative prompt: 日本 🙂",
          .negative_prompt = "blurry: very",
          .prompt_syntax = "a1111",
          .emphasis = "no-norm",
          .options = {skip(2)},
          .embeddings = {"tiny"},
          .width = 520,
          .height = 768,
          .steps = 33,
          .guidance = 7.1,
          .sampler = "dpmpp_2m",
          .schedule = "karras",
          .seed = std::numeric_limits<uint64_t>::max(),
          .batch_size = 4,
          .batch_index = 3,
          .compat = "diffusers",
          .precision = "f16",
          .noise = "seed",
          .defaults = {"width", "sampler"}};
}

std::string with(std::string json, const std::string& from, const std::string& to) {
  const size_t at = json.find(from);
  EXPECT_NE(at, json.npos) << from;
  return json.replace(at, from.size(), to);
}

TEST(Recipe, comes_back_as_written) {
  const std::string json = write_recipe(example());
  EXPECT_EQ(json.find('\n'), json.npos);
  EXPECT_EQ(parse_recipe(json, known), example());
  EXPECT_EQ(parse_recipe(write_recipe({}), known), Recipe{});
  for (const double guidance : {0.1 + 0.2, 1e-300, 1e300, -0.0, 7.0}) {
    Recipe r;
    r.guidance = guidance;
    EXPECT_EQ(parse_recipe(write_recipe(r), known).guidance, guidance);
  }
}

TEST(Recipe, has_the_documented_form) {
  EXPECT_EQ(write_recipe(example()),
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

TEST(Recipe, more_than_classifier_free_guidance_stands_apart) {
  Recipe r = example();
  r.guidance_method = "apg";
  r.guidance_rescale = 0.7;
  r.guidance_options = {{"eta", "0.5"}, {"from", "prompt"}};
  const std::string without = write_recipe(r);
  EXPECT_NE(without.find(R"("guidance_settings":{"method":"apg","rescale":0.7,"options":{"eta":"0.5","from":"prompt"}})"),
            std::string::npos)
      << without;
  EXPECT_EQ(parse_recipe(without, known), r);
  r.guidance_interval = {0.28, 5.42};
  EXPECT_EQ(parse_recipe(write_recipe(r), known), r);
  EXPECT_THROW(parse_recipe(with(write_recipe(r), "[0.28,5.42]", "[0.28]"), known), IoError);
}

TEST(Recipe, options_of_the_family_are_kept) {
  Recipe r = example();
  const auto given = [&](size_t row, OptionValue value) {
    RecipeOption option = known[row];
    option.value = std::move(value);
    r.options.push_back(std::move(option));
  };
  given(1, int64_t(3)), given(2, "a cat"), given(3, std::array<int64_t, 2>{16, 8}), given(4, 6.5);
  const std::string json = write_recipe(r);
  EXPECT_NE(json.find(R"("clip_skip_2":3,"prompt_2":"a cat","size_conditions":{"crop":[16.0,8.0],"aesthetic_score":[6.5]})"), json.npos)
      << json;
  EXPECT_EQ(parse_recipe(json, known), r);
  EXPECT_THROW(parse_recipe(with(json, "\"clip_skip_2\":3", "\"clip_skip_2\":3.5"), known), IoError);
  EXPECT_EQ(parse_recipe(json, {}).options.size(), 0u);  // those of a family that this build does not have
}

TEST(Recipe, options_of_the_sampler_are_kept) {
  Recipe r = example();
  r.sampler_options = {{"eta", "0.5"}, {"last_step", "denoised"}};
  const std::string json = write_recipe(r);
  EXPECT_NE(json.find(R"("sampler_options":{"eta":"0.5","last_step":"denoised"})"), std::string::npos) << json;
  EXPECT_EQ(parse_recipe(json, known), r);
}

TEST(Recipe, of_a1111_names_its_noise) {
  Recipe r = example();
  EXPECT_EQ(write_recipe(r).find("eta_noise"), std::string::npos);
  r.compat = "a1111";
  r.eta_noise_seed_delta = 31337;
  EXPECT_EQ(parse_recipe(write_recipe(r), known), r);
  const std::string text = write_parameters(to_parameters(r));
  EXPECT_NE(text.find("RNG: NV, ENSD: 31337"), std::string::npos) << text;
  r.flags = {{"rng", "cpu"}, {"discard-penultimate", ""}};
  const std::string other = write_parameters(to_parameters(r));
  EXPECT_NE(other.find("RNG: CPU, ENSD: 31337, Discard penultimate sigma: True"), std::string::npos) << other;
  r.compat = "", r.flags = {{"rng", "nv"}};
  EXPECT_NE(write_parameters(to_parameters(r)).find("RNG: NV"), std::string::npos);
}

TEST(Recipe, variations_and_flags_are_kept_and_told_to_a1111) {
  Recipe r = example();
  r.variation_seed = 17, r.variation_strength = 0.25;
  r.flags = {{"init-image", "start.png"}, {"init-image-sha256", "00"}, {"strength", "0.55"},   {"mask", "m.png"},
             {"mask-blur", "4"},          {"only-masked", ""},         {"mask-padding", "20"}, {"inpaint-fill", "noise"}};
  const std::string json = write_recipe(r);
  EXPECT_NE(json.find(R"("variation":{"seed":17,"strength":0.25},"flags":{"init-image":"start.png",)"), std::string::npos) << json;
  EXPECT_EQ(parse_recipe(json, known), r);
  EXPECT_THROW(parse_recipe(with(json, "\"seed\":17", "\"seed\":1.5"), known), IoError);
  EXPECT_THROW(parse_recipe(with(json, "\"0.55\"", "0.55"), known), IoError);
  const std::string text = write_parameters(to_parameters(r));
  EXPECT_NE(
      text.find("Variation seed: 17, Variation seed strength: 0.25, Denoising strength: 0.55, Mask blur: 4, Inpaint area: Only masked, "
                "Masked area padding: 20, Masked content: noise, Version"),
      std::string::npos)
      << text;
  r.flags = {{"hires", "2"}, {"hires-steps", "9"}, {"hires-strength", "0.7"}, {"hires-upscaler", "latent"}};
  EXPECT_NE(
      write_parameters(to_parameters(r)).find("Denoising strength: 0.7, Hires upscale: 2, Hires steps: 9, Hires upscaler: latent, Version"),
      std::string::npos);
}

TEST(Recipe, later_keys_are_ignored_and_later_formats_refused) {
  const std::string json = write_recipe(example());
  EXPECT_EQ(parse_recipe(with(json, "\"format\":1", "\"format\":1,\"new\":[1,{}]"), known), example());
  EXPECT_THROW(parse_recipe(with(json, "\"format\":1", "\"format\":2"), known), IoError);
  EXPECT_THROW(parse_recipe(with(json, "\"format\":1", "\"format\":0"), known), IoError);
  EXPECT_THROW(parse_recipe(with(json, "\"format\":1", "\"format\":4294967297"), known), IoError);  // 1 in 32 bits
}

TEST(Recipe, anything_else_is_one_line) {
  const std::string json = write_recipe(example());
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("null"), std::string("[]"), std::string("{}"), json.substr(0, json.size() - 1),
        with(json, "520", "520.5"), with(json, "520", "1e300"), with(json, "520", "\"520\""), with(json, "\"width\":520,", ""),
        with(json, "7.1", "\"7\""), with(json, "{\"vae\":\"00ff\",", "{\"vae\":1,"), with(json, "[\"width\",\"sampler\"]", "[1]"),
        with(json, "\"f16\"", "null"), std::string(100'000, '[')}) {
    try {
      parse_recipe(bad, known);
      ADD_FAILURE() << bad.substr(0, 200);
    } catch (const IoError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      EXPECT_EQ(std::string(e.what()).rfind("recipe: ", 0), 0u) << e.what();
    }
  }
  Recipe r = example();
  r.prompt = "\xff";
  EXPECT_THROW(write_recipe(r), UsageError);
  r = example();
  r.guidance = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(write_recipe(r), UsageError);
}

TEST(Recipe, as_a1111_knows_it) {
  Recipe r = example();
  r.prompt = "a house";
  EXPECT_EQ(write_parameters(to_parameters(r)),
            "a house\nNegative prompt: blurry: very\nSteps: 33, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 7.1, Seed: "
            "18446744073709551615, Size: 520x768, "
            "Model hash: 6ce0161689, Model: \"demo, \\\"best\\\"\", Clip skip: 2, Emphasis: No norm, RNG: CPU, Version: hearth 0.1.0");
  r.hashes.clear();
  r.schedule.clear();
  r.noise = "file";
  r.guidance = 7;
  r.sampler = "a_new_one";
  r.model = "demo";
  EXPECT_EQ(write_parameters(to_parameters(r)),
            "a house\nNegative prompt: blurry: very\nSteps: 33, Sampler: a_new_one, CFG scale: 7, Seed: 18446744073709551615, Size: "
            "520x768, Model: demo, "
            "Clip skip: 2, Emphasis: No norm, Version: hearth 0.1.0");
}

}  // namespace
}  // namespace hearth
