// Descriptions of a run: images' metadata, the report, debug results, model descriptions and lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "e2e/checkpoint_copy.h"
#include "media/metadata/parameters.h"

namespace hearth::test {
namespace {

using Json = nlohmann::json;

TEST(Report, the_image_has_complete_metadata) {
  TemporaryFolder folder;
  Model model = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f16});
  const Generation made = model.generate({.prompt = "a \"red\" house,\n赤い家",
                                          .negative_prompt = "rain: snow",
                                          .width = 24,
                                          .height = 16,
                                          .steps = 3,
                                          .guidance = 2.5,
                                          .sampler = "DPM++ 2M",
                                          .schedule = "Karras",
                                          .seed = 18446744073709551615u,
                                          .batch_size = 2});
  made.images[1].save(folder / "x.png");
  const Image read = Image::load(folder / "x.png");
  EXPECT_EQ(read.rgb, made.images[1].rgb);
  EXPECT_EQ(read.json, made.images[1].json);
  const Parameters parameters = parse_parameters(read.parameters);
  EXPECT_EQ(parameters.prompt, "a \"red\" house,\n赤い家");
  EXPECT_EQ(parameters.negative_prompt, "rain: snow");
  EXPECT_EQ(*parameters.find("Size"), "24x16");
  EXPECT_EQ(*parameters.find("Sampler"), "DPM++ 2M");
  EXPECT_EQ(*parameters.find("Schedule type"), "Karras");
  EXPECT_EQ(*parameters.find("Seed"), "0");  // of the second image: seed + 1, modulo 2⁶⁴
  EXPECT_EQ(*parameters.find("Model"), "pndm");
  const Json json = Json::parse(read.json);
  EXPECT_EQ(json.at("seed"), 0u);
  EXPECT_EQ(json.at("batch_index"), 1);
  EXPECT_EQ(json.at("guidance"), 2.5);
  EXPECT_EQ(json.at("sampler"), "dpmpp_2m");
  EXPECT_EQ(json.at("schedule"), "karras");
  EXPECT_EQ(json.at("precision"), "f16");
  EXPECT_EQ(json.at("model").at("family"), "sd1");
  EXPECT_EQ(json.at("model").at("hashes").at("unet").get<std::string>().substr(0, 10), *parameters.find("Model hash"));
  EXPECT_EQ(json.at("defaults"), Json::array({"clip_skip"}));
}

TEST(Report, the_number_of_steps_is_that_of_the_family) {
  for (const auto& [checkpoint, steps] : {std::pair{"dpmpp", 50}, {"sd3", 28}}) {
    Model model = Model::open(checkpoint_folder(checkpoint));
    const auto request_of = [&](const Request& r) { return Json::parse(model.generate(r).report).at("request"); };
    const Json own = request_of({.prompt = "x", .width = 16, .height = 16, .decode = false});
    EXPECT_EQ(own.at("steps"), steps) << checkpoint;
    EXPECT_NE(std::ranges::find(own.at("defaults"), "steps"), own.at("defaults").end());
    const Json by_sigmas =
        request_of({.prompt = "x", .width = 16, .height = 16, .sampler = "euler", .sigmas = {1, 0.5, 0}, .decode = false});
    EXPECT_EQ(by_sigmas.at("steps"), 2) << checkpoint;
  }
}

TEST(Report, defaults_are_distinguished_from_requests) {
  Model model = Model::open(checkpoint_folder("dpmpp"));
  const Json report = Json::parse(model.generate({.prompt = "x", .width = 64, .steps = 1}).report);
  EXPECT_EQ(report.at("request").at("defaults"),
            (Json{"negative_prompt", "clip_skip", "height", "guidance", "sampler", "schedule", "seed"}));
  EXPECT_EQ(report.at("request").at("sampler"), "dpmpp_2m");
  EXPECT_EQ(report.at("request").at("schedule"), "karras");  // from scheduler_config.json
  EXPECT_EQ(report.at("request").at("height"), 64);
  EXPECT_EQ(report.at("request").at("guidance"), 7.5);
  EXPECT_EQ(report.at("components").size(), 3u);
  for (const auto& component : report.at("components")) EXPECT_GT(component.at("parameters"), 1000);
  for (const char* component : {"text_encoder", "unet", "vae"}) EXPECT_GT(report.at("largest_values").at(component), 0.01);
  EXPECT_GT(report.at("memory").at("measured").at("process_peak"), report.at("memory").at("measured").at("peak"));
}

TEST(Report, times_and_largest_values_are_those_of_the_run) {
  Model model = Model::open(checkpoint_folder("pndm"));
  const Json report = Json::parse(model.generate({.prompt = "x", .width = 64, .height = 64, .steps = 4, .seed = 1}).report);
  const Json& seconds = report.at("seconds");
  for (const char* part : {"load", "encode", "sample", "decode"}) EXPECT_GT(seconds.at(part), 0) << part;
  EXPECT_LE(seconds.at("encode").get<double>() + seconds.at("sample").get<double>() + seconds.at("decode").get<double>(),
            seconds.at("total").get<double>());
  ASSERT_EQ(seconds.at("steps").size(), 5u);  // plms: one denoiser call more than steps
  double steps = 0;
  for (const Json& s : seconds.at("steps")) steps += s.get<double>();
  EXPECT_LE(steps, seconds.at("sample").get<double>());

  for (const uint64_t seed : {1, 2, 3, 4}) {  // for some of them, the largest value is negative
    const Generation made =
        model.generate({.prompt = "x", .width = 16, .height = 16, .steps = 1, .sampler = "euler", .seed = seed, .decode = false});
    float largest = 0;
    for (const float v : made.latents.values) largest = std::max(largest, std::abs(v));
    EXPECT_EQ(Json::parse(made.report).at("largest_values").at("sampler euler"), largest) << seed;
  }
}

TEST(Report, debug_reports_times_and_shapes) {
  Model model = Model::open(checkpoint_folder("pndm"));
  Request request = find_case("pndm", "default").request;
  const Generation plain = model.generate(request);
  EXPECT_FALSE(Json::parse(plain.report).contains("debug"));
  request.debug = {.timing = true, .shapes = true, .nan = true};
  const Generation made = model.generate(request);
  EXPECT_EQ(made.latents.values, plain.latents.values);
  const Json report = Json::parse(made.report), debug = report.at("debug");

  double seconds = 0, flop = 0;
  for (const auto& op : debug.at("timing").at("ops")) {
    seconds += op.at("seconds").get<double>();
    flop += op.at("gflop").get<double>();
  }
  EXPECT_GT(flop, 1e-3);
  EXPECT_GT(seconds, 0);
  const Json& timing = debug.at("timing");
  EXPECT_GT(timing.at("ceilings").at("read_gbs"), 0.0);
  std::vector<std::string> phases;
  double total = 0;
  for (const Json& phase : timing.at("phases")) {
    const double wall = phase.at("wall_seconds");
    total += wall;
    phases.push_back(phase.at("phase"));
    for (const char* table : {"ops", "blocks"}) {
      double sum = 0;
      for (const Json& row : timing.at(table))
        if (row.at("phase") == phases.back()) sum += row.at("seconds").get<double>();
      EXPECT_NEAR(sum, wall, 1e-9 * wall + 1e-12) << phases.back() << " " << table;
    }
    if (report.at("seconds").contains(phases.back())) {
      EXPECT_GE(wall, report.at("seconds").at(phases.back()).get<double>()) << phases.back();
    }
    // The outermost blocks and the time outside of them also add up to the phase.
    double outermost = 0;
    for (const Json& row : timing.at("blocks")) {
      if (row.at("phase") != phases.back()) continue;
      const std::string name = row.at("block");
      const bool inside = std::ranges::any_of(timing.at("blocks"), [&](const Json& other) {
        return other.at("phase") == phases.back() && name.starts_with(other.at("block").get<std::string>() + ".");
      });
      if (!inside) outermost += row.at("calls") == 0 ? row.at("seconds").get<double>() : row.at("whole_seconds").get<double>();
    }
    EXPECT_NEAR(outermost, wall, 1e-9 * wall + 1e-12) << phases.back();
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"prepare", "encode", "sample", "decode", "finish"}));
  EXPECT_LE(total, report.at("seconds").at("total").get<double>());
  for (const Json& op : timing.at("ops"))
    if (op.at("op") == "linear" || op.at("op") == "group_norm") { EXPECT_GT(op.at("fraction"), 0.0) << op.dump(); }
  const auto row_of = [&](const char* block) {
    return *std::ranges::find_if(timing.at("blocks"), [&](const Json& row) { return row.at("block") == block; });
  };
  EXPECT_GT(row_of("outside the blocks").at("seconds"), 0.0);
  EXPECT_GT(row_of("up_blocks.0.resnets.0").at("gflop"), 0.0);
  EXPECT_GT(row_of("up_blocks.0").at("whole_seconds").get<double>(), row_of("up_blocks.0").at("seconds").get<double>());
  std::map<std::string, int64_t> calls;
  for (const auto& block : debug.at("timing").at("blocks"))
    calls[block.at("phase").get<std::string>() + " " + block.at("block").get<std::string>()] = block.at("calls");
  EXPECT_EQ(calls.at("sample mid_block"), 6);  // plms: one denoiser call more than steps
  EXPECT_EQ(calls.at("decode decoder.mid_block"), 1);
  EXPECT_EQ(calls.count("sample decoder.mid_block"), 0u);

  const auto lines = debug.at("shapes").get<std::vector<std::string>>();
  EXPECT_NE(std::ranges::find(lines, "sample: conv2d conv_in.weight [2, 8, 8, 4] → [2, 8, 8, 8] f32, 6 times"), lines.end())
      << debug.at("shapes").dump(1);
}

TEST(Report, components_that_are_not_used_are_named) {
  CheckpointCopy copy("pndm");
  copy.edit_json("model_index.json", [](Json& json) {
    json["safety_checker"] = {"stable_diffusion", "StableDiffusionSafetyChecker"};
    json["feature_extractor"] = {"transformers", "CLIPFeatureExtractor"};
    json["requires_safety_checker"] = true;
  });
  const auto looked_at = [&] {
    const Inspection found = inspect(copy.path());
    EXPECT_TRUE(found.usable) << found.text;
    EXPECT_EQ(found.text.find("problem"), found.text.npos) << found.text;
    const Json json = Json::parse(found.json);
    for (const Json& c : json.at("components"))
      if (c.at("name") == "safety_checker") return c.at("unused").get<std::string>();
    return std::string("not named");
  };
  EXPECT_NE(looked_at().find("no such folder"), std::string::npos);  // deleted
  for (const char* name : {"safety_checker", "feature_extractor"}) std::filesystem::create_directory(copy.path() / name);
  EXPECT_NE(looked_at().find("safety_checker"), std::string::npos);  // empty
  Model model = Model::open(copy.path());
  const Json notes = Json::parse(model.description()).at("notes");
  EXPECT_EQ(notes.size(), 2u) << notes.dump();
  EXPECT_NE(notes.dump().find("StableDiffusionSafetyChecker"), std::string::npos);
  copy.edit_json("model_index.json", [](Json& json) { json["safety_checker"] = json["feature_extractor"] = {nullptr, nullptr}; });
  EXPECT_EQ(looked_at(), "not named");
  copy.edit_json("model_index.json", [](Json& json) { json["safety_checker"] = json["feature_extractor"] = nullptr; });
  EXPECT_EQ(looked_at(), "not named");
}

// diffusers' pipelines change configurations of old checkpoints when loading them.
TEST(Report, old_configs_are_read_as_the_reference_reads_them) {
  CheckpointCopy copy("pndm");
  copy.edit_json("unet/config.json", [](Json& json) { json["_diffusers_version"] = "0.6.0.dev0"; });
  Model model = Model::open(copy.path());
  const Generation made = model.generate({.prompt = "x", .width = 16, .steps = 1, .seed = 1, .decode = false});
  EXPECT_EQ(made.latents.shape, (std::vector<int64_t>{1, 4, 64, 2}));  // sample_size 8 counts as 64
  EXPECT_TRUE(made.images.empty());

  const Json notes = Json::parse(Model::open(checkpoint_folder("ancestral")).description()).at("notes");
  EXPECT_NE(notes.dump().find("steps_offset is 1 instead of 0"), std::string::npos) << notes.dump();
  Model euler = Model::open(checkpoint_folder("euler"));
  const Generation clipped = euler.generate({.prompt = "x", .steps = 1, .sampler = "ddim"});
  ASSERT_EQ(clipped.warnings.size(), 1u);
  EXPECT_NE(clipped.warnings[0].find("\"clip_sample\": false"), std::string::npos);
}

// A single sample_size below 64 in a config older than 0.9.0 counts as 64.
TEST(Report, only_old_single_sizes_are_corrected) {
  const std::tuple<Json, Json, int64_t> sizes[] = {{"0.8.1", 8, 64},     {"0.9.0", 8, 8}, {"1.2.0", 8, 8},  {"dev", 8, 8},
                                                   {"0.6.0", {8, 8}, 8}, {nullptr, 8, 8}, {"0.6.0", 96, 96}};
  for (const auto& [version, size, height] : sizes) {
    CheckpointCopy copy("pndm");
    copy.edit_json("unet/config.json", [v = version, s = size](Json& json) {
      json["sample_size"] = s;
      if (v.is_null()) json.erase("_diffusers_version");
      else json["_diffusers_version"] = v;
    });
    const Generation made = Model::open(copy.path()).generate({.prompt = "x", .width = 16, .steps = 1, .seed = 1, .decode = false});
    EXPECT_EQ(made.latents.shape[2], height) << version << " " << size;
  }
}

TEST(Report, clipping_is_removed_with_a_note) {
  CheckpointCopy copy("ddim_v");
  copy.edit_json("scheduler/scheduler_config.json", [](Json& json) { json["clip_sample"] = true; });
  Model model = Model::open(copy.path());
  EXPECT_NE(model.description().find("clip_sample is off"), std::string::npos) << model.description();
  EXPECT_TRUE(model.generate({.prompt = "x", .width = 16, .height = 16, .steps = 1, .seed = 1}).warnings.empty());
  EXPECT_EQ(Model::open(checkpoint_folder("ddim_v")).description().find("clip_sample"), std::string::npos);
}

// A component's entry in the report: its files as the checkpoint names them, and the sizes of all its tensors.
TEST(Report, components_report_their_files_and_sizes) {
  const Json parts = Json::parse(Model::open(checkpoint_folder("pndm")).description()).at("components");
  EXPECT_EQ(parts[1].at("files"), Json{"unet/diffusion_pytorch_model.safetensors"});
  for (const Json& part : parts) {
    const int64_t parameters = part.at("parameters");
    EXPECT_EQ(part.at("stored"), (Json{{"f16", parameters}}));
    EXPECT_GT(part.at("bytes"), 0);  // the text encoder's tables and the VAE's encoder are not in memory
    EXPECT_LE(part.at("bytes"), 4 * parameters);
    EXPECT_EQ(part.at("kept_wider"), Json::array());
  }
  EXPECT_GE(parts[1].at("bytes"), 2 * parts[1].at("parameters").get<int64_t>());  // norms and biases are f32
  CheckpointCopy copy("ancestral");                                               // stored in f32
  copy.edit_tensors("unet", [](NamedTensors& tensors) { tensors.at("conv_in.weight").data<float>()[0] = 1e6f; });
  const Json wide = Json::parse(Model::open(copy.path(), {.precision = Precision::f16}).description()).at("components");
  EXPECT_EQ(wide[1].at("kept_wider"), Json{"conv_in.weight"});
  EXPECT_EQ(wide[0].at("kept_wider"), Json::array());
}

// Older text encoders store position_ids, which carry no information.
TEST(Report, position_ids_are_ignored) {
  CheckpointCopy copy("pndm");
  copy.edit_tensors("text_encoder", [&](NamedTensors& tensors) {
    tensors["text_model.embeddings.position_ids"] = Tensor::from(copy.device(), {1, 2}, std::vector<int32_t>{0, 1});
  });
  const Request request{.prompt = "x", .width = 16, .height = 16, .steps = 1, .seed = 1};
  EXPECT_EQ(Model::open(copy.path()).generate(request).latents.values,
            Model::open(checkpoint_folder("pndm")).generate(request).latents.values);
}

TEST(Report, the_vae_shift_is_ignored_as_in_the_reference) {
  CheckpointCopy copy("pndm");
  copy.edit_json("vae/config.json", [](Json& json) { json["shift_factor"] = 0.5; });
  const Request request = find_case("pndm", "default").request;
  Model model = Model::open(copy.path());
  EXPECT_EQ(model.generate(request).images[0].rgb, Model::open(checkpoint_folder("pndm")).generate(request).images[0].rgb);
  EXPECT_NE(model.description().find("shift_factor 0.5 is not applied"), std::string::npos);
}

// The tokenizer's class determines how prompts are cleaned: CLIPTokenizer decomposes a ligature, CLIPTokenizerFast keeps it.
TEST(Report, the_tokenizer_class_matters) {
  CheckpointCopy copy("pndm");
  copy.edit_json("model_index.json", [](Json& json) { json["tokenizer"] = {"transformers", "CLIPTokenizerFast"}; });
  const auto latents = [](const std::filesystem::path& path, const char* prompt) {
    return Model::open(path).generate({.prompt = prompt, .width = 16, .height = 16, .steps = 2, .seed = 1}).latents.values;
  };
  EXPECT_EQ(latents(checkpoint_folder("pndm"), "\uFB01n"), latents(checkpoint_folder("pndm"), "fin"));
  EXPECT_NE(latents(copy.path(), "\uFB01n"), latents(copy.path(), "fin"));
  EXPECT_EQ(latents(copy.path(), "fin"), latents(checkpoint_folder("pndm"), "fin"));
}

TEST(Report, a_size_without_default_must_be_given) {
  CheckpointCopy copy("pndm");
  copy.edit_json("unet/config.json", [](Json& json) { json["sample_size"] = nullptr; });
  Model model = Model::open(copy.path());
  for (const auto& [width, height] : {std::pair<std::optional<int64_t>, std::optional<int64_t>>{16, {}}, {{}, 16}, {{}, {}}}) try {
      model.generate({.prompt = "x", .width = width, .height = height, .steps = 1});
      ADD_FAILURE() << "a size was made up";
    } catch (const UsageError& e) { EXPECT_NE(std::string(e.what()).find("has no native size"), std::string::npos) << e.what(); }
  EXPECT_EQ(model.generate({.prompt = "x", .width = 16, .height = 8, .steps = 1}).images[0].height, 8);
}

TEST(Lists, are_complete) {
  const auto names = [](const std::vector<Named>& list) {
    std::vector<std::string> result;
    for (const Named& n : list) {
      EXPECT_FALSE(n.summary.empty()) << n.name;
      result.push_back(n.name);
    }
    return result;
  };
  EXPECT_EQ(names(list_models()), (std::vector<std::string>{"aura_flow",   "cohere",
                                                            "cohere2",     "deepseek",
                                                            "deepseek_v2", "flux1",
                                                            "flux2",       "gemma2",
                                                            "gemma3",      "glm",
                                                            "glm4",        "gpt_oss",
                                                            "granite",     "hunyuan_dit",
                                                            "internlm2",   "jamba",
                                                            "llama",       "mamba",
                                                            "mamba2",      "mistral",
                                                            "mixtral",     "olmo2",
                                                            "phi3",        "phimoe",
                                                            "pixart",      "qwen2",
                                                            "qwen2_moe",   "qwen3",
                                                            "qwen3_moe",   "qwen3_next",
                                                            "qwen_image",  "recurrent_gemma",
                                                            "rwkv6",       "rwkv7",
                                                            "sana",        "sd1",
                                                            "sd2",         "sd3",
                                                            "sdxl",        "sdxl_refiner",
                                                            "smollm3",     "stable_cascade",
                                                            "stablelm",    "z_image",
                                                            "zamba2"}));
  const std::vector<std::string> samplers = names(list_samplers());
  for (const char* name : {"ddim", "euler", "euler_ancestral", "dpmpp_2m", "plms"}) EXPECT_EQ(std::ranges::count(samplers, name), 1);
  const std::vector<std::string> schedules = names(list_schedules());
  for (const char* name : {"default", "karras", "trailing", "sgm_uniform", "ays"}) EXPECT_EQ(std::ranges::count(schedules, name), 1);
  const std::vector<std::string> backends = names(list_backends());  // and the graphics cards of this machine
  ASSERT_GE(backends.size(), 3u);
  EXPECT_EQ(std::vector(backends.begin(), backends.begin() + 2), (std::vector<std::string>{"cpu", "reference"}));
  for (size_t i = 2; i < backends.size(); ++i) EXPECT_TRUE(backends[i].starts_with("vulkan")) << backends[i];
}

// Two runs in one process equal two processes: the example's image, generated alone, and here after another one.
TEST(Processes, one_process_or_two) {
  TemporaryFolder folder;
  const std::string file = (folder / "alone.png").string();
  ASSERT_EQ(std::system((std::string(HEARTH_EXAMPLE) + " " + file + " 'a black cat' > /dev/null").c_str()), 0);
  Model model = Model::open_demo();
  model.generate({.prompt = "a lighthouse", .width = 64, .height = 96, .steps = 2, .seed = 5});
  const Generation made = model.generate({.prompt = "a black cat", .steps = 12, .guidance = 6, .sampler = "dpmpp_2m", .seed = 0});
  EXPECT_EQ(Image::load(file).rgb, made.images[0].rgb);
  EXPECT_EQ(Image::load(file).json, made.images[0].json);
}

}  // namespace
}  // namespace hearth::test
