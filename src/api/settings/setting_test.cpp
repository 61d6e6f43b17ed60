#include "api/settings/setting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/settings/options.h"
#include "api/settings/recipe.h"
#include "api/settings/report.h"
#include "api/settings/table.h"
#include "support/complaint.h"

namespace hearth::api {
namespace {

const Row& row_in(const std::vector<Row>& rows, std::string_view name) {
  return *std::ranges::find(rows, name, [](const Row& row) -> std::string_view { return row.setting.name; });
}

TEST(Settings, have_unique_names_and_flags_and_help) {
  std::set<std::string> names, flags;
  for (const Setting& s : list_settings()) {
    EXPECT_TRUE(names.insert(s.name).second) << s.name;
    for (size_t begin = 0; begin < s.flags.size();) {
      const size_t end = std::min(s.flags.find(',', begin), s.flags.size());
      EXPECT_TRUE(flags.insert(s.flags.substr(begin, end - begin)).second) << s.name;
      begin = end + 1;
    }
    for (const std::string& alias : s.aliases) EXPECT_TRUE(flags.insert(alias).second) << alias;
    EXPECT_FALSE(s.help.empty()) << s.name;
    EXPECT_EQ(s.default_text.empty(), s.type.empty()) << s.name;
    EXPECT_FALSE(s.group.empty()) << s.name;
    EXPECT_NE(s.flags.find("--"), s.flags.npos) << s.name;
  }
  const auto shown = [](const char* name) { return row_of(name).setting; };
  EXPECT_EQ(shown("steps").default_text, "the model's own, usually 50");
  EXPECT_EQ(shown("guidance").default_text, "the model's own, usually 7.5");
  EXPECT_EQ(shown("resize_mode").type, "stretch|crop|fill");
  EXPECT_EQ(shown("resize_mode").default_text, "stretch");
  EXPECT_EQ(shown("compat").choices, (std::vector<std::string>{"diffusers", "comfyui", "a1111"}));
  EXPECT_EQ(shown("mask_invert").type, "");
  EXPECT_TRUE(shown("sampler_options").repeatable);
  EXPECT_EQ(test::complaint_of([] { row_of("step"); }), "UsageError: unknown setting 'step'; did you mean steps?");
}

// The reported value is the one that was set, and setting the reported text gives the same value.
TEST(Settings, values_are_set_and_reported) {
  const std::pair<const char*, const char*> values[] = {{"prompt", "a red house"},
                                                        {"negative_prompt", ""},
                                                        {"prompt_syntax", "comfyui"},
                                                        {"emphasis", "no-norm"},
                                                        {"width", "512"},
                                                        {"refiner_start", "0.7"},
                                                        {"steps", "7"},
                                                        {"guidance", "-1.5"},
                                                        {"guidance_method", "apg"},
                                                        {"guidance_interval", "0.25,4"},
                                                        {"guidance_options", "eta=0.5"},
                                                        {"sampler", "DPM++ 2M Karras"},
                                                        {"schedule", "karras"},
                                                        {"schedule_options", "rho=5"},
                                                        {"sigmas", "14.5,7,0"},
                                                        {"seed", "18446744073709551615"},
                                                        {"variation_seed", "3"},
                                                        {"variation_strength", "0.25"},
                                                        {"strength", "0.5"},
                                                        {"inpaint_fill", "latent-noise"},
                                                        {"outpaint", "1,2,3,4"},
                                                        {"mask_padding", "0"},
                                                        {"hires", "1.5"},
                                                        {"hires_steps", "3"},
                                                        {"vae_tiling", "on"},
                                                        {"batch_size", "2"},
                                                        {"compat", "a1111"},
                                                        {"rng", "cpu"},
                                                        {"eta_noise_seed_delta", "-31337"},
                                                        {"clip_skip", "3"},
                                                        {"prompt_2", "x"},
                                                        {"original_size", "1024x768"},
                                                        {"crop", "16,8"},
                                                        {"aesthetic_score", "6.5"}};
  Request request;
  for (const auto& [name, text] : values) {
    set(request, name, text);
    const Row& row = row_of(name);
    EXPECT_EQ(typed(row, row.value(request)), std::vector<std::string>{text}) << name;
    EXPECT_FALSE(is_omitted(row, row.value(request))) << name;
  }
  EXPECT_EQ(request.prompt, "a red house");
  EXPECT_EQ(request.prompt_syntax, PromptSyntax::comfyui);
  EXPECT_EQ(request.steps, 7);
  EXPECT_EQ(request.seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(request.edit.outpaint, (std::array<int64_t, 4>{1, 2, 3, 4}));
  EXPECT_EQ(request.hires->steps, 3);
  EXPECT_EQ(request.compat, Compat::a1111);
  EXPECT_EQ(request.options.at("clip_skip"), OptionValue(int64_t(3)));
  EXPECT_EQ(request.options.at("original_size"), OptionValue(std::array<int64_t, 2>{1024, 768}));
  EXPECT_EQ(request.options.at("crop"), OptionValue(std::array<int64_t, 2>{16, 8}));
  EXPECT_EQ(request.options.at("aesthetic_score"), OptionValue(6.5));
  set(request, "mask_invert", "");
  EXPECT_TRUE(request.edit.mask_invert);
  set(request, "mask_invert", "false");
  EXPECT_FALSE(request.edit.mask_invert);
  set(request, "guidance_options", "norm=1");
  EXPECT_EQ(request.guidance_options.size(), 2u);
  for (const auto& [name, earlier, now] :
       {std::tuple("inpaint_fill", "noise", "latent-noise"), {"inpaint_fill", "nothing", "latent-nothing"}, {"rng", "cuda", "nv"}}) {
    set(request, name, earlier);
    EXPECT_EQ(typed(row_of(name), row_of(name).value(request)), std::vector<std::string>{now});
  }
  set(request, "embeddings", "a=b.pt");
  set(request, "embeddings", "c.pt");
  EXPECT_EQ(request.embeddings.at(0).name, "a");
  EXPECT_EQ(request.embeddings.at(1).file, "c.pt");
}

TEST(Settings, invalid_values_are_rejected) {
  const auto complaint = [](const char* name, const char* text) {
    return test::complaint_of([&] {
      Request request;
      set(request, name, text);
    });
  };
  EXPECT_EQ(complaint("steps", "0"), "UsageError: 0 is out of range, expected at least 1");
  EXPECT_EQ(complaint("strength", "1.5"), "UsageError: 1.5 is out of range, expected 0 to 1");
  EXPECT_EQ(complaint("compat", "forge"), "UsageError: 'forge' is unknown, expected one of diffusers, comfyui, a1111");
  EXPECT_NE(complaint("guidance_method", "apgg").find("; did you mean apg?"), std::string::npos);
  EXPECT_EQ(complaint("hires_steps", "3"), "UsageError: has no effect without --hires");
  EXPECT_EQ(complaint("sampler_options", "eta"), "UsageError: 'eta' has no name and value, expected NAME=VALUE");
  EXPECT_EQ(complaint("outpaint", "1,2,3"), "UsageError: '1,2,3' has 3 numbers, expected four: L,T,R,B");
  EXPECT_EQ(complaint("mask_invert", "maybe"), "UsageError: 'maybe' is not a switch value, expected true or false");
  EXPECT_EQ(complaint("clip_skip", "0"), "UsageError: 0 is out of range, expected at least 1");
  EXPECT_EQ(complaint("crop", "16x8"), "UsageError: '16x8' is invalid, expected the form X,Y");
  EXPECT_EQ(complaint("original_size", "1024x-1"), "UsageError: -1 is out of range, expected 0 to 1048576");
  EXPECT_EQ(complaint("init_image", "nowhere.png").substr(0, 8), "IoError:");
  Request twice;
  set(twice, "sampler_options", "eta=1");
  EXPECT_EQ(test::complaint_of([&] { set(twice, "sampler_options", "eta=1"); }), "UsageError: eta was given twice");
}

constexpr models::Option one[] = {
    {.name = "limit", .summary = "How far", .standard = "1", .least = 1, .most = 9, .after = "emphasis", .stated = true, .a1111 = "Limit"},
    {.name = "corner", .type = models::Option::Type::point, .summary = "Where", .standard = "0,0", .group = "places"}};
constexpr models::Option two[] = {
    {.name = "limit", .summary = "How far", .standard = "2", .least = 1, .most = 9, .after = "emphasis", .stated = true, .a1111 = "Limit"},
    {.name = "hint", .type = models::Option::Type::text, .summary = "A word", .standard = "none"},
    {.name = "bare", .type = models::Option::Type::toggle, .summary = "Leaves everything out", .standard = "off"}};

// Options of families appear among the settings, each once, without being listed anywhere else.
TEST(Settings, families_add_their_options) {
  const FamilyOptions families[] = {{"first", "First", one}, {"second", "Second", two}, {"third", "Third", two}};
  const std::vector<Row> rows = with_options(shared_rows(), families);
  EXPECT_EQ(rows.size(), shared_rows().size() + 4);
  const auto place = [&](std::string_view name) { return &row_in(rows, name) - rows.data(); };
  EXPECT_EQ(place("limit"), place("emphasis") + 1);
  EXPECT_EQ(place("corner"), place("height") + 1);
  EXPECT_EQ(place("hint"), place("height") + 2);
  const Setting limit = row_in(rows, "limit").setting, hint = row_in(rows, "hint").setting;
  EXPECT_EQ(limit.flags, "--limit");
  EXPECT_EQ(limit.default_text, "1; second, third: 2");
  EXPECT_EQ(limit.help, "How far");
  EXPECT_TRUE(limit.families.empty());
  EXPECT_EQ(limit.group, row_in(rows, "emphasis").setting.group);
  EXPECT_EQ(hint.help, "A word; also for Third");
  EXPECT_EQ(hint.group, "Second");
  EXPECT_EQ(hint.families, (std::vector<std::string>{"second", "third"}));

  Request request;
  row_in(rows, "corner").set(request, "3,4");
  EXPECT_EQ(row_in(rows, "corner").value(request).dump(), "[3.0,4.0]");  // stored in an object of lists
  EXPECT_EQ(typed(row_in(rows, "corner"), row_in(rows, "corner").value(request)), std::vector<std::string>{"3,4"});
  const Row& bare = row_in(rows, "bare");
  EXPECT_EQ(bare.setting.type, "");
  EXPECT_TRUE(bare.value(request).is_null());
  bare.set(request, "");
  EXPECT_EQ(request.options.at("bare"), OptionValue(int64_t(1)));
  EXPECT_EQ(bare.value(request).dump(), "true");
  EXPECT_EQ(typed(bare, bare.value(request)), std::vector<std::string>{""});
  row_in(rows, "limit").set(request, "1");
  EXPECT_EQ(row_in(rows, "limit").reporting.a1111_value(request), "");
  row_in(rows, "limit").set(request, "2");
  EXPECT_EQ(row_in(rows, "limit").reporting.a1111_value(request), "2");
}

TEST(Settings, options_of_families_must_agree) {
  const models::Option lost[] = {{.name = "hint", .summary = "A word", .after = "heigth"}};
  const FamilyOptions nowhere[] = {{"first", "First", lost}};
  EXPECT_EQ(test::complaint_of([&] { with_options(shared_rows(), nowhere); }),
            "UsageError: options: 1 of model families follow a setting that does not exist");
  models::Option wider = one[0];
  wider.least = 0;
  const FamilyOptions unlike[] = {{"first", "First", one}, {"second", "Second", std::span(&wider, 1)}};
  EXPECT_EQ(test::complaint_of([&] { with_options(shared_rows(), unlike); }),
            "UsageError: options: 'limit' of second differs from that of first");
  models::Option longer = one[0];
  longer.most = 10;
  const FamilyOptions alike[] = {{"first", "First", one}, {"second", "Second", std::span(&longer, 1)}};
  EXPECT_EQ(row_in(with_options(shared_rows(), alike), "limit").setting.maximum, 10);
}

TEST(Settings, reports_list_all_settings_in_order) {
  Request requested, used;
  used.options["clip_skip"] = 2;
  requested.options["crop"] = std::array<int64_t, 2>{1, 2};
  requested.options["aesthetic_score"] = 5.0;
  const Json json = settings_json(requested, used, {{"hires", "2"}}, {.after = "embeddings", .name = "chunks", .value = 3});
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"prompt",
                                             "negative_prompt",
                                             "prompt_2",
                                             "negative_prompt_2",
                                             "prompt_3",
                                             "negative_prompt_3",
                                             "prompt_syntax",
                                             "emphasis",
                                             "max_sequence_length",
                                             "complex_human_instruction",
                                             "clip_skip",
                                             "clip_skip_2",
                                             "no_t5",
                                             "embeddings",
                                             "chunks",
                                             "loras",
                                             "flags",
                                             "width",
                                             "height",
                                             "no_resolution_binning",
                                             "size_conditions",
                                             "clamp_attention",
                                             "refiner_start",
                                             "steps",
                                             "decoder_steps",
                                             "guidance",
                                             "true_cfg_scale",
                                             "decoder_guidance",
                                             "guidance_method",
                                             "guidance_rescale",
                                             "guidance_interval",
                                             "guidance_options",
                                             "sampler",
                                             "sampler_options",
                                             "schedule",
                                             "schedule_options",
                                             "sigmas",
                                             "seed",
                                             "variation_seed",
                                             "variation_strength",
                                             "references",
                                             "redux_scale",
                                             "redux_pooled_scale",
                                             "controls",
                                             "image_prompts",
                                             "batch_size",
                                             "compat",
                                             "rng",
                                             "eta_noise_seed_delta",
                                             "batch_index"}));
  EXPECT_EQ(json.at("clip_skip"), 2);
  EXPECT_TRUE(json.at("clip_skip_2").is_null());
  EXPECT_EQ(json.at("size_conditions").dump(), R"({"aesthetic_score":[5.0],"crop":[1.0,2.0]})");
  EXPECT_EQ(json.at("flags").dump(), R"({"hires":"2"})");
  EXPECT_EQ(json.at("rng"), "");
}

TEST(Settings, flags_of_reports_leave_out_defaults) {
  Request requested;
  requested.edit.image = Image{.width = 1, .height = 1, .rgb = {1, 2, 3}};
  requested.edit.image_name = "start.png";
  requested.edit.mask_blur = 2.5, requested.edit.mask_invert = true, requested.edit.outpaint = {8, 0, 0, 16};
  requested.hires = Hires();
  requested.rng = Rng::nv;
  const auto flags = flags_of(requested, requested);
  EXPECT_EQ(flags.at("init-image-sha256").size(), 64u);
  auto rest = flags;
  rest.erase("init-image-sha256");
  EXPECT_EQ(rest, (std::map<std::string, std::string>{{"init-image", "start.png"},
                                                      {"mask-blur", "2.5"},
                                                      {"mask-invert", ""},
                                                      {"outpaint", "8,0,0,16"},
                                                      {"hires", "2"},
                                                      {"hires-upscaler", "latent"},
                                                      {"hires-strength", "0.7"},
                                                      {"rng", "nv"}}));
  EXPECT_TRUE(flags_of(Request(), Request()).empty());
}

}  // namespace
}  // namespace hearth::api
