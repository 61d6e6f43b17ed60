// Stable Diffusion XL beyond its goldens: size conditioning, refiners, and errors.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "e2e/cases.h"
#include "e2e/checkpoint_copy.h"
#include "support/complaint.h"
#include "support/files.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

Model open(const std::string& name, const std::string& refiner = {}, OpenOptions options = {}) {
  if (!refiner.empty()) options.refiner = checkpoint_folder(refiner);
  return Model::open(checkpoint_folder(name), options);
}

Request small(const std::string& prompt = "a red house") {
  Request r{.prompt = prompt, .width = 32, .height = 24, .steps = 3, .guidance = 5, .seed = 3};
  r.decode = false;
  return r;
}

std::vector<float> generated(Model& model, const std::function<void(Request&)>& change = {}) {
  Request r = small();
  if (change) change(r);
  return model.generate(r).latents.values;
}

void skip_clip(Request& r, std::optional<int64_t> first, std::optional<int64_t> second) {
  if (first) r.options["clip_skip"] = *first;
  if (second) r.options["clip_skip_2"] = *second;
}

TEST(Xl, families_are_known_by_their_configs) {
  EXPECT_EQ(open("xl").family(), "sdxl");
  EXPECT_EQ(open("xl_lcm").family(), "sdxl");
  EXPECT_EQ(open("xl_refiner").family(), "sdxl_refiner");
  EXPECT_EQ(open("ddim_v").family(), "sd2");
  EXPECT_EQ(open("pndm").family(), "sd1");
}

// G13: height before width, top before left. Each value has its own position.
TEST(Xl, each_size_counts) {
  Model model = open("xl");
  const std::vector<float> plain = generated(model);
  std::vector<std::vector<float>> others;
  using Pair = std::array<int64_t, 2>;
  for (const Pair& pair : {Pair{24, 32}, Pair{40, 24}, Pair{32, 40}}) {
    others.push_back(generated(model, [&](Request& r) { r.options["original_size"] = pair; }));
    others.push_back(generated(model, [&](Request& r) { r.options["target_size"] = pair; }));
    others.push_back(generated(model, [&](Request& r) { r.options["crop"] = pair; }));
    others.push_back(generated(model, [&](Request& r) {
      r.options["negative_original_size"] = pair, r.options["negative_target_size"] = Pair{32, 24};
    }));
  }
  for (size_t i = 0; i < others.size(); ++i) {
    EXPECT_NE(others[i], plain) << i;
    for (size_t j = 0; j < i; ++j) EXPECT_NE(others[i], others[j]) << i << " and " << j;
  }
  // The image's own size is the default of both.
  EXPECT_EQ(generated(model,
                      [](Request& r) {
                        r.options["original_size"] = r.options["target_size"] = Pair{32, 24};
                        r.options["crop"] = Pair{0, 0};
                      }),
            plain);
}

TEST(Xl, an_absent_negative_prompt_is_zeros_if_the_checkpoint_says_so) {
  Model zeros = open("xl"), encoded = open("xl_refiner");
  const auto empty = [](Request& r) { r.negative_prompt = std::string(""); };
  EXPECT_NE(generated(zeros), generated(zeros, empty));
  EXPECT_EQ(generated(encoded), generated(encoded, empty));
  const auto under = [&](Compat compat, bool given) {
    return generated(zeros, [&](Request& r) {
      r.compat = compat, r.sampler = std::string("euler");
      if (given) r.negative_prompt = std::string("");
    });
  };
  EXPECT_EQ(under(Compat::a1111, false), under(Compat::a1111, true));      // both are zeros
  EXPECT_EQ(under(Compat::comfyui, false), under(Compat::comfyui, true));  // both are encoded
}

TEST(Xl, prompts_of_the_two_encoders_may_differ) {
  Model model = open("xl");
  const std::vector<float> one = generated(model);
  EXPECT_EQ(generated(model, [](Request& r) { r.options["prompt_2"] = std::string("a red house"); }), one);
  EXPECT_NE(generated(model, [](Request& r) { r.options["prompt_2"] = std::string("a boat"); }), one);
  // With other lengths, and edits at other steps.
  const auto long_second = [](const char* first, const char* second) {
    return [=](Request& r) {
      r.prompt_syntax = PromptSyntax::a1111;
      r.prompt = std::string(first), r.options["prompt_2"] = std::string(second);
    };
  };
  const std::vector<float> changing = generated(model, long_second("a [red:blue:1] house", "a BREAK house"));
  EXPECT_NE(changing, generated(model, long_second("a red house", "a BREAK house")));
  EXPECT_NE(changing, generated(model, long_second("a blue house", "a BREAK house")));
}

TEST(Xl, each_encoder_has_its_own_clip_skip) {
  Model model = open("xl");
  const auto skipping = [&](std::optional<int64_t> first, std::optional<int64_t> second, Compat compat = Compat::hearth) {
    return generated(model, [&](Request& r) { skip_clip(r, first, second), r.compat = compat, r.sampler = std::string("euler"); });
  };
  EXPECT_EQ(skipping({}, {}), skipping(2, 2));
  EXPECT_EQ(skipping(3, {}), skipping(3, 3));
  EXPECT_NE(skipping(3, 2), skipping(3, 3));
  EXPECT_NE(skipping(3, 2), skipping(2, 3));
  EXPECT_EQ(skipping({}, 3), skipping(2, 3));
  EXPECT_EQ(skipping(3, {}, Compat::comfyui), skipping(3, 3, Compat::comfyui));
  EXPECT_EQ(skipping(3, {}, Compat::a1111), skipping(3, 2, Compat::a1111));  // A1111 has no such setting for OpenCLIP's encoders
  EXPECT_NE(skipping(3, 1, Compat::a1111), skipping(3, 2, Compat::a1111));
}

TEST(Xl, compat_a1111_does_not_apply_clip_skip_to_open_clip) {
  const auto warnings = [](const char* checkpoint, std::optional<int64_t> second = {}) {
    Model model = open(checkpoint);
    Request r = small();
    skip_clip(r, 3, second), r.compat = Compat::a1111;
    const Json report = Json::parse(model.generate(r).report);
    return std::pair{report.at("request").at("clip_skip"), report.at("warnings").dump()};
  };
  const auto told = [](const std::pair<Json, std::string>& w, const char* text) { return w.second.find(text) != std::string::npos; };
  EXPECT_TRUE(told(warnings("xl"), "clip skip 3 does not apply to text_encoder_2, which stays at 2, as in A1111"));
  EXPECT_EQ(warnings("xl").first, 3);
  EXPECT_FALSE(told(warnings("xl", 3), "leaves"));
  EXPECT_TRUE(told(warnings("ddim_v"), "clip skip 3 does not apply to text_encoder, which stays at 1, as in A1111"));
  EXPECT_EQ(warnings("ddim_v").first, 1);
}

TEST(Xl, weights_act_in_both_encoders) {
  Model model = open("xl");
  for (const PromptSyntax syntax : {PromptSyntax::a1111, PromptSyntax::comfyui}) {
    const auto with = [&](const char* first, const char* second) {
      return generated(
          model, [&](Request& r) { r.prompt_syntax = syntax, r.prompt = std::string(first), r.options["prompt_2"] = std::string(second); });
    };
    const std::vector<float> plain = with("a red house", "a red house");
    EXPECT_NE(with("a (red:1.5) house", "a red house"), plain) << name_of(syntax);
    EXPECT_NE(with("a red house", "a (red:1.5) house"), plain) << name_of(syntax);
    EXPECT_NE(with("a (red:1.5) house", "a red house"), with("a red house", "a (red:1.5) house")) << name_of(syntax);
  }
}

// Batches, threads and memory modes do not change a bit.
TEST(Xl, images_do_not_depend_on_batches_threads_and_memory) {
  const auto batch = [](Request& r) { r.batch_size = 2; };
  const auto second = [](Request& r) { r.seed = 4; };
  for (const char* refiner : {"", "xl_refiner"}) {
    Model model = open("xl", refiner);
    const std::vector<float> both = generated(model, batch);
    std::vector<float> singles = generated(model);
    for (const float v : generated(model, second)) singles.push_back(v);
    EXPECT_EQ(both, singles) << refiner;
    for (const int threads : {1, 3}) {
      Model other = open("xl", refiner, {.threads = threads});
      EXPECT_EQ(generated(other, batch), both) << refiner << threads;
    }
    Model lean = open("xl", refiner, {.load_when_needed = true});
    EXPECT_EQ(generated(lean, batch), both) << refiner;
    EXPECT_EQ(generated(lean, [](Request& r) { r.batch_size = 2, r.last = true; }), both) << refiner;
    Model limited = open("xl", refiner, {.memory_limit = int64_t(4) << 30});
    EXPECT_EQ(generated(limited, batch), both) << refiner;
  }
}

TEST(Xl, the_report_names_the_refiner) {
  Model model = open("xl", "xl_refiner");
  Request r = small();
  r.decode = true;
  r.refiner_start = 0.6;
  r.options["clip_skip_2"] = 3;
  r.options["aesthetic_score"] = 7.0;
  const Generation made = model.generate(r);
  const Json report = Json::parse(made.report), recipe = Json::parse(made.images.at(0).json);
  EXPECT_EQ(report.at("request").at("refiner_start"), 0.6);
  EXPECT_EQ(report.at("request").at("clip_skip"), 2);
  EXPECT_EQ(report.at("request").at("clip_skip_2"), 3);
  EXPECT_EQ(recipe.at("clip_skip_2"), 3);
  EXPECT_EQ(recipe.at("refiner").at("name"), "xl_refiner");
  EXPECT_EQ(recipe.at("refiner").at("start"), 0.6);
  EXPECT_EQ(recipe.at("size_conditions").at("aesthetic_score"), Json::array({7}));
  std::vector<std::string> names;
  for (const Json& c : report.at("components")) names.push_back(c.at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"text_encoder", "text_encoder_2", "unet", "vae", "refiner/text_encoder_2", "refiner/unet"}));
  EXPECT_EQ(recipe.at("model").at("hashes").size(), 6u);
  EXPECT_NE(made.images[0].parameters.find("Refiner: xl_refiner, Refiner switch at: 0.6"), std::string::npos);
}

// Hashes the files of both, although a relative path through the link's parent leads elsewhere.
TEST(Xl, a_linked_model_takes_a_refiner) {
  const TemporaryFolder folder;
  for (const char* name : {"xl", "xl_refiner"})
    std::filesystem::create_symlink(checkpoint_folder(name), folder / (std::string("my-") + name));
  Request r = small();
  r.decode = true;
  const auto hashes = [&](Model model) { return Json::parse(model.generate(r).images.at(0).json).at("model").at("hashes"); };
  EXPECT_EQ(hashes(Model::open(folder / "my-xl", {.refiner = folder / "my-xl_refiner"})), hashes(open("xl", "xl_refiner")));
}

TEST(Xl, errors_are_one_line) {
  const auto complaint = [](Model& model, const std::function<void(Request&)>& change) {
    return message_of<Error>([&] { generated(model, change); }, golden_folder());
  };
  const std::string refiners =
      "expected one of clip_skip, original_size, crop, negative_original_size, negative_crop, aesthetic_score, negative_aesthetic_score";
  Model sd1 = open("pndm"), xl = open("xl"), both = open("xl", "xl_refiner"), refiner = open("xl_refiner");
  EXPECT_EQ(complaint(sd1, [](Request& r) { r.options["prompt_2"] = std::string("x"); }),
            "generate: sd1 has no option 'prompt_2', expected one of clip_skip");
  EXPECT_EQ(complaint(sd1,
                      [](Request& r) {
                        r.options["crop"] = std::array<int64_t, 2>{1, 2};
                      }),
            "generate: sd1 has no option 'crop', expected one of clip_skip");
  EXPECT_EQ(complaint(sd1, [](Request& r) { r.refiner_start = 0.5; }), "generate: a refiner's start without a refiner, expected both");
  EXPECT_EQ(
      complaint(xl, [](Request& r) { r.options["aesthetic_score"] = 5.0; }),
      "generate: sdxl has no option 'aesthetic_score', expected one of prompt_2, negative_prompt_2, clip_skip, clip_skip_2, original_size, "
      "crop, target_size, negative_original_size, negative_crop, negative_target_size");
  EXPECT_EQ(complaint(xl,
                      [](Request& r) {
                        r.options["negative_crop"] = std::array<int64_t, 2>{1, 2};
                      }),
            "generate: only one size for the negative prompt, expected both its original and its target size");
  EXPECT_EQ(complaint(xl, [](Request& r) { r.options["clip_skip"] = 4; }), "generate: clip skip is 4, expected 1 to 3");
  EXPECT_EQ(complaint(xl, [](Request& r) { r.options["clip_skip_2"] = 4; }),
            "generate: clip skip of the second text encoder is 4, expected 1 to 3");
  EXPECT_EQ(complaint(sd1, [](Request& r) { r.options["clip_skip_2"] = 2; }),
            "generate: sd1 has no option 'clip_skip_2', expected one of clip_skip");
  EXPECT_EQ(complaint(xl, [](Request& r) { r.prompt_syntax = PromptSyntax::a1111, r.options["prompt_2"] = std::string("a AND b"); }),
            "generate: the prompts of the text encoders differ in their parts with AND, expected equally many, with the same weights");
  EXPECT_EQ(complaint(refiner,
                      [](Request& r) {
                        r.options["target_size"] = std::array<int64_t, 2>{64, 64};
                      }),
            "generate: sdxl_refiner has no option 'target_size', " + refiners);
  EXPECT_EQ(complaint(refiner, [](Request& r) { r.options["prompt_2"] = std::string("x"); }),
            "generate: sdxl_refiner has no option 'prompt_2', " + refiners);
  for (const double start : {0.0, 1.0, -1.0})
    EXPECT_EQ(complaint(both, [&](Request& r) { r.refiner_start = start; }),
              fmt::format("generate: the refiner's start is {}, expected a number above 0 and below 1", start));
  EXPECT_EQ(complaint(both, [](Request& r) { r.refiner_start = 0.999; }),
            "generate: the refiner's start 0.999 leaves the refiner none of 3 steps, expected at least one");
  EXPECT_EQ(complaint(both, [](Request& r) { r.stop_after = 1; }), "generate: a run with a refiner does not support stopping and resuming");
  EXPECT_EQ(complaint(both, [](Request& r) { r.sampler = std::string("dpm_adaptive"); }),
            "generate: sampler 'dpm_adaptive' has no steps that a refiner could execute, expected another sampler");
  EXPECT_EQ(message_of<Error>([] { open("pndm", "xl_refiner"); }, golden_folder()), "open: family sd1 does not support a refiner");
}

TEST(Xl, incompatible_checkpoints_are_refused) {
  const auto complaint = [](const std::string& file, const std::function<void(Json&)>& change) {
    CheckpointCopy copy("xl");
    copy.edit_json(file, change);
    return complaint_of([&] { Model::open(copy.path()); });
  };
  const auto has = [](const std::string& text, const char* part) { EXPECT_NE(text.find(part), std::string::npos) << text; };
  has(complaint("unet/config.json", [](Json& c) { c["addition_time_embed_dim"] = 5; }), "takes 50 values of pooled text and sizes");
  has(complaint("unet/config.json", [](Json& c) { c["addition_embed_type"] = nullptr; }), "expected text_time");
  has(complaint("unet/config.json", [](Json& c) { c["in_channels"] = 6; }), "the UNet has 6 input and 4 output channels");
  has(complaint("vae/config.json",
                [](Json& c) {
                  c["latents_mean"] = {0, 0, 0, 0};
                }),
      "only one of 'latents_mean' and 'latents_std' is given");
  has(complaint("vae/config.json",
                [](Json& c) {
                  c["latents_mean"] = {0, 0, 0}, c["latents_std"] = {1, 1, 1, 1};
                }),
      "'latents_mean' has 3 values, expected one for each of 4 latent channels");
  has(complaint("vae/config.json",
                [](Json& c) {
                  c["latents_mean"] = {0, 0, 0, 0}, c["latents_std"] = {1, 1, 0, 1};
                }),
      "'latents_std' contains 0, expected values above 0");
  has(complaint("model_index.json", [](Json& c) { c["requires_aesthetics_score"] = true; }), "requires_aesthetics_score");
  has(complaint("text_encoder_2/config.json", [](Json& c) { c["projection_dim"] = 13; }), "expected 49");

  CheckpointCopy refiner("xl_refiner");
  refiner.edit_json("vae/config.json", [](Json& c) { c["scaling_factor"] = 0.5; });
  has(complaint_of([&] { Model::open(checkpoint_folder("xl"), {.refiner = refiner.path()}); }),
      "scaled by 0.5 and shifted by 0, expected the model's 0.13025 and 0");
  refiner.edit_json("vae/config.json", [](Json& c) {
    c["scaling_factor"] = 0.13025, c["latents_mean"] = {0, 0, 0, 0}, c["latents_std"] = {1, 1, 1, 1};
  });
  has(complaint_of([&] { Model::open(checkpoint_folder("xl"), {.refiner = refiner.path()}); }),
      "the refiner's latents_mean and latents_std differ from the model's");
}

}  // namespace
}  // namespace hearth::test
