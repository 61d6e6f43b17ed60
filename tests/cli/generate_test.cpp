// hearth generate with the demo model, small and short.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "cli/generate_test.h"
#include "cli/outputs.h"
#include "core/files/file.h"
#include "hearth/hearth.h"
#include "media/formats/image_file.h"

namespace hearth::test {
namespace {

const std::string demo = std::string(HEARTH_SOURCE_DIR) + "/assets/demo-model";

TEST_F(GenerateTest, plain_output) {
  const Ended r = generate({});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "a.png: 64×64, seed 7\n");
  EXPECT_EQ(files(), Arguments{"a.png"});
  for (const char* phase : {"load ", "encode ", "denoise ", "decode "}) EXPECT_NE(r.err.find(phase), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find('\r'), std::string::npos);  // stderr is a file: plain lines
  EXPECT_EQ(r.err.find('\x1b'), std::string::npos);
}

TEST_F(GenerateTest, each_image_is_reported_with_its_size_and_seed) {
  EXPECT_EQ(generate({"--width", "72", "--batch-size", "2"}).out, "a-1.png: 72×64, seed 7\na-2.png: 72×64, seed 8\n");
  const Json json = generate_json({"--width", "72", "--batch-size", "2", "--compat", "diffusers", "--output", "\xff.png"});
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(json["images"][k]["width"], 72);
    EXPECT_EQ(json["images"][k]["height"], 64);
    EXPECT_EQ(json["images"][k]["seed"], 7);  // one generator draws all noise
  }
  EXPECT_TRUE(json["latents"].is_null());
}

TEST_F(GenerateTest, precisions_of_all_and_of_one_component) {
  const auto held = [&](const Arguments& more) {
    std::string all;
    const Json json = generate_json(more);
    for (const Json& c : json["runs"][0]["components"]) all += c["held"].get<std::string>() + ", ";
    return all;
  };
  const std::string automatic = held({}).starts_with("bf16") ? "bf16, " : "as stored, ";  // where bf16 is fastest
  EXPECT_EQ(held({}), automatic + automatic + automatic);                                 // text encoder, UNet, VAE
  EXPECT_EQ(held({"--precision", "f32"}), "f32, f32, f32, ");
  EXPECT_EQ(held({"--precision", "f16"}), "f16, f16, f16, ");
  EXPECT_EQ(held({"--precision", "bf16", "--vae-precision", "f32"}), "bf16, bf16, f32, ");
  EXPECT_EQ(held({"--unet-precision", "bf16", "--text-encoder-precision", "f32"}), "f32, bf16, " + automatic);
}

TEST_F(GenerateTest, every_sampler_alias_is_accepted) {
  for (const Named& sampler : list_samplers())
    for (const std::string& alias : sampler.aliases) {
      if (alias == "IPNDMScheduler" || alias == "SCMScheduler") continue;  // for other denoisers; the error says so
      EXPECT_EQ(generate_json({"--sampler", alias})["runs"][0]["request"]["sampler"], sampler.name) << alias;
    }
}

TEST_F(GenerateTest, debug_prints_tables_and_the_first_operation_that_is_not_finite) {
  const std::string out = generate({"--debug", "timing"}).out;
  for (const char* part : {"a.png: 64×64, seed 7\n", "GFLOP/s", "mid_block"}) EXPECT_NE(out.find(part), std::string::npos) << out;
  EXPECT_TRUE(generate_json({"--debug", "all"})["runs"][0]["debug"].contains("timing"));
  cli::save_arrays(folder / "huge.safetensors", {{"noise", {.shape = {1, 4, 8, 8}, .values = std::vector<float>(256, 3e38f)}}});
  EXPECT_NE(generate({"--noise", "huge.safetensors"}).err.find("(debug \"nan\" finds the first op)"), std::string::npos);
  for (const char* words : {"nan", "shapes,nan", "all"})
    EXPECT_NE(generate({"--noise", "huge.safetensors", "--debug", words}).err.find("is the first op with non-finite values"),
              std::string::npos)
        << words;
}

TEST_F(GenerateTest, the_same_command_gives_the_same_file) {
  generate({});
  const std::string first = read_file(folder / "a.png");
  generate({});
  EXPECT_EQ(read_file(folder / "a.png"), first);
}

TEST_F(GenerateTest, json_is_one_object) {
  const Json json = generate_json({"--batch-size", "2", "--batch-count", "2", "--save-latents", "l.safetensors"});
  EXPECT_EQ(json["hearth"], version());
  ASSERT_EQ(json["images"].size(), 4u);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(json["images"][size_t(k)], (Json{{"file", fmt::format("a-{}.png", k + 1)}, {"width", 64}, {"height", 64}, {"seed", 7 + k}}));
    EXPECT_TRUE(fs::exists(folder / fmt::format("a-{}.png", k + 1)));
  }
  EXPECT_EQ(json["latents"], "l.safetensors");
  ASSERT_EQ(json["runs"].size(), 2u);
  EXPECT_EQ(json["runs"][1]["request"]["seed"], 9);
  EXPECT_EQ(json["runs"][0]["request"]["steps"], 2);
  EXPECT_EQ(json["warnings"], Json::array());
  EXPECT_EQ(cli::load_array(folder / "l.safetensors", "latents").shape, (std::vector<int64_t>{4, 4, 8, 8}));
  EXPECT_EQ(cli::load_array(folder / "l.safetensors", "noise").shape, (std::vector<int64_t>{4, 4, 8, 8}));
}

TEST_F(GenerateTest, a_batch_equals_single_runs) {
  ASSERT_EQ(generate({"--batch-size", "2", "--batch-count", "2"}).code, 0);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(generated({"--seed", std::to_string(7 + k)}), image(fmt::format("a-{}.png", k + 1))) << k;
}

TEST_F(GenerateTest, defaults_in_the_help_are_those_of_the_run) {
  const std::string help = run({"generate", "--help-all"}).out;
  const auto shown = [&](const std::string& flag) {
    const size_t begin = help.find("(default:", std::min(help.find("\n      " + flag + " "), help.find(", " + flag + " "))) + 10;
    const std::string text = help.substr(begin, help.find(')', begin) - begin);
    return std::regex_replace(text.substr(text.find_first_not_of(" \n")), std::regex("\n +"), " ");
  };
  const Ended r = run({"generate", "--prompt", "x", "--json", "--threads", "2"});
  ASSERT_EQ(r.code, 0) << r.err;
  const Json json = Json::parse(r.out), report = json["runs"][0], request = report["request"];
  EXPECT_EQ(shown("--output"), json["images"][0]["file"]);
  EXPECT_TRUE(fs::exists(folder / shown("--output")));
  EXPECT_EQ(shown("--steps"), "the model's own, usually 50");
  EXPECT_EQ(shown("--cfg-scale"), "the model's own, usually 7.5");
  EXPECT_EQ(request["guidance"], 7.5);
  EXPECT_EQ(shown("--guidance-method"), request["guidance_method"]);
  EXPECT_EQ(std::stod(shown("--guidance-rescale")), request["guidance_rescale"].get<double>());
  EXPECT_EQ(request["guidance_interval"], Json());
  EXPECT_EQ(shown("--batch-size"), std::to_string(request["batch_size"].get<int64_t>()));
  EXPECT_EQ(shown("--batch-count"), std::to_string(json["runs"].size()));
  EXPECT_EQ(report["device"].get<std::string>().rfind(shown("--device"), 0), 0u);
  EXPECT_EQ(shown("--precision"), "auto");
  EXPECT_EQ(report["components"][0]["held"], report["device"] == "cpu amx" ? "bf16" : "as stored");
  EXPECT_EQ(shown("--model"), "the demo model");
  EXPECT_EQ(report["model"], "demo-model");
  EXPECT_EQ(shown("--width"), "the model's native size");
  EXPECT_EQ((Json{request["width"], request["height"], request["steps"]}), (Json{128, 128, 50}));
  EXPECT_EQ(shown("--sampler"), "the checkpoint's own");
  EXPECT_EQ(request["sampler"], "plms");
  EXPECT_EQ(shown("--seed"), "random");
  EXPECT_EQ(shown("--threads"), "all CPUs");
  EXPECT_EQ(request["defaults"],
            (Json{"negative_prompt", "clip_skip", "width", "height", "steps", "guidance", "sampler", "schedule", "seed"}));
}

TEST_F(GenerateTest, an_unusable_weight_cache_is_an_error_or_a_warning) {
  write_file(folder / "file", "x");
  const auto refused = [&](const Arguments& more) {
    Arguments all{"generate", "--prompt", "x", "--steps", "1"};
    all.insert(all.end(), more.begin(), more.end());
    const Ended r = run(all);
    EXPECT_NE(r.code, 0);
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    return r.err;
  };
  EXPECT_NE(refused({"--weight-cache", "file"}).find("weight cache: file is not a folder"), std::string::npos);
  EXPECT_NE(
      refused({"--weight-cache", "cache", "--device", "reference"}).find("weight cache: the backend 'reference' does not pack weights"),
      std::string::npos);

  const Pixels plain = generated({"--weight-cache", "cache"});
  for (const auto& entry : fs::directory_iterator(folder / "cache"))
    if (entry.path().extension() == ".packed") fs::resize_file(entry.path(), fs::file_size(entry.path()) - 100);
  const Ended r = run({"generate", "--prompt", "x", "--steps", "1", "--weight-cache", "cache"});
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.err.find("is ignored and will be rewritten: it is cut off"), std::string::npos) << r.err;
  EXPECT_EQ(generated({"--weight-cache", "cache"}), plain);
}

// Every flag in the help has an entry here that shows its effect; a new flag without one fails.

}  // namespace
}  // namespace hearth::test
