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

#include "cli/outputs.h"
#include "cli/process.h"
#include "core/file.h"
#include "hearth/hearth.h"
#include "media/picture.h"
#include "media/recipe.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

const std::string demo = std::string(HEARTH_SOURCE_DIR) + "/assets/demo-model";

class GenerateTest : public CommandTest {
 protected:
  // 64 × 64, two steps, seed 7, unless `more` says otherwise; a flag of `more` replaces ours.
  Ended draw(const Arguments& more, const std::function<void()>& prepare = {}) const {
    Arguments arguments = {"generate"};
    const Arguments ours[] = {{"--prompt", "a red house"}, {"--steps", "2"},   {"--seed", "7"},
                              {"--width", "64"},           {"--height", "64"}, {"--output", "a.png"}};
    for (const Arguments& flag : ours)
      if (std::find(more.begin(), more.end(), flag[0]) == more.end()) arguments.insert(arguments.end(), flag.begin(), flag.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, prepare);
  }
  Json draw_json(Arguments more) const {
    more.push_back("--json");
    const Ended r = draw(more);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.code == 0 ? Json::parse(r.out) : Json();
  }
  Pixels picture(const std::string& name) const { return read_png(folder / name).image; }
  Pixels drawn(const Arguments& more) const {
    const Ended r = draw(more);
    EXPECT_EQ(r.code, 0) << r.err;
    return picture("a.png");
  }
};

TEST_F(GenerateTest, plain_output) {
  const Ended r = draw({});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "a.png: 64×64, seed 7\n");
  EXPECT_EQ(files(), Arguments{"a.png"});
  for (const char* phase : {"load ", "encode ", "sample ", "decode "}) EXPECT_NE(r.err.find(phase), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find('\r'), std::string::npos);  // stderr is a file: plain lines
  EXPECT_EQ(r.err.find('\x1b'), std::string::npos);
}

TEST_F(GenerateTest, each_picture_is_told_with_its_size_and_seed) {
  EXPECT_EQ(draw({"--width", "72", "--batch-size", "2"}).out, "a-1.png: 72×64, seed 7\na-2.png: 72×64, seed 8\n");
  const Json json = draw_json({"--width", "72", "--batch-size", "2", "--compat", "diffusers", "--output", "\xff.png"});
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(json["pictures"][k]["width"], 72);
    EXPECT_EQ(json["pictures"][k]["height"], 64);
    EXPECT_EQ(json["pictures"][k]["seed"], 7);  // one generator draws them all
  }
  EXPECT_TRUE(json["latents"].is_null());
}

TEST_F(GenerateTest, the_noise_of_several_batches) {
  const Arguments batches = {"--batch-size", "2", "--batch-count", "2"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), batches.begin(), batches.end());
    ASSERT_EQ(draw(more).code, 0);
  };
  with({"--save-latents", "l.safetensors"});
  with({"--noise", "l.safetensors", "--seed", "99", "--output", "b.png"});
  for (int k = 1; k <= 4; ++k) EXPECT_EQ(picture(fmt::format("b-{}.png", k)), picture(fmt::format("a-{}.png", k))) << k;
}

TEST_F(GenerateTest, precisions_of_all_and_of_one_component) {
  const auto held = [&](const Arguments& more) {
    std::string all;
    const Json json = draw_json(more);
    for (const Json& c : json["runs"][0]["components"]) all += c["held"].get<std::string>() + ", ";
    return all;
  };
  EXPECT_EQ(held({}), "as stored, as stored, as stored, ");  // text encoder, UNet, autoencoder
  EXPECT_EQ(held({"--precision", "f32"}), "f32, f32, f32, ");
  EXPECT_EQ(held({"--precision", "f16"}), "f16, f16, f16, ");
  EXPECT_EQ(held({"--precision", "bf16", "--vae-precision", "f32"}), "bf16, bf16, f32, ");
  EXPECT_EQ(held({"--unet-precision", "bf16", "--text-precision", "f32"}), "f32, bf16, as stored, ");
}

TEST_F(GenerateTest, every_name_of_a_sampler_is_taken) {
  for (const Named& sampler : list_samplers())
    for (const std::string& alias : sampler.aliases)
      EXPECT_EQ(draw_json({"--sampler", alias, "--steps", "1"})["runs"][0]["request"]["sampler"], sampler.name) << alias;
}

TEST_F(GenerateTest, debug_tables_and_the_first_operation_that_fails) {
  const std::string out = draw({"--debug", "timing"}).out;
  for (const char* part : {"a.png: 64×64, seed 7\n", "GFLOP/s", "mid_block"}) EXPECT_NE(out.find(part), std::string::npos) << out;
  EXPECT_TRUE(draw_json({"--debug", "all"})["runs"][0]["debug"].contains("timing"));
  cli::save_arrays(folder / "huge.safetensors", {{"noise", {.shape = {1, 4, 8, 8}, .values = std::vector<float>(256, 3e38f)}}});
  EXPECT_NE(draw({"--noise", "huge.safetensors"}).err.find("(debug \"nan\" finds the first operation)"), std::string::npos);
  for (const char* words : {"nan", "shapes,nan", "all"})
    EXPECT_NE(draw({"--noise", "huge.safetensors", "--debug", words}).err.find("is the first with values that are no numbers"),
              std::string::npos)
        << words;
}

TEST_F(GenerateTest, the_same_command_gives_the_same_file) {
  draw({});
  const std::string first = read_file(folder / "a.png");
  draw({});
  EXPECT_EQ(read_file(folder / "a.png"), first);
}

TEST_F(GenerateTest, json_is_one_object_that_tells_all) {
  const Json json = draw_json({"--batch-size", "2", "--batch-count", "2", "--save-latents", "l.safetensors"});
  EXPECT_EQ(json["hearth"], version());
  ASSERT_EQ(json["pictures"].size(), 4u);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(json["pictures"][size_t(k)],
              (Json{{"file", fmt::format("a-{}.png", k + 1)}, {"width", 64}, {"height", 64}, {"seed", 7 + k}}));
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

TEST_F(GenerateTest, a_batch_is_its_pictures_one_by_one) {
  ASSERT_EQ(draw({"--batch-size", "2", "--batch-count", "2"}).code, 0);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(drawn({"--seed", std::to_string(7 + k)}), picture(fmt::format("a-{}.png", k + 1))) << k;
}

TEST_F(GenerateTest, G65_what_help_calls_a_default_is_what_happens) {
  const std::string help = run({"generate", "--help"}).out;
  const auto shown = [&](const std::string& flag) {
    const size_t begin = help.find("(default: ", help.find(flag + " ")) + 10;
    return help.substr(begin, help.find(')', begin) - begin);
  };
  const Ended r = run({"generate", "--prompt", "x", "--json", "--threads", "2"});
  ASSERT_EQ(r.code, 0) << r.err;
  const Json json = Json::parse(r.out), report = json["runs"][0], request = report["request"];
  EXPECT_EQ(shown("--output"), json["pictures"][0]["file"]);
  EXPECT_TRUE(fs::exists(folder / shown("--output")));
  EXPECT_EQ(shown("--steps"), std::to_string(request["steps"].get<int64_t>()));
  EXPECT_EQ(std::stod(shown("--cfg-scale,--guidance")), request["guidance"].get<double>());
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
  EXPECT_EQ(shown("--width"), "the checkpoint's native size");
  EXPECT_EQ(request["width"], 128);
  EXPECT_EQ(request["height"], 128);
  EXPECT_EQ(shown("--sampler"), "the checkpoint's own");
  EXPECT_EQ(request["sampler"], "plms");
  EXPECT_EQ(shown("--seed"), "random");
  EXPECT_EQ(shown("--threads"), "all processors");
  EXPECT_EQ(request["defaults"], (Json{"width", "height", "sampler", "schedule", "seed"}));
}

TEST_F(GenerateTest, a_cache_that_cannot_be_used_is_said) {
  write_file(folder / "file", "x");
  const auto refused = [&](const Arguments& more) {
    Arguments all{"generate", "--prompt", "x", "--steps", "1"};
    all.insert(all.end(), more.begin(), more.end());
    const Ended r = run(all);
    EXPECT_NE(r.code, 0);
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    return r.err;
  };
  EXPECT_NE(refused({"--cache", "file"}).find("cache: file is no folder"), std::string::npos);
  EXPECT_NE(refused({"--cache", "cache", "--device", "reference"}).find("cache: the backend 'reference' packs no weights"),
            std::string::npos);

  const Pixels plain = drawn({"--cache", "cache"});
  for (const auto& entry : fs::directory_iterator(folder / "cache"))
    if (entry.path().extension() == ".packed") fs::resize_file(entry.path(), fs::file_size(entry.path()) - 100);
  const Ended r = run({"generate", "--prompt", "x", "--steps", "1", "--cache", "cache"});
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.err.find("is not used and will be written anew: it is cut off"), std::string::npos) << r.err;
  EXPECT_EQ(drawn({"--cache", "cache"}), plain);
}

// Every flag that the help names has an entry here that shows what it does; a new flag without one fails.
TEST_F(GenerateTest, G61_every_flag_has_an_effect) {
  const Pixels plain = drawn({"--save-latents", "plain.safetensors"});
  const auto changes_the_picture = [&](const Arguments& more) { return drawn(more) != plain; };
  std::map<std::string, std::function<bool()>> effects;
  effects["--prompt"] = [&] { return changes_the_picture({"--prompt", "a boat at sea"}); };
  effects["--negative-prompt"] = [&] { return changes_the_picture({"--negative-prompt", "night"}); };
  const auto weighted = [&](Arguments more) {
    more.insert(more.end(), {"--prompt", "a (red:1.4) house"});
    return drawn(more);
  };
  const std::string tiny = HEARTH_SOURCE_DIR "/tests/e2e/golden/prompts-tiny.safetensors";
  effects["--prompt-syntax"] = [&] { return weighted({"--prompt-syntax", "plain"}) != weighted({}); };
  effects["--emphasis"] = [&] { return weighted({"--emphasis", "no-norm"}) != weighted({}); };
  effects["--clip-skip"] = [&] { return changes_the_picture({"--clip-skip", "2"}) && draw({"--clip-skip", "99"}).code == 2; };
  effects["--embedding"] = [&] {  // of another width than the demo model's
    return draw({"--embedding", tiny}).code == 1 && draw({"--embedding", "x=" + tiny}).code == 1 &&
           draw({"--embedding", "=" + tiny}).code == 2;
  };
  effects["--steps"] = [&] { return changes_the_picture({"--steps", "3"}); };
  effects["--cfg-scale"] = [&] { return changes_the_picture({"--cfg-scale", "3"}); };
  effects["--guidance"] = [&] { return changes_the_picture({"--guidance", "3"}); };
  effects["--guidance-method"] = [&] { return changes_the_picture({"--guidance-method", "pag"}); };
  effects["--guidance-opt"] = [&] {
    const Pixels pag = drawn({"--guidance-method", "pag"});
    return drawn({"--guidance-method", "pag", "--guidance-opt", "pag_scale=1"}) != pag &&
           drawn({"--guidance-method", "pag", "--guidance-opt", "pag_scale=0"}) == plain;
  };
  effects["--guidance-rescale"] = [&] { return changes_the_picture({"--guidance-rescale", "0.7"}); };
  effects["--guidance-interval"] = [&] {
    return changes_the_picture({"--guidance-interval", "0.1,3"}) && drawn({"--guidance-interval", "0,0"}) == drawn({"--cfg-scale", "1"});
  };
  effects["--sampler"] = [&] { return changes_the_picture({"--sampler", "euler"}); };
  effects["--schedule"] = [&] {  // with two steps both schedules are the first and the last sigma
    return drawn({"--sampler", "euler", "--steps", "4"}) != drawn({"--sampler", "euler", "--steps", "4", "--schedule", "karras"});
  };
  effects["--seed"] = [&] { return changes_the_picture({"--seed", "8"}); };
  const Json report = Json::parse(run({"generate", "--prompt", "x", "--steps", "1", "--json"}).out)["runs"][0];
  const std::string other = report["device"] == "cpu amx" ? "f32" : "bf16";  // not what "auto" takes
  for (const std::string flag : {"--precision", "--unet-precision", "--vae-precision", "--text-precision"})
    effects[flag] = [&, flag] { return changes_the_picture({flag, other}); };
  effects["--width"] = [&] { return drawn({"--width", "72"}).width == 72; };
  effects["--height"] = [&] { return drawn({"--height", "80"}).height == 80; };
  effects["--output"] = [&] { return draw({"--output", "other.png"}).code == 0 && picture("other.png") == plain; };
  const Pixels next = drawn({"--seed", "8"});
  effects["--quality"] = [&] {
    const auto size = [&](const Arguments& more) { return draw(more).code == 0 ? fs::file_size(folder / more[1]) : 0; };
    const bool jpeg = size({"--output", "q.jpg", "--quality", "20"}) < size({"--output", "q.jpg"});
    const bool webp = size({"--output", "q.webp", "--quality", "20"}) < size({"--output", "q.webp"});
    return jpeg && webp && draw({"--output", "q.webp", "--quality", "lossless"}).code == 0 &&
           Image::load(folder / "q.webp").rgb == plain.rgb && draw({"--quality", "90"}).code == 2 &&
           draw({"--output", "q.jpg", "--quality", "lossless"}).code == 2;
  };
  effects["--chroma"] = [&] {
    return draw({"--output", "h.jpg", "--chroma", "4:2:0"}).code == 0 && draw({"--output", "f.jpg", "--chroma", "4:4:4"}).code == 0 &&
           read_picture(folder / "h.jpg").kind == "baseline, YCbCr 4:2:0" &&
           read_picture(folder / "f.jpg").kind == "baseline, YCbCr 4:4:4" && draw({"--chroma", "4:4:4"}).code == 2;
  };
  effects["--png-bits"] = [&] {
    if (draw({"--png-bits", "16", "--output", "deep.png"}).code != 0 || draw({"--png-bits", "8", "--output", "e.png"}).code != 0)
      return false;
    const Png deep = read_png(folder / "deep.png");
    for (size_t i = 0; i < plain.rgb.size(); ++i)  // the same picture, finer: within half a level of 8 bits
      if (std::abs(deep.deep.rgb.at(i) - 257 * plain.rgb[i]) > 129) return false;
    return deep.kind == "16 bits, RGB" && picture("e.png") == plain && draw({"--png-bits", "12"}).code == 2 &&
           draw({"--png-bits", "16", "--output", "x.jpg"}).code == 2;
  };
  effects["--batch-size"] = [&] {
    return draw({"--batch-size", "2", "--output", "b.png"}).code == 0 && picture("b-1.png") == plain && picture("b-2.png") == next;
  };
  effects["--batch-count"] = [&] {
    return draw({"--batch-count", "2", "--output", "c.png"}).code == 0 && picture("c-1.png") == plain && picture("c-2.png") == next;
  };
  effects["--compat"] = [&] {  // the second picture's noise comes from the first's generator
    return draw({"--batch-size", "2", "--compat", "diffusers", "--output", "d.png"}).code == 0 && picture("d-1.png") == plain &&
           picture("d-2.png") != next;
  };
  effects["--ensd"] = [&] {
    const Arguments ancestral{"--compat", "a1111", "--sampler", "euler_ancestral"};
    Arguments shifted = ancestral;
    shifted.insert(shifted.end(), {"--ensd", "31337"});
    return drawn(shifted) != drawn(ancestral) && draw({"--ensd", "1"}).code == 2;
  };
  effects["--batch-index"] = [&] {  // the second picture of ComfyUI's batch, alone
    return draw({"--batch-size", "2", "--compat", "comfyui", "--sampler", "euler", "--output", "e.png"}).code == 0 &&
           drawn({"--compat", "comfyui", "--sampler", "euler", "--batch-index", "1"}) == picture("e-2.png") &&
           draw({"--batch-index", "1"}).code == 2;
  };
  effects["--save-latents"] = [&] {
    return cli::load_array(folder / "plain.safetensors", "latents").values != cli::load_array(folder / "plain.safetensors", "noise").values;
  };
  effects["--noise"] = [&] { return drawn({"--noise", "plain.safetensors", "--seed", "99"}) == plain && drawn({"--seed", "99"}) != plain; };
  effects["--model"] = [&] { return drawn({"--model", demo}) == plain && draw({"--model", "nowhere"}).code == 1; };
  effects["--variant"] = [&] { return draw({"--variant", "fp16"}).code == 1; };  // the demo model has none, and that is said
  effects["--device"] = [&] { return draw_json({"--device", "reference"})["runs"][0]["device"] == "reference"; };
  effects["--threads"] = [&] {
    return draw_json({"--threads", "1"})["runs"][0]["threads"] == 1 && draw_json({"--threads", "3"})["runs"][0]["threads"] == 3;
  };
  effects["--pin-threads"] = [&] {
    const Json pinned = draw_json({"--pin-threads"})["runs"][0], free = draw_json({})["runs"][0];
    return pinned["pinned"] == true && free["pinned"] == false && draw({"--pin-threads", "--threads", "1000"}).code == 2;
  };
  effects["--memory-limit"] = [&] { return draw({"--memory-limit", "1M"}).code == 2 && draw({"--memory-limit", "9G"}).code == 0; };
  effects["--vae-tiling"] = [&] {  // the demo model's tiles are as large as its pictures
    return drawn({"--width", "192", "--vae-tiling", "on"}) != drawn({"--width", "192"});
  };
  effects["--vae-tile-size"] = [&] { return changes_the_picture({"--vae-tiling", "on", "--vae-tile-size", "32"}); };
  effects["--debug"] = [&] {
    const Json told = draw_json({"--debug", "timing"})["runs"][0]["debug"];
    return told.contains("timing") && !told.contains("shapes") && draw_json({"--debug", "all"})["runs"][0]["debug"].contains("shapes");
  };
  effects["--cache"] = [&] {
    const bool first = drawn({"--cache", "cache"}) == plain, second = drawn({"--cache", "cache"}) == plain;
    const auto files = std::distance(fs::directory_iterator(folder / "cache"), {});
    return first && second && files == 6;  // three components: their packed weights and what is remembered of their hashes
  };
  effects["--json"] = [&] { return draw({"--json"}).out[0] == '{' && draw({}).out[0] != '{'; };
  effects["--help"] = [&] { return run({"generate", "--help"}).code == 0; };

  std::set<std::string> tested;
  for (const auto& [flag, effect] : effects) {
    tested.insert(flag);
    EXPECT_TRUE(effect()) << flag;
  }
  EXPECT_EQ(flags_in_help("generate"), tested);
}

// Every limit is obeyed by the process as the system sees it, in ever leaner ways, until none is left.
TEST_F(GenerateTest, the_memory_limit_is_obeyed_or_refused) {
  const auto at = [&](const std::string& limit, const Arguments& more = {}) {
    Arguments flags = {"--width", "768", "--height", "640", "--json", "--threads", "2", "--memory-limit", limit};
    flags.insert(flags.end(), more.begin(), more.end());
    return draw(flags);
  };
  // Decoding in tiles takes 46 MB less than a whole decode. So the limits below are far from where one mode ends and the next begins:
  // how much of the program is in memory is never quite the same.
  constexpr int64_t far = 20'000'000;
  std::vector<std::string> modes;
  std::vector<Pixels> pictures;
  std::string limit = "8GiB";
  for (int i = 0; i < 2; ++i) {
    const Ended r = at(limit);
    ASSERT_EQ(r.code, 0) << r.err;
    const Json memory = Json::parse(r.out)["runs"][0]["memory"];
    const int64_t predicted = memory["predicted"];
    modes.push_back(memory["mode"]);
    pictures.push_back(picture("a.png"));
    if (std::getenv("HEARTH_PRINT_ERRORS")) fmt::print("{}: predicted {}, took {}\n", modes.back(), predicted, r.peak_bytes);
    EXPECT_NE(r.err.find(fmt::format("hearth: memory: {:.2f} GB expected, {}\n", double(predicted) * 1e-9, modes.back())),
              std::string::npos)
        << r.err;
    EXPECT_LE(r.peak_bytes, predicted) << modes.back();
    EXPECT_GE(r.peak_bytes, predicted * 6 / 10) << modes.back();
    limit = std::to_string(predicted - far);
  }
  EXPECT_NE(pictures[1], pictures[0]);
  EXPECT_EQ(modes[0], "networks are let go of when they have done their work");
  EXPECT_EQ(modes[1], "each network is loaded for its own work only, VAE in tiles of 128 pixels");

  const Ended refused = at(limit);
  EXPECT_EQ(not_one_line(refused, 2), "");
  std::smatch sizes;  // told apart, however near
  ASSERT_TRUE(std::regex_search(refused.err, sizes, std::regex("1 of 768×640 need at least (0\\.\\d+) GB .*limit is (0\\.\\d+) GB")))
      << refused.err;
  EXPECT_GT(std::stod(sizes[1]), std::stod(sizes[2])) << refused.err;
  EXPECT_EQ(refused.err.find("load"), refused.err.find("loaded for its own")) << refused.err;  // before anything is loaded
  EXPECT_EQ(at(limit, {"--vae-tiling", "off"}).code, 2);
}

TEST_F(GenerateTest, tiling_flags_that_make_no_sense) {
  EXPECT_EQ(not_one_line(draw({"--vae-tile-size", "64"}), 2), "");
  EXPECT_EQ(not_one_line(draw({"--vae-tiling", "off", "--vae-tile-size", "64"}), 2), "");
  EXPECT_EQ(draw({"--vae-tiling", "on", "--vae-tile-size", "48"}).err,
            "hearth: generate: tiles of 48 pixels do not fit, needed a multiple of 32\n");
  EXPECT_EQ(draw({"--memory-limit", "3X"}).err,
            "hearth: --memory-limit: '3X' is not a size, needed a number of bytes or one with K, M, G or T\n");
  const Ended r = draw({"--vae-tiling", "on", "--vae-tile-size", "32"});
  EXPECT_NE(r.err.find("hearth: warning: the picture is decoded in tiles of 32 pixels: not quite that of a whole decode\n"),
            std::string::npos)
      << r.err;
}

TEST_F(GenerateTest, the_picture_says_how_it_was_made) {
  ASSERT_EQ(draw({"--prompt", "a red house, \"big\": 日本\nsecond line", "--negative-prompt", "blurry", "--sampler", "dpmpp_2m",
                  "--schedule", "karras", "--cfg-scale", "6.5"})
                .code,
            0);
  const Png png = read_png(folder / "a.png");
  std::map<std::string, std::string> texts;
  for (const PngText& text : png.texts) texts[text.keyword] = text.text;
  const Parameters p = parse_parameters(texts.at("parameters"));
  EXPECT_EQ(p.prompt, "a red house, \"big\": 日本\nsecond line");
  EXPECT_EQ(p.negative_prompt, "blurry");
  EXPECT_EQ(*p.find("Sampler"), "DPM++ 2M");
  EXPECT_EQ(*p.find("Schedule type"), "Karras");
  EXPECT_EQ(*p.find("Seed"), "7");
  EXPECT_EQ(*p.find("Size"), "64x64");
  const Recipe recipe = parse_recipe(texts.at("hearth"));
  EXPECT_EQ(recipe.prompt, p.prompt);
  EXPECT_EQ(recipe.version, version());
  EXPECT_EQ(recipe.hashes.size(), 3u);
  // Made again from what it says.
  EXPECT_EQ(drawn({"--prompt", recipe.prompt, "--negative-prompt", recipe.negative_prompt, "--sampler", recipe.sampler, "--schedule",
                   recipe.schedule, "--cfg-scale", fmt::format("{}", recipe.guidance), "--seed", std::to_string(recipe.seed), "--steps",
                   std::to_string(recipe.steps)}),
            png.image);
}

TEST_F(GenerateTest, without_a_seed_every_run_differs_and_says_its_seed) {
  const Ended first = run({"generate", "-p", "x", "--steps", "1", "-W", "64", "-H", "64", "-o", "a.png", "--json"});
  const Ended second = run({"generate", "-p", "x", "--steps", "1", "-W", "64", "-H", "64", "-o", "b.png", "--json"});
  EXPECT_NE(picture("a.png"), picture("b.png"));
  const auto seed = Json::parse(second.out)["pictures"][0]["seed"].get<uint64_t>();
  EXPECT_NE(Json::parse(first.out)["pictures"][0]["seed"], seed);
  const Pixels b = picture("b.png");
  EXPECT_EQ(drawn({"--prompt", "x", "--steps", "1", "--seed", std::to_string(seed)}), b);
}

TEST_F(GenerateTest, a_prompt_that_is_too_long_is_said) {
  const Ended r = draw({"--prompt", std::string(10'000, 'x')});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("hearth: warning: "), std::string::npos) << r.err;
  EXPECT_EQ(draw_json({"--prompt", std::string(10'000, 'x'), "--batch-count", "2"})["warnings"].size(), 1u);  // once
}

TEST_F(GenerateTest, what_cannot_be_is_one_line) {
  EXPECT_EQ(not_one_line(draw({"--model", "nowhere"}), 1), "");
  fs::create_directory(folder / "empty");
  EXPECT_EQ(not_one_line(draw({"--model", "empty"}), 1), "");
  EXPECT_EQ(not_one_line(draw({"--variant", "fp16"}), 1), "");
  EXPECT_EQ(not_one_line(draw({"--noise", "missing.safetensors"}), 1), "");
  cli::save_arrays(folder / "n.safetensors", {{"noise", {.shape = {1, 4, 8, 8}, .values = std::vector<float>(256)}}});
  const Ended batch = draw({"--noise", "n.safetensors", "--batch-size", "2"});
  EXPECT_EQ(not_one_line(batch, 2), "");
  EXPECT_EQ(batch.err, "hearth: --noise: n.safetensors has shape [1, 4, 8, 8], needed [2, channels, height/8, width/8]\n");
  EXPECT_EQ(draw({"--noise", "n.safetensors", "--width", "72"}).code, 2);
  cli::save_arrays(folder / "n.safetensors", {{"noise", {.shape = {1, 256}, .values = std::vector<float>(256)}}});
  EXPECT_EQ(draw({"--noise", "n.safetensors"}).err,
            "hearth: --noise: n.safetensors has shape [1, 256], needed [1, channels, height/8, width/8]\n");
  const Ended size = draw({"--width", "513"});  // G-49: never another size than the one asked for
  EXPECT_EQ(size.code, 2);
  EXPECT_NE(size.err.find("513"), std::string::npos) << size.err;
  EXPECT_EQ(files(), (Arguments{"empty", "n.safetensors"}));
}

TEST_F(GenerateTest, a_place_that_cannot_be_written_is_known_before_the_model_is_loaded) {
  for (const char* flag : {"--output", "--save-latents"}) {
    const std::string name = flag == std::string("--output") ? "x.png" : "x.safetensors";
    const Ended missing = draw({flag, "no/" + name});
    EXPECT_EQ(not_one_line(missing, 1), "") << flag;  // no line tells of loading
    EXPECT_EQ(missing.err, fmt::format("hearth: write no/{}: the folder no does not exist\n", name));
    fs::create_directory(folder / "closed");
    fs::permissions(folder / "closed", fs::perms(0555));
    fs::permissions(folder, fs::perms(0755));
    const auto as_nobody = [] {
      if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(97);  // nothing is read-only for root
    };
    const Ended closed = draw({flag, "closed/" + name}, as_nobody);
    EXPECT_EQ(not_one_line(closed, 1), "") << flag;
    EXPECT_NE(closed.err.find("Permission denied"), std::string::npos) << closed.err;
    fs::remove_all(folder / "closed");
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(GenerateTest, a_run_is_stopped_and_gone_on_with) {
  const Arguments flags = {"--steps", "5", "--sampler", "DPM++ 2M SDE", "--sampler-opt", "eta=0.7"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), flags.begin(), flags.end());
    return more;
  };
  const Pixels whole = drawn(with({}));
  const Ended stopped = draw(with({"--stop-after", "2", "--save-latents", "s.safetensors"}));
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_NE(picture("a.png").rgb, whole.rgb);
  EXPECT_EQ(drawn(with({"--resume", "s.safetensors"})).rgb, whole.rgb);
  EXPECT_NE(draw({"--steps", "5", "--sampler", "dpmpp_2m_sde", "--resume", "s.safetensors"}).err.find("this one {\"eta\":1.0"),
            std::string::npos);
  EXPECT_NE(draw(with({"--stop-after", "2"})).err.find("--save-latents"), std::string::npos);
  EXPECT_NE(draw(with({"--resume", "s.safetensors", "--batch-count", "2"})).err.find("--batch-count"), std::string::npos);
  EXPECT_NE(draw(with({"--resume", "a.png"})).code, 0);
  draw({"--save-latents", "l.safetensors"});
  EXPECT_NE(draw(with({"--resume", "l.safetensors"})).err.find("holds no run to go on with"), std::string::npos);
}

TEST_F(GenerateTest, options_of_the_sampler) {
  const Json json = draw_json({"--sampler", "euler a", "--sampler-opt", "eta=0.5", "--sampler-opt", "s_noise=1.01"});
  EXPECT_EQ(json["runs"][0]["request"]["sampler"], "euler_ancestral");
  EXPECT_EQ(json["runs"][0]["request"]["sampler_options"], (Json{{"eta", "0.5"}, {"s_noise", "1.01"}}));
  std::string recipe_text;
  for (const PngText& text : read_png(folder / "a.png").texts)
    if (text.keyword == recipe_keyword) recipe_text = text.text;
  EXPECT_EQ(parse_recipe(recipe_text).sampler_options,
            (std::map<std::string, std::string>{{"eta", "0.5"}, {"s_noise", "1.01"}}));
  const Ended wrong = draw({"--sampler", "euler a", "--sampler-opt", "order=2"});
  EXPECT_NE(wrong.err.find("sampler 'euler_ancestral' has no option 'order'; it has eta, s_noise"), std::string::npos) << wrong.err;
}

TEST_F(GenerateTest, a_full_disk_leaves_no_file) {
  const Ended r = draw({}, [] {
    const rlimit limit{.rlim_cur = 2048, .rlim_max = 2048};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  EXPECT_EQ(r.code, 1) << r.signal;
  EXPECT_NE(r.err.find("hearth: write a.png: File too large\n"), std::string::npos) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(files().empty());
}

TEST_F(GenerateTest, ctrl_c_ends_cleanly_and_leaves_no_half_file) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process(folder,
                    {"generate", "-p", "x", "--steps", "1000", "--device", "reference", "-o", "a.png", "--save-latents", "l.safetensors"});
    ASSERT_TRUE(process.wait_for("encode ")) << process.err();  // said when sampling begins
    process.send(signal);
    const Ended r = process.wait();
    EXPECT_EQ(r.code, 130) << r.signal;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err.substr(r.err.rfind('\n', r.err.size() - 2) + 1), "hearth: cancelled\n") << r.err;
    EXPECT_TRUE(files().empty());
  }
}

TEST_F(GenerateTest, ctrl_c_keeps_the_pictures_that_are_done) {
  Process process(folder, {"generate", "-p", "x", "--steps", "1", "-W", "64", "-H", "64", "--batch-count", "1000"});
  for (int i = 0; i < 2000 && !fs::exists(folder / "hearth-0002.png"); ++i) ::usleep(5000);
  process.send(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  ASSERT_GE(files().size(), 2u);
  for (const std::string& name : files()) EXPECT_EQ(read_png(folder / name).image.width, 64) << name;
}

}  // namespace
}  // namespace hearth::test
