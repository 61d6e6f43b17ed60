// Adapters: compared with diffusers and with weights that the published formulas changed (golden/make_lora.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/files/json.h"
#include "e2e/checkpoint_copy.h"
#include "e2e/lora_cases_test.h"
#include "hearth/convert.h"
#include "hearth/quantize.h"
#include "hearth/rerun.h"
#include "hearth/settings.h"
#include "support/complaint.h"
#include "support/detached_backend.h"
#include "support/tolerance.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class LoraGolden : public testing::TestWithParam<std::string> {};

TEST_P(LoraGolden, latents_are_the_references) {
  LoraCases cases;
  const Json& c = cases.all.at(GetParam());
  Request request = to_request(c);
  request.loras = {cases.lora(GetParam())};
  const Json options = c.value("sampler_options", Json::object());
  for (const auto& [name, value] : options.items()) request.sampler_options[name] = value;
  if (c.contains("schedule_options")) request.schedule_options = c.at("schedule_options").get<std::map<std::string, double>>();
  const Generation made = Model::open(checkpoint_folder(c.at("checkpoint")), {.precision = Precision::f32}).generate(request);
  const double error = relative_error(made.latents.values, cases.latents(GetParam()));
  if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", GetParam().c_str(), error);
  EXPECT_LE(error, 1e-4);  // observed: 2.7e-7 to 1.1e-5, xl_hyper 3.0e-5
}

INSTANTIATE_TEST_SUITE_P(Adapters, LoraGolden, testing::ValuesIn(LoraCases::names()), [](const auto& p) { return p.param; });

struct LoraRun : testing::Test, LoraCases {
  Request request = {.prompt = "a lighthouse at dawn", .width = 64, .height = 64, .steps = 3, .guidance = 5, .seed = 3};
  fs::path checkpoint = checkpoint_folder("pndm");
  Model model = Model::open(checkpoint, {.precision = Precision::f32});

  std::vector<float> latents(Model& of, std::vector<Lora> loras) const {
    Request r = request;
    r.loras = std::move(loras);
    return of.generate(r).latents.values;
  }
  std::vector<float> latents(std::vector<Lora> loras) { return latents(model, std::move(loras)); }
  std::string complaint(std::vector<Lora> loras) {
    return complaint_of([&] { latents(std::move(loras)); });
  }
};

// On every backend and kernel path.
TEST_F(LoraRun, latents_are_the_references_on_every_backend) {
  add_detached_backend();
  for (const char* name : {"kohya", "locon"})
    for (const std::string& backend : backend_names()) {
      const std::string device = backend.starts_with("cpu_") ? "cpu" : backend, path = backend.starts_with("cpu_") ? backend.substr(4) : "";
      if (backend == "split" || path == "emulated" || !make_test_backend(backend)) continue;
      if (!path.empty()) ::setenv("HEARTH_CPU", path.c_str(), 1);
      Request r = to_request(all.at(name));
      r.loras = {lora(name)};
      Model opened = Model::open(checkpoint, {.device = device, .precision = Precision::f32});
      EXPECT_LE(relative_error(opened.generate(r).latents.values, LoraCases::latents(name)), 1e-4) << name << " " << backend;
      ::unsetenv("HEARTH_CPU");
    }
}

TEST_F(LoraRun, strength_zero_is_no_adapter_and_the_next_run_has_none) {
  const std::vector<float> plain = latents({});
  Lora zero = lora("kohya");
  zero.scale = 0, zero.text_scale = 0;
  EXPECT_EQ(latents({zero}), plain);
  EXPECT_NE(latents({lora("kohya")}), plain);
  EXPECT_EQ(latents({}), plain);
  Lora parts = lora("kohya");
  parts.parts = {{"*", 0}};
  EXPECT_EQ(latents({parts}), plain);
}

TEST_F(LoraRun, strengths_apply_to_text_and_parts_separately) {
  Lora only_text = lora("kohya"), only_unet = lora("kohya"), one_block = lora("kohya"), others = lora("kohya");
  only_text.scale = 0, only_text.text_scale = 1;
  only_unet.scale = 1, only_unet.text_scale = 0;
  one_block = others = only_unet;
  one_block.parts = {{"*", 0}, {"down_blocks.1.*", 1}};
  others.parts = {{"down_blocks.1.*", 0}};
  const std::vector<std::vector<float>> all_runs{latents({}), latents({only_text}), latents({only_unet}), latents({one_block}),
                                                 latents({others})};
  for (size_t i = 0; i < all_runs.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(all_runs[i], all_runs[j]) << i << " " << j;
  // A file's parts add up to the whole, but for rounding.
  EXPECT_LT(relative_error(latents({one_block, others}), latents({only_unet})), 1e-5);
}

TEST_F(LoraRun, order_does_not_change_a_bit) {
  const Lora a = lora("kohya"), b = lora("locon"), c = lora("diffusers");
  const std::vector<float> first = latents({a, b, c});
  EXPECT_EQ(latents({c, a, b}), first);
  EXPECT_NE(latents({a, b}), first);
}

// One model with changing adapters, and models of their own.
TEST_F(LoraRun, runs_of_one_model_are_those_of_fresh_ones) {
  for (const char* name : {"kohya", "locon", "kohya", "diffusers"}) {
    Model fresh = Model::open(checkpoint, {.precision = Precision::f32});
    EXPECT_EQ(latents({lora(name)}), latents(fresh, {lora(name)})) << name;
  }
}

// The same tensors under the names of other trainers.
TEST_F(LoraRun, layouts_give_the_same_bits) {
  const auto renamed = [&](const std::string& file, auto rename) {
    NamedTensors tensors;
    for (const auto& [name, x] : read_case("diffusers")) tensors[rename(name)] = x;
    write_safetensors(folder / file, tensors);
    return Lora{.file = folder / file};
  };
  const auto replaced = [](std::string text, std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
    return text;
  };
  const auto kohya_end = [&](std::string end) { return replaced(replaced(end, ".lora_A.", ".lora_down."), ".lora_B.", ".lora_up."); };
  const std::vector<float> first = latents({lora("diffusers")});
  const auto split = [](const std::string& name) { return name.find(".lora_"); };
  const std::map<std::string, std::function<std::string(const std::string&)>> layouts{
      {"kohya",
       [&](const std::string& name) {
         const std::string module = replaced(replaced(name.substr(0, split(name)), "text_encoder.", "lora_te."), "unet.", "lora_unet.");
         return replaced(module, ".", "_") + kohya_end(name.substr(split(name)));
       }},
      {"onetrainer",
       [&](const std::string& name) {
         const std::string module = replaced(replaced(name.substr(0, split(name)), "text_encoder.", "lora_te1."), "unet.", "lora_unet.");
         return replaced(module, ".", "_") + kohya_end(name.substr(split(name)));
       }},
      {"peft",
       [&](const std::string& name) {
         return replaced(replaced(replaced(name, "unet.", "unet.base_model.model."), "lora_A.", "lora_A.default."), "lora_B.",
                         "lora_B.default.");
       }},
      {"comfyui", [&](const std::string& name) { return replaced(name, "unet.", "diffusion_model."); }},
      {"linear_layer",
       [&](const std::string& name) {
         return replaced(replaced(name, ".lora_A.", ".lora_linear_layer.down."), ".lora_B.", ".lora_linear_layer.up.");
       }},
      {"older", [&](const std::string& name) { return replaced(replaced(name, ".lora_A.", ".lora.down."), ".lora_B.", ".lora.up."); }},
  };
  for (const auto& [layout, rename] : layouts) EXPECT_EQ(latents({renamed(layout + ".safetensors", rename)}), first) << layout;
}

TEST_F(LoraRun, is_the_same_when_networks_are_loaded_only_while_they_work) {
  const std::vector<float> first = latents({lora("kohya")});
  Request r = request;
  r.loras = {lora("kohya")};
  const int64_t everything =
      Model::open(checkpoint, {.precision = Precision::f32, .memory_limit = int64_t(8) << 30}).predict_memory(r).bytes;
  Model lean = Model::open(checkpoint, {.precision = Precision::f32, .load_when_needed = true});
  EXPECT_EQ(latents(lean, {lora("kohya")}), first);
  r.last = true;
  EXPECT_EQ(lean.generate(r).latents.values, first);
  EXPECT_GT(everything, 0);
}

TEST_F(LoraRun, reports_how_much_of_the_adapter_the_model_has) {
  request.loras = {lora("kohya")};
  const Json report = Json::parse(model.generate(request).report);
  const Json& adapter = report.at("adapters").at(0);
  EXPECT_EQ(adapter.at("weights"), all.at("kohya").at("values").size());
  EXPECT_EQ(adapter.at("changed").at("unet").get<int64_t>() + adapter.at("changed").at("text_encoder").get<int64_t>(),
            adapter.at("weights").get<int64_t>());
  EXPECT_EQ(adapter.at("unread"), Json::array());
}

TEST_F(LoraRun, metadata_and_rerun_know_the_adapters) {
  Lora one = lora("kohya");
  one.parts = {{"down_blocks.*", 0.5}};
  request.loras = {one};
  const Generation made = model.generate(request);
  const fs::path image = folder / "made.png";
  made.images[0].save(image);
  const Rerun again = rerun_of(image);
  const std::string text = one.file.string() + ":0.8:text=0.5:down_blocks.*=0.5";
  EXPECT_EQ(text_of(one), text);
  const auto flag = std::ranges::find(again.arguments, "--lora");
  ASSERT_NE(flag, again.arguments.end());
  EXPECT_EQ(*(flag + 1), text);
  ASSERT_EQ(again.files.size(), 1u);
  EXPECT_EQ(again.files[0].sha256, file_sum(one.file));
  EXPECT_NE(made.images[0].parameters.find("Lora hashes: \"kohya: " + file_sum(one.file).substr(0, 12) + "\""), std::string::npos)
      << made.images[0].parameters;
  Request parsed;
  set(parsed, "loras", text);
  EXPECT_EQ(text_of(parsed.loras.at(0)), text);
  EXPECT_EQ(Model::open(checkpoint, {.precision = Precision::f32}).generate(request).images[0].rgb, made.images[0].rgb);
}

TEST_F(LoraRun, inspect_says_how_much_of_an_adapter_a_model_has) {
  const size_t modules = all.at("kohya").at("values").size();
  const auto said = [&](const fs::path& file, const char* of) { return inspect(file, {}, checkpoint_folder(of)).text; };
  const auto fits = [&](const char* of, size_t n) {
    return fmt::format("fits {}: {} of {} modules", checkpoint_folder(of).string(), n, modules);
  };
  EXPECT_NE(said(lora("kohya").file, "pndm").find(fits("pndm", modules)), std::string::npos) << said(lora("kohya").file, "pndm");
  EXPECT_NE(said(lora("kohya").file, "sd3").find(fits("sd3", 0)), std::string::npos) << said(lora("kohya").file, "sd3");
  EXPECT_NE(complaint_of([&] { said(checkpoint / "vae", "pndm"); }).find("holds no control network, only"), std::string::npos);
  const fs::path nets = golden_folder() / "control";
  EXPECT_NE(said(nets / "canny", "pndm").find("pndm: ControlNetModel"), std::string::npos) << said(nets / "canny", "pndm");
  EXPECT_NE(said(nets / "canny", "sd3").find("does not fit"), std::string::npos);
  EXPECT_NE(said(nets / "authors/sd3_depth.safetensors", "sd3").find("sd3: SD3ControlNetModel"), std::string::npos);
  EXPECT_NE(said(nets / "flux_union", "sd3").find("is a FluxControlNetModel for FLUX.1"), std::string::npos);
}

TEST_F(LoraRun, prompts_of_a1111_name_adapters_in_a_folder) {
  const fs::path loras = folder / "loras" / "styles";
  fs::create_directories(loras);
  fs::copy_file(lora("kohya").file, loras / "oil.safetensors");
  const auto run = [&](const std::string& tag) {
    Request r = request;
    r.prompt_syntax = PromptSyntax::a1111;
    r.lora_folder = folder / "loras";
    r.prompt = "a lighthouse at dawn" + tag;
    return model.generate(r);
  };
  const auto with = [&](double scale, double text_scale) {
    Request r = request;
    r.prompt_syntax = PromptSyntax::a1111;
    r.loras = {{.file = loras / "oil.safetensors", .scale = scale, .text_scale = text_scale}};
    return model.generate(r).latents.values;
  };
  EXPECT_EQ(run("<lora:oil:0.8>").latents.values, with(0.8, 0.8));
  EXPECT_EQ(run("<lora:oil>").latents.values, with(1, 1));
  EXPECT_EQ(run("<lora:oil:0.3:0.9>").latents.values, with(0.9, 0.3));
  EXPECT_EQ(run("<lora:oil:unet=0.9:te=0.3>").latents.values, with(0.9, 0.3));
  EXPECT_EQ(run("<lora:oil:0>").latents.values, with(0, 0));
  const std::string ones = ",1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", zeros = ",0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0";
  EXPECT_EQ(run("<lora:oil:0.8:lbw=1" + ones + ">").latents.values, with(0.8, 0.8));
  EXPECT_EQ(run("<lora:oil:0.8:lbw=0" + ones + ">").latents.values, with(0.8, 0));
  EXPECT_NE(run("<lora:oil:0.8:lbw=1" + zeros + ">").latents.values, with(0.8, 0.8));
  const Generation made = run("<lora:oil:0.8>");
  made.images[0].save(folder / "made.png");
  const Rerun again = rerun_of(folder / "made.png");
  EXPECT_NE(std::ranges::find(again.arguments, "a lighthouse at dawn<lora:oil:0.8>"), again.arguments.end());
  EXPECT_NE(std::ranges::find(again.arguments, "--lora-dir"), again.arguments.end());
  const auto message = [&](const std::string& tag) { return complaint_of([&] { run(tag); }); };
  EXPECT_EQ(message("<lora:oli:1>"), "UsageError: prompt: <lora:oli:1> is not in " + (folder / "loras").string() + "; did you mean oil?");
  EXPECT_EQ(message("<lora:oil:much>"), "UsageError: prompt: <lora:oil:much> has the strength 'much', expected a number");
  EXPECT_EQ(message("<lora:oil:lbw=1,2>"), "UsageError: prompt: <lora:oil:lbw=1,2> has 2 block weights, expected 12, 17, 20 or 26");
  EXPECT_EQ(message("<lora:oil:dyn=4>"),
            "UnsupportedError: prompt: 'dyn=' in <lora:oil:dyn=4> is not supported, expected te, unet, lbw or a pattern of modules");
  Request r = request;
  r.prompt_syntax = PromptSyntax::a1111, r.prompt = "<lora:oil:1>";
  EXPECT_EQ(complaint_of([&] { model.generate(r); }),
            "UsageError: prompt: <lora:oil:1> without a folder of such files, expected --lora-dir DIR");
  r.prompt_syntax = PromptSyntax::plain, r.lora_folder = folder / "loras";
  EXPECT_EQ(
      complaint_of([&] { model.generate(r); }),
      "UsageError: generate: a folder of LoRAs has no effect on this syntax of prompts, expected --prompt-syntax a1111 or --lora FILE");
}

// hearth convert --merge-lora.
TEST_F(LoraRun, merged_weights_are_applied_ones) {
  for (const char* name : {"kohya", "locon", "loha", "dora", "diff"}) {
    const fs::path merged = folder / (std::string("merged-") + name);
    const ConvertReport report = convert({.model = checkpoint, .output = merged, .loras = {lora(name)}});
    EXPECT_FALSE(report.notes.empty());
    Model model_of_merged = Model::open(merged, {.precision = Precision::f32});
    EXPECT_LE(relative_error(latents(model_of_merged, {}), latents({lora(name)})), 1e-5) << name;
  }
}

// Quantized weights stay as they are stored; the low-rank pairs are added to their products.
TEST_F(LoraRun, acts_beside_quantized_weights) {
  quantize({.model = checkpoint, .output = folder / "unet.gguf", .type = "q8_0", .component = "unet", .threads = 2});
  OpenOptions options{.precision = Precision::f32};
  options.components["unet"] = {.path = folder / "unet.gguf"};
  Model quantized = Model::open(checkpoint, options);
  const double rounding = relative_error(latents(quantized, {}), latents({}));
  EXPECT_LE(relative_error(latents(quantized, {lora("kohya")}), latents({lora("kohya")})), 5 * rounding + 1e-5);
  EXPECT_NE(latents(quantized, {lora("kohya")}), latents(quantized, {}));
}

TEST_F(LoraRun, bad_files_are_refused_in_one_line) {
  const auto written = [&](const char* file, auto change) {
    NamedTensors tensors = read_case("kohya");
    change(tensors);
    write_safetensors(folder / file, tensors);
    return Lora{.file = folder / file};
  };
  const std::string where = (folder / "").string();
  const std::string module = "lora_unet_mid_block_attentions_0_proj_in";
  EXPECT_EQ(complaint({{.file = folder / "absent.safetensors"}}), "IoError: " + where + "absent.safetensors: no such file");
  EXPECT_EQ(complaint({written("a.safetensors", [&](NamedTensors& t) { t["extra.tensor"] = t.begin()->second; })}),
            "WeightError: " + where + "a.safetensors: 1 tensors are no part of an adapter that hearth knows: 'extra.tensor'");
  EXPECT_EQ(complaint({written("b.safetensors",
                               [&](NamedTensors& t) {
                                 for (const char* end : {".lora_down.weight", ".lora_up.weight", ".alpha"}) {
                                   t["lora_unet_no_such" + std::string(end)] = t.at(module + end);
                                 }
                               })}),
            fmt::format("WeightError: {}b.safetensors: the model lacks 1 of the adapter's {} modules: 'lora_unet_no_such'", where,
                        all.at("kohya").at("values").size() + 1));
  EXPECT_EQ(complaint({written("c.safetensors", [&](NamedTensors& t) { t.erase(module + ".lora_up.weight"); })}),
            "WeightError: " + where + "c.safetensors: module '" + module + "' lacks 'up'");
  const std::string misfit = complaint({written("d.safetensors", [&](NamedTensors& t) {
    t[module + ".lora_up.weight"] = t.at("lora_unet_down_blocks_0_attentions_0_proj_in.lora_up.weight");
  })});
  EXPECT_NE(misfit.find("'" + module + ".lora_up.weight' has shape"), misfit.npos) << misfit;
  const std::string other = complaint({written("e.safetensors", [&](NamedTensors& t) {
    const Tensor x = t.begin()->second;
    t = {{"lora_unet_other_thing.lora_down.weight", x}, {"lora_unet_other_thing.lora_up.weight", x}};
  })});
  EXPECT_EQ(other, "WeightError: " + where +
                       "e.safetensors: the adapter is for another model: 0 of its 1 modules fit the model's text_encoder, unet, not "
                       "'lora_unet_other_thing'");
  // A published model's own layer, of a size that this one does not have.
  const std::string layer = "lora_unet_mid_block_attentions_0_transformer_blocks_0_attn2_to_k";
  write_safetensors(folder / "g.safetensors", {{layer + ".lora_down.weight", Tensor::zeros(*host, {4, 768})},
                                               {layer + ".lora_up.weight", Tensor::zeros(*host, {1280, 4})}});
  EXPECT_EQ(complaint({{.file = folder / "g.safetensors"}}),
            "WeightError: " + where +
                "g.safetensors: the adapter is for another model: 0 of its 1 modules fit the model's text_encoder, "
                "unet, not '" +
                layer + "'; it is for Stable Diffusion 1.x");
  const fs::path whole = lora("kohya").file, half = folder / "f.safetensors";
  fs::copy_file(whole, half);
  fs::resize_file(half, fs::file_size(whole) / 2);
  EXPECT_NE(complaint({{.file = half}}).find("IoError: " + half.string()), std::string::npos);
  EXPECT_NE(complaint({{.file = checkpoint / "unet" / "diffusion_pytorch_model.safetensors"}}).find("WeightError"), std::string::npos);
}

}  // namespace
}  // namespace hearth::test
