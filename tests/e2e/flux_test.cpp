// FLUX.1, compared with diffusers (golden/make_flux.py), in every layout and on every backend; and what it refuses.
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "backends/backends.h"
#include "core/files/json.h"
#include "e2e/editing_cases_test.h"
#include "hearth/convert.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Flux : testing::Test, EditingCases {
  Flux() : EditingCases("flux") {}

  std::string refusal(const std::string& name, const std::function<void(Request&)>& change) {
    Request r = request_of(cases.at(name));
    change(r);
    return complaint_of([&] { model_of(cases.at(name)).generate(r); });
  }
};

TEST_F(Flux, latents_are_those_of_diffusers) {
  const Json all = cases;
  for (const auto& [name, c] : all.items())
    if (c.at("kind") == "kontext") cases.erase(name);  // flux_references_test
  expect_golden_latents(3e-5);                         // observed 5.1e-7 to 1.1e-5, the latter with Fill's large guidance
}

TEST_F(Flux, latents_are_those_of_diffusers_on_every_backend) {
  expect_golden_latents_on_every_backend({"default", "true_cfg", "schnell", "image_060", "paint_batch", "fill", "control_paint"},
                                         3e-5);  // observed 5.1e-7 to 1.1e-5
}

// A second text encoder, other guidance, negative prompts with true CFG, more tokens: each changes the result, and nothing else does.
TEST_F(Flux, each_setting_has_its_effect) {
  const Request plain = request_of(cases.at("default"));
  Model& model = model_of(cases.at("default"));
  const auto values = [&](const std::function<void(Request&)>& change) {
    Request r = plain;
    change(r);
    return model.generate(r).latents.values;
  };
  const auto wanted = values([](Request&) {});
  EXPECT_EQ(values([](Request& r) { r.options["prompt_2"] = r.prompt; }), wanted);
  EXPECT_EQ(values([](Request& r) { r.guidance.reset(); }), wanted);  // 3.5
  EXPECT_EQ(values([](Request& r) { r.negative_prompt = "rain"; }), wanted);
  EXPECT_EQ(values([](Request& r) { r.options["true_cfg_scale"] = 1.0; }), wanted);
  EXPECT_NE(values([](Request& r) { r.options["prompt_2"] = std::string("rain"); }), wanted);
  EXPECT_NE(values([](Request& r) { r.options["max_sequence_length"] = int64_t(25); }), wanted);
  EXPECT_NE(values([](Request& r) { r.guidance = 3.6; }), wanted);
  EXPECT_NE(values([](Request& r) { r.negative_prompt = "rain", r.options["true_cfg_scale"] = 2.0; }), wanted);
  // The guidance methods work on true CFG.
  std::vector<std::vector<float>> all;
  for (const char* method : {"cfg", "cfg_zero_star", "tcfg", "mag", "norm_preserving"})
    all.push_back(values([&](Request& r) { r.negative_prompt = "rain", r.options["true_cfg_scale"] = 3.0, r.guidance_method = method; }));
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_GE(relative_error(all[i], all[k]), 1e-3) << i << k;
}

TEST_F(Flux, what_has_no_effect_is_said) {
  const auto warned = [&](const char* name, const std::function<void(Request&)>& change, const std::string& warning) {
    Request r = request_of(cases.at(name));
    change(r);
    const std::vector<std::string> warnings = model_of(cases.at(name)).generate(r).warnings;
    EXPECT_EQ(std::ranges::count(warnings, warning), 1) << fmt::format("{}", fmt::join(warnings, "; "));
  };
  warned(
      "schnell", [](Request& r) { r.guidance = 3.5; }, "this model has no use for a guidance scale: 3.5 is ignored");
  warned(
      "default", [](Request& r) { r.negative_prompt = "rain"; }, "the negative prompt is ignored: it requires a true CFG scale above 1");
  warned(
      "default", [](Request& r) { r.guidance_method = "apg"; }, "guidance 'apg' has no effect: it requires --true-cfg-scale above 1");
}

TEST_F(Flux, each_program_has_its_own_shift) {
  Request r = request_of(cases.at("default"));
  const auto levels = [&](Compat compat) {
    r.compat = compat, r.schedule = compat == Compat::comfyui ? "simple" : "";
    return Json::parse(model_of(cases.at("default")).generate(r).report).at("levels").at("sigmas").get<std::vector<double>>();
  };
  EXPECT_NEAR(levels(Compat::comfyui)[2], std::exp(1.15) / (std::exp(1.15) + 1), 1e-4);  // of half the time, with µ 1.15
  EXPECT_NE(levels(Compat::diffusers), levels(Compat::comfyui));
  EXPECT_EQ(levels(Compat::diffusers), levels(Compat::hearth));
}

// Threads, batches and interruptions change nothing.
TEST_F(Flux, a_run_is_the_same_in_any_batch_and_after_a_stop) {
  expect_same_in_any_batch_and_after_a_stop(
      {"default", "true_cfg", "schnell", "image_060", "paint_060", "fill", "control", "control_paint"});
}

// Second passes, masked regions and outpainting have sides that are multiples of 16.
TEST_F(Flux, every_kind_of_run_has_sides_that_tokens_fill) {
  Request twice = request_of(cases.at("default"));
  twice.hires = Hires{.scale = 1.4, .upscaler = "latent", .steps = 3, .strength = 0.5};
  EXPECT_EQ(model_of(cases.at("default")).generate(twice).latents.shape, (std::vector<int64_t>{1, 4, 8, 10}));
  twice.hires->upscaler = "lanczos";
  EXPECT_EQ(model_of(cases.at("default")).generate(twice).latents.shape, (std::vector<int64_t>{1, 4, 8, 10}));
  for (const char* name : {"paint_060", "fill"}) {
    Request region = request_of(cases.at(name));
    region.decode = true, region.edit.only_masked = true, region.edit.mask_padding = 3;
    const Image image = model_of(cases.at(name)).generate(region).images[0];
    EXPECT_EQ(image.width, 64) << name;
    for (size_t i = 0; i < image.rgb.size(); ++i) {
      if (region.edit.mask->rgb[i] == 0) { ASSERT_EQ(image.rgb[i], region.edit.image->rgb[i]) << name; }
    }
    Request wider = request_of(cases.at(name));
    wider.decode = true, wider.edit.mask.reset(), wider.edit.outpaint = {16, 0, 0, 16};
    EXPECT_EQ(model_of(cases.at(name)).generate(wider).images[0].width, 80) << name;
  }
}

TEST_F(Flux, memory_is_planned_before_the_run) {
  expect_planned_memory({"default", "true_cfg", "image_060", "fill", "control", "kontext"});
}

// Black Forest Labs' names: with everything in one file, with each network in a file of its own, and a folder with other files.
TEST_F(Flux, every_layout_gives_the_same_bits) {
  for (const char* name : {"default", "schnell", "fill", "control"}) {
    SCOPED_TRACE(name);
    const Json& c = cases.at(name);
    const fs::path official = folder_of(c);
    const TemporaryFolder folder;
    fs::copy(official, folder / "configs", fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(folder / "configs")) {
      fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
      if (entry.path().extension() == ".safetensors") fs::remove(entry);
    }
    const fs::path configs = folder / "configs";
    Request r = request_of(c);
    r.decode = true;
    const Generation wanted = Model::open(official).generate(r);
    convert({.model = official, .output = folder / "all.safetensors", .layout = "single"});
    expect_same(Model::open(folder / "all.safetensors", {.config = configs}).generate(r), wanted);
    convert({.model = folder / "all.safetensors", .config = configs, .output = folder / "again"});
    expect_same(Model::open(folder / "again").generate(r), wanted);

    const std::map<std::string, std::string> prefixes{{"transformer", "model.diffusion_model."},
                                                      {"ae", "vae."},
                                                      {"clip_l", "text_encoders.clip_l.transformer."},
                                                      {"t5xxl", "text_encoders.t5xxl.transformer."}};
    const auto all = SafetensorsFile::open(folder / "all.safetensors");
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
    parts.components["vae"].path = folder / "ae.safetensors";
    parts.components["text_encoder"].path = folder / "clip_l.safetensors";
    parts.components["text_encoder_2"].path = folder / "t5xxl.safetensors";
    expect_same(Model::open(folder / "transformer.safetensors", parts).generate(r), wanted);
    for (const char* lacking : {"vae", "text_encoder", "text_encoder_2"}) {
      OpenOptions fewer = parts;
      fewer.components.erase(lacking);
      const std::string flag = lacking == std::string("vae")            ? "--vae"
                               : lacking == std::string("text_encoder") ? "--text-encoder"
                                                                        : "--text-encoder-2";
      const std::string message = complaint_of([&] { Model::open(folder / "transformer.safetensors", fewer); });
      EXPECT_TRUE(message.ends_with("give one with " + flag)) << message;
    }
  }
}

TEST_F(Flux, a_checkpoint_is_inspected_and_its_prompts_are_shown) {
  for (const char* name : {"default", "schnell", "fill", "control", "kontext_none"}) {
    const Inspection found = inspect(folder_of(cases.at(name)));
    EXPECT_TRUE(found.usable) << found.text;
    EXPECT_EQ(Json::parse(found.json).at("family"), "flux1");
  }
}

TEST_F(Flux, what_does_not_fit_is_refused_in_one_line) {
  const auto expect = [&](const char* name, const std::function<void(Request&)>& change, const char* says) {
    SCOPED_TRACE(says);
    const std::string said = refusal(name, change);
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_TRUE(said.starts_with("UsageError") || said.starts_with("UnsupportedError")) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect(
      "default", [](Request& r) { r.width = 56; }, "width is 56, expected a multiple of 16 pixels");
  expect(
      "default", [](Request& r) { r.options["true_cfg_scale"] = 2.0; }, "--true-cfg-scale is 2 without a negative prompt");
  expect(
      "default", [](Request& r) { r.edit.control_image = Image{.width = 16, .height = 16, .rgb = std::vector<uint8_t>(16 * 16 * 3)}; },
      "control image");
  expect(
      "control", [](Request& r) { r.edit.control_image.reset(); }, "--control-image");
  expect(
      "fill", [](Request& r) { r.edit.mask.reset(); }, "--mask");
  expect(
      "default", [](Request& r) { r.options["max_sequence_length"] = int64_t(600); }, "max_sequence_length");
  expect(
      "default", [](Request& r) { r.prompt = "a AND b", r.prompt_syntax = PromptSyntax::a1111; }, "AND");
  expect(
      "default", [](Request& r) { r.guidance_method = "slg", r.negative_prompt = "", r.options["true_cfg_scale"] = 2.0; },
      "guidance 'slg': not supported by the transformer of flux1");
}

TEST_F(Flux, an_encoder_of_another_size_is_refused) {
  OpenOptions options;
  options.components["text_encoder_2"].path = checkpoint_folder("flux_schnell") / "text_encoder_2";
  EXPECT_TRUE(complaint_of([&] {
                Model::open(checkpoint_folder("flux_dev"), options);
              }).ends_with("the transformer takes text states of width 20 (joint_attention_dim), expected text_encoder_2's 12"));
}

TEST_F(Flux, a_checkpoint_whose_parts_do_not_fit_is_refused) {
  const auto refused = [&](const std::string& config, const Json& change) {
    CheckpointCopy copy("flux_dev");
    copy.edit_json(config, [&](Json& values) { values.update(change); });
    return complaint_of([&] { Model::open(copy.path()); });
  };
  const auto expect = [&](const std::string& config, const Json& change, const char* says) {
    SCOPED_TRACE(says);
    const std::string said = refused(config, change);
    EXPECT_NE(said.find(says), said.npos) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  };
  expect("model_index.json", {{"_class_name", "FluxFillPipeline"}}, "has 16 input channels, expected 288 for FluxFillPipeline");
  expect("model_index.json", {{"_class_name", "FluxControlPipeline"}}, "has 16 input channels, expected 32 for FluxControlPipeline");
  expect("transformer/config.json", {{"joint_attention_dim", 24}}, "width 24 (joint_attention_dim), expected text_encoder_2's 20");
  expect("transformer/config.json", {{"pooled_projection_dim", 16}}, "width 16 (pooled_projection_dim), expected text_encoder's 12");
  expect("transformer/config.json", {{"axes_dims_rope", {4, 4, 4}}}, "axes_dims_rope");
  expect("transformer/config.json", {{"guidance_embeds", false}}, "guidance_embedder");
  expect("text_encoder_2/config.json", {{"d_model", 24}}, "joint_attention_dim");
  expect("model_index.json", {{"scheduler", {"diffusers", "EulerDiscreteScheduler"}}}, "expected a scheduler of flow models");
}

}  // namespace
}  // namespace hearth::test
