// Weighted, long, edited and composed prompts, clip skip and embeddings, compared with the definitions (golden/make_prompts.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/files/json.h"
#include "e2e/cases.h"
#include "support/complaint.h"
#include "support/files.h"
#include "support/tolerance.h"
#include "weights/safetensors/safetensors.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

// Uses the checkpoint pndm, or xl if the name starts with "xl_".
bool is_xl(const std::string& name) { return name.starts_with("xl_"); }

const Json& cases() {
  static const Json json = [] {
    Json all = load_json(golden_folder() / "prompts.json").at("cases");
    const Json xl = load_json(golden_folder() / "xl_prompts.json").at("cases");
    for (const auto& [name, c] : xl.items()) all["xl_" + name] = c;
    return all;
  }();
  return json;
}

Model& model() {
  static Model opened = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32});
  return opened;
}

Model& xl_model() {
  static Model opened = Model::open(checkpoint_folder("xl"), {.precision = Precision::f32});
  return opened;
}

Request request_of(const Json& c) {
  Request r{.prompt = c.at("prompt")};
  if (c.contains("negative")) r.negative_prompt = c.at("negative").get<std::string>();
  if (c.contains("prompt_2")) r.options["prompt_2"] = c.at("prompt_2").get<std::string>();
  r.prompt_syntax = choice_named<PromptSyntax>(c.at("prompt_syntax").get<std::string>());
  if (c.contains("emphasis")) r.emphasis = choice_named<Emphasis>(c.at("emphasis").get<std::string>());
  if (c.contains("clip_skip")) r.options["clip_skip"] = c.at("clip_skip").get<int64_t>();
  r.width = c.at("width").get<int64_t>();
  r.height = c.at("height").get<int64_t>();
  r.steps = c.at("steps");
  r.guidance = c.at("guidance");
  r.sampler = c.at("sampler");
  r.seed = c.at("seed").get<uint64_t>();
  r.decode = false;
  if (c.contains("embedding")) {
    const std::string given = c.at("embedding");
    const size_t equals = given.find('=');
    r.embeddings.push_back(
        {.file = golden_folder() / given.substr(equals + 1), .name = given.substr(0, equals == given.npos ? 0 : equals)});
  }
  return r;
}

class PromptGolden : public testing::TestWithParam<std::string> {};

TEST_P(PromptGolden, latents_are_the_definitions) {
  static const auto device = make_backend({.name = "reference", .threads = 1});
  const bool xl = is_xl(GetParam());
  const auto file = SafetensorsFile::open(golden_folder() / (xl ? "xl_prompts.safetensors" : "prompts.safetensors"));
  const std::string name = GetParam().substr(xl ? 3 : 0) + ".latents";
  const Tensor expected = file->read(name, file->list().at(name).shape, *device);
  const Generation made = (xl ? xl_model() : model()).generate(request_of(cases().at(GetParam())));
  const double error = relative_error(made.latents.values, expected.to_vector());
  if (std::getenv("HEARTH_PRINT_ERRORS")) printf("prompts.%s: latents %.1e\n", GetParam().c_str(), error);
  EXPECT_LE(error, 2e-5);  // observed: 3.0e-7 to 3.5e-6
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const auto& [name, c] : cases().items()) list.push_back(name);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Definitions, PromptGolden, testing::ValuesIn(names()), [](const auto& c) { return c.param; });

Request small(const std::string& prompt) {
  Request r{.prompt = prompt, .width = 16, .height = 16, .steps = 4, .sampler = "euler", .seed = 3};
  r.decode = false;
  return r;
}

// Images of a batch equal single images under every kind of prompt.
TEST(Prompts, batches_are_single_images) {
  for (const char* prompt : {"a (red:1.3) [house|hill]", "a red house AND green hills:0.5", "a red BREAK house"}) {
    Request r = small(prompt);
    r.batch_size = 2;
    const std::vector<float> both = model().generate(r).latents.values;
    r.batch_size = 1;
    std::vector<float> singles = model().generate(r).latents.values;
    r.seed = 4;
    const std::vector<float> second = model().generate(r).latents.values;
    singles.insert(singles.end(), second.begin(), second.end());
    EXPECT_EQ(both, singles) << prompt;
  }
}

TEST(Prompts, compat_chooses_the_syntax) {
  const auto generated = [&](Compat compat, std::optional<PromptSyntax> syntax, const char* reported) {
    Request r = small("a (red:1.4) house");
    r.compat = compat;
    r.prompt_syntax = syntax;
    const Generation made = model().generate(r);
    EXPECT_EQ(Json::parse(made.report).at("request").at("prompt_syntax"), reported);
    return made.latents.values;
  };
  const auto plain = generated(Compat::hearth, PromptSyntax::plain, "plain"),
             a1111 = generated(Compat::hearth, PromptSyntax::a1111, "a1111");
  EXPECT_EQ(generated(Compat::hearth, {}, "plain"), plain);
  EXPECT_EQ(generated(Compat::diffusers, {}, "plain"), plain);
  EXPECT_EQ(generated(Compat::a1111, {}, "a1111"), generated(Compat::a1111, PromptSyntax::a1111, "a1111"));
  EXPECT_EQ(generated(Compat::comfyui, {}, "comfyui"), generated(Compat::comfyui, PromptSyntax::comfyui, "comfyui"));
  EXPECT_NE(plain, a1111);
  EXPECT_NE(generated(Compat::hearth, PromptSyntax::comfyui, "comfyui"), a1111);
}

// Without a prompt syntax, prompts are plain, and a weight in one of them is a warning.
TEST(Prompts, a_weight_that_is_text_is_a_warning) {
  const auto warned = [&](const std::string& prompt, const std::function<void(Request&)>& change) {
    Request r = small(prompt);
    change(r);
    const auto warnings = model().generate(r).warnings;
    return warnings.empty() ? "" : warnings.back();
  };
  const auto nothing = [](Request&) {};
  EXPECT_EQ(warned("a (red house:1.3)", nothing),
            "'(red house:1.3)' is parsed as text; pass --prompt-syntax a1111 or comfyui to use it as a weight");
  EXPECT_EQ(warned("a", [](Request& r) { r.negative_prompt = "((x) (bad:.5))"; }).substr(0, 9), "'(bad:.5)");
  for (const char* plain : {"a house (red)", "a house at 10:30 (red)", "(a: b)", "a) (b:2", ":1.3)", "(:)", ""})
    EXPECT_EQ(warned(plain, nothing), "") << plain;
  for (const PromptSyntax syntax : {PromptSyntax::plain, PromptSyntax::a1111, PromptSyntax::comfyui})
    EXPECT_EQ(warned("a (red:1.3)", [&](Request& r) { r.prompt_syntax = syntax; }), "") << name_of(syntax);
  EXPECT_EQ(warned("a (red:1.3)", [](Request& r) { r.compat = Compat::diffusers; }), "");
}

// As in A1111: the first pass counts from 0 to 1, the second from 1 to 2, or on from the steps of the first.
TEST(Prompts, edits_continue_in_a_second_pass) {
  const auto generated = [](const std::string& prompt, bool twice) {
    Request r = small(prompt);
    r.prompt_syntax = PromptSyntax::a1111;
    if (twice) r.hires = Hires{.scale = 1, .steps = 4, .strength = 0.9};
    return model().generate(r).latents.values;
  };
  const int64_t steps = small("").steps;
  const auto edit = [](const std::string& when) { return "a [red:blue:" + when + "] house"; };
  EXPECT_EQ(generated(edit("1.5"), false), generated("a red house", false));
  EXPECT_NE(generated(edit("1.5"), true), generated("a red house", true));
  EXPECT_EQ(generated(edit("1.5"), true), generated(edit(std::to_string(steps + 2)), true));
  EXPECT_EQ(generated(edit("2.0"), true), generated("a red house", true));
  EXPECT_EQ(generated(edit("0.5"), false), generated(edit(std::to_string(steps / 2)), false));
}

TEST(Prompts, are_reported) {
  Request r = small("a (tiny:1.2) house, BREAK hills");
  r.decode = true;
  r.options["clip_skip"] = 2;
  r.prompt_syntax = PromptSyntax::a1111;
  r.emphasis = Emphasis::no_norm;
  r.embeddings = {{.file = golden_folder() / "prompts-tiny.safetensors", .name = "tiny"}};
  const Generation made = model().generate(r);
  const Json request = Json::parse(made.report).at("request"), recipe = Json::parse(made.images.at(0).json);
  EXPECT_EQ(request.at("clip_skip"), 2);
  EXPECT_EQ(request.at("emphasis"), "no-norm");
  EXPECT_EQ(request.at("chunks"), 2);
  EXPECT_EQ(request.at("embeddings").at(0).at("name"), "tiny");
  EXPECT_EQ(request.at("embeddings").at(0).at("vectors"), 2);
  EXPECT_EQ(recipe.at("prompt_syntax"), "a1111");
  EXPECT_EQ(recipe.at("emphasis"), "no-norm");
  EXPECT_EQ(recipe.at("clip_skip"), 2);
  EXPECT_EQ(recipe.at("embeddings"), Json::array({"tiny"}));
  EXPECT_NE(made.images[0].parameters.find("Clip skip: 2"), std::string::npos);
  EXPECT_NE(made.images[0].parameters.find("Emphasis: No norm"), std::string::npos);
}

TEST(Prompts, errors_are_one_line) {
  const auto complaint = [](const std::function<void(Request&)>& change) {
    Request r = small("a house");
    change(r);
    return message_of<Error>([&] { model().generate(r); }, golden_folder());
  };
  EXPECT_EQ(complaint([](Request& r) { r.options["clip_skip"] = 3; }), "generate: clip skip is 3, expected 1 to 2");
  EXPECT_EQ(complaint([](Request& r) { r.options["clip_skip"] = 0; }), "generate: clip_skip is 0, expected at least 1");
  EXPECT_EQ(complaint([](Request& r) {
              r.prompt_syntax = PromptSyntax::plain;
              r.emphasis = Emphasis::ignore;
            }),
            "generate: emphasis 'ignore' requires A1111's prompt syntax, but the syntax is plain");
  EXPECT_EQ(complaint([](Request& r) { r.embeddings = {{.file = golden_folder() / "pndm.safetensors"}}; }).substr(0, 60),
            std::string("FOLDER/pndm.safetensors: expected emb_params, clip_l or one tensor that is named after its token, found ", 60));
  EXPECT_NE(complaint([](Request& r) { r.embeddings = {{.file = "nowhere.pt"}}; }).find("nowhere.pt"), std::string::npos);
  const Embedding tiny = {.file = golden_folder() / "prompts-tiny.safetensors"};
  EXPECT_EQ(complaint([&](Request& r) {
              r.embeddings = {tiny, tiny};
            }),
            "generate: two embeddings are named 'prompts-tiny', expected different names");
  EXPECT_EQ(message_of<Error>(
                [&] {
                  Request r = small("a house");
                  r.embeddings = {tiny};
                  Model::open(checkpoint_folder("euler")).generate(r);
                },
                golden_folder()),
            "FOLDER/prompts-tiny.safetensors: the embedding has width 24, expected that of the text encoder, 32");
}

}  // namespace
}  // namespace hearth::test
