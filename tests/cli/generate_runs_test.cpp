// hearth generate: output files, interrupted runs, and errors.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <regex>

#include "cli/generate_test.h"
#include "cli/outputs.h"
#include "hearth/hearth.h"
#include "media/metadata/parameters.h"
#include "support/sanitizer.h"

namespace hearth::test {
namespace {

TEST_F(GenerateTest, a_sampler_name_may_end_in_a_schedule) {
  const Pixels wanted = generated({"--sampler", "dpmpp_2m", "--schedule", "karras", "--steps", "3"});
  for (const char* name : {"DPM++ 2M Karras", "dpmpp_2m_k", "k_dpmpp_2m_ka", "dpmpp_2m_karras"}) {
    EXPECT_EQ(generated({"--sampler", name, "--steps", "3"}), wanted) << name;
    EXPECT_EQ(generated({"--sampler", name, "--schedule", "automatic", "--steps", "3"}), wanted) << name;
  }
  const Json request = generate_json({"--sampler", "DPM++ 2M Karras"})["runs"][0]["request"];
  EXPECT_EQ(request["sampler"], "dpmpp_2m");
  EXPECT_EQ(request["schedule"], "karras");
  EXPECT_EQ(generate_json({"--sampler", "dpmpp_3m_k"})["runs"][0]["request"]["sampler_options"]["solver_order"], "3");
  const Ended twice = generate({"--sampler", "DPM++ 2M Karras", "--schedule", "simple"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find("sampler 'DPM++ 2M Karras' includes the schedule karras, but the schedule is 'simple'"), std::string::npos)
      << twice.err;
  const Ended sigmas = generate({"--sampler", "DPM++ 2M Karras", "--sigmas", "14,7,0"});
  EXPECT_NE(sigmas.err.find("sigmas and a schedule, expected one of them"), std::string::npos) << sigmas.err;
  const Ended misspelled = generate({"--sampler", "karras"});
  EXPECT_EQ(misspelled.code, 2);
  EXPECT_NE(misspelled.err.find("--sampler: 'karras' is unknown; hearth list samplers prints all names"), std::string::npos)
      << misspelled.err;
}

TEST_F(GenerateTest, the_image_stores_how_it_was_generated) {
  ASSERT_EQ(generate({"--prompt", "a red house, \"big\": 日本\nsecond line", "--negative-prompt", "blurry", "--sampler", "dpmpp_2m",
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
  const Json recipe = Json::parse(texts.at("hearth"));
  EXPECT_EQ(recipe["prompt"], p.prompt);
  EXPECT_EQ(recipe["hearth"], version());
  EXPECT_EQ(recipe["model"]["hashes"].size(), 3u);
  // Generated again from its metadata.
  EXPECT_EQ(generated({"--prompt", recipe["prompt"], "--negative-prompt", recipe["negative_prompt"], "--sampler", recipe["sampler"],
                       "--schedule", recipe["schedule"], "--cfg-scale", recipe["guidance"].dump(), "--seed", recipe["seed"].dump(),
                       "--steps", recipe["steps"].dump()}),
            png.image);
}

TEST_F(GenerateTest, without_a_seed_runs_differ_and_report_their_seed) {
  const Ended first = run({"generate", "-p", "x", "--steps", "1", "-W", "64", "-H", "64", "-o", "a.png", "--json"});
  const Ended second = run({"generate", "-p", "x", "--steps", "1", "-W", "64", "-H", "64", "-o", "b.png", "--json"});
  EXPECT_NE(image("a.png"), image("b.png"));
  const auto seed = Json::parse(second.out)["images"][0]["seed"].get<uint64_t>();
  EXPECT_NE(Json::parse(first.out)["images"][0]["seed"], seed);
  const Pixels b = image("b.png");
  EXPECT_EQ(generated({"--prompt", "x", "--steps", "1", "--seed", std::to_string(seed)}), b);
}

TEST_F(GenerateTest, noise_from_a_file_for_several_batches) {
  const Arguments batches = {"--batch-size", "2", "--batch-count", "2"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), batches.begin(), batches.end());
    ASSERT_EQ(generate(more).code, 0);
  };
  with({"--save-latents", "l.safetensors"});
  with({"--noise", "l.safetensors", "--seed", "99", "--output", "b.png"});
  for (int k = 1; k <= 4; ++k) EXPECT_EQ(image(fmt::format("b-{}.png", k)), image(fmt::format("a-{}.png", k))) << k;
}

TEST_F(GenerateTest, a_prompt_that_is_too_long_is_a_warning) {
  const Ended r = generate({"--prompt", std::string(10'000, 'x')});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("hearth: warning: "), std::string::npos) << r.err;
  EXPECT_EQ(generate_json({"--prompt", std::string(10'000, 'x'), "--batch-count", "2"})["warnings"].size(), 1u);  // once
}

TEST_F(GenerateTest, errors_are_one_line) {
  EXPECT_EQ(not_one_line(generate({"--model", "nowhere"}), 1), "");
  fs::create_directory(folder / "empty");
  EXPECT_EQ(not_one_line(generate({"--model", "empty"}), 1), "");
  EXPECT_EQ(not_one_line(generate({"--variant", "fp16"}), 1), "");
  EXPECT_EQ(not_one_line(generate({"--noise", "missing.safetensors"}), 1), "");
  cli::save_arrays(folder / "n.safetensors", {{"noise", {.shape = {1, 4, 8, 8}, .values = std::vector<float>(256)}}});
  const Ended batch = generate({"--noise", "n.safetensors", "--batch-size", "2"});
  EXPECT_EQ(not_one_line(batch, 2), "");
  EXPECT_EQ(batch.err, "hearth: --noise: n.safetensors has shape [1, 4, 8, 8], expected [2, channels, height/8, width/8]\n");
  EXPECT_EQ(generate({"--noise", "n.safetensors", "--width", "72"}).code, 2);
  cli::save_arrays(folder / "n.safetensors", {{"noise", {.shape = {1, 256}, .values = std::vector<float>(256)}}});
  EXPECT_EQ(generate({"--noise", "n.safetensors"}).err,
            "hearth: --noise: n.safetensors has shape [1, 256], expected [1, channels, height/8, width/8]\n");
  const Ended size = generate({"--width", "513"});  // never another size than the requested one
  EXPECT_EQ(size.code, 2);
  EXPECT_NE(size.err.find("513"), std::string::npos) << size.err;
  EXPECT_EQ(files(), (Arguments{"empty", "n.safetensors"}));
}

TEST_F(GenerateTest, tiling_flags_without_effect_are_rejected) {
  EXPECT_EQ(not_one_line(generate({"--vae-tile-size", "64"}), 2), "");
  EXPECT_EQ(not_one_line(generate({"--vae-tiling", "off", "--vae-tile-size", "64"}), 2), "");
  EXPECT_EQ(generate({"--vae-tiling", "on", "--vae-tile-size", "48"}).err,
            "hearth: generate: tile size is 48 pixels, expected a multiple of 32\n");
  EXPECT_EQ(generate({"--memory-limit", "3X"}).err,
            "hearth: --memory-limit: '3X' is not a size, expected a number of bytes or one with K, M, G or T\n");
  EXPECT_EQ(generate({"--gpu-memory", "3X"}).err,
            "hearth: --gpu-memory: '3X' is not a size, expected a number of bytes or one with K, M, G or T\n");
  EXPECT_EQ(generate({"--gpu-layers", "few"}).code, 2);
  EXPECT_EQ(generate({"--gpu-layers", "all"}).err,
            "hearth: open: --gpu-layers divides networks between a GPU and the CPU, but the device is cpu, expected a GPU, as in --device "
            "vulkan\n");
  const Ended r = generate({"--vae-tiling", "on", "--vae-tile-size", "32"});
  EXPECT_NE(r.err.find("hearth: warning: the VAE works in tiles of 32 pixels, so images differ slightly from an untiled decode\n"),
            std::string::npos)
      << r.err;
}

TEST_F(GenerateTest, an_unwritable_output_fails_before_loading) {
  for (const char* flag : {"--output", "--save-latents"}) {
    const std::string name = flag == std::string("--output") ? "x.png" : "x.safetensors";
    const Ended missing = generate({flag, "no/" + name});
    EXPECT_EQ(not_one_line(missing, 1), "") << flag;  // nothing was loaded
    EXPECT_EQ(missing.err, fmt::format("hearth: write no/{}: the folder no does not exist\n", name));
    fs::create_directory(folder / "closed");
    fs::permissions(folder / "closed", fs::perms(0555));
    fs::permissions(folder, fs::perms(0755));
    const auto as_nobody = [] {
      if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(97);  // nothing is read-only for root
    };
    const Ended closed = generate({flag, "closed/" + name}, as_nobody);
    EXPECT_EQ(not_one_line(closed, 1), "") << flag;
    EXPECT_NE(closed.err.find("Permission denied"), std::string::npos) << closed.err;
    fs::remove_all(folder / "closed");
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(GenerateTest, a_run_is_stopped_and_resumed) {
  const Arguments flags = {"--steps", "5", "--sampler", "DPM++ 2M SDE", "--sampler-opt", "eta=0.7"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), flags.begin(), flags.end());
    return more;
  };
  const Pixels whole = generated(with({}));
  const Ended stopped = generate(with({"--stop-after", "2", "--save-latents", "s.safetensors"}));
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_NE(image("a.png").rgb, whole.rgb);
  EXPECT_EQ(generated(with({"--resume", "s.safetensors"})).rgb, whole.rgb);
  EXPECT_NE(generate({"--steps", "5", "--sampler", "dpmpp_2m_sde", "--resume", "s.safetensors"}).err.find("this run has {\"eta\":1.0"),
            std::string::npos);
  EXPECT_NE(generate(with({"--stop-after", "2"})).err.find("--save-latents"), std::string::npos);
  EXPECT_NE(generate(with({"--resume", "s.safetensors", "--batch-count", "2"})).err.find("--batch-count"), std::string::npos);
  EXPECT_NE(generate(with({"--resume", "a.png"})).code, 0);
  generate({"--save-latents", "l.safetensors"});
  EXPECT_NE(generate(with({"--resume", "l.safetensors"})).err.find("contains no stopped run"), std::string::npos);
}

TEST_F(GenerateTest, sampler_options_are_checked_and_act) {
  const Json json = generate_json({"--sampler", "euler a", "--sampler-opt", "eta=0.5", "--sampler-opt", "s_noise=1.01"});
  EXPECT_EQ(json["runs"][0]["request"]["sampler"], "euler_ancestral");
  EXPECT_EQ(json["runs"][0]["request"]["sampler_options"], (Json{{"eta", "0.5"}, {"s_noise", "1.01"}}));
  std::string recipe_text;
  for (const PngText& text : read_png(folder / "a.png").texts)
    if (text.keyword == recipe_keyword) recipe_text = text.text;
  EXPECT_EQ(Json::parse(recipe_text)["sampler_options"], (Json{{"eta", "0.5"}, {"s_noise", "1.01"}}));
  const Ended wrong = generate({"--sampler", "euler a", "--sampler-opt", "order=2"});
  EXPECT_NE(wrong.err.find("sampler 'euler_ancestral': option 'order' is unknown, expected one of eta, s_noise"), std::string::npos)
      << wrong.err;
}

// Files written by PyTorch (golden/make_embeddings.py), with the same vectors as the safetensors file.
TEST_F(GenerateTest, embeddings_from_every_writer_give_the_same_image) {
  const std::string golden = HEARTH_SOURCE_DIR "/tests/cli/golden/";
  const Arguments prompt = {"--prompt", "a house, dusk"};
  const auto draw_with = [&](const std::string& embedding) {
    Arguments more = prompt;
    more.insert(more.end(), {"--embedding", embedding});
    return generated(more);
  };
  const Pixels right = draw_with("dusk=" + golden + "embedding.safetensors");
  EXPECT_NE(right, generated(prompt)) << "the embedding has no part";
  for (const char* file : {"embedding-a1111.pt", "embedding-legacy.pt", "embedding-diffusers.bin"})
    EXPECT_EQ(draw_with("dusk=" + golden + file), right) << file;
  // With diffusers' token.
  EXPECT_EQ(generated({"--prompt", "a house, <sunset>", "--embedding", golden + "embedding-diffusers.bin"}), right);

  const std::string whole = read_file(golden + "embedding-a1111.pt");
  write_file(folder / "cut.pt", whole.substr(0, whole.size() / 2));
  fs::remove(folder / "a.png");
  const Ended cut = generate({"--embedding", "dusk=cut.pt"});
  EXPECT_EQ(cut.code, 1);
  EXPECT_EQ(std::count(cut.err.begin(), cut.err.end(), '\n'), 1) << cut.err;
  EXPECT_NE(cut.err.find("cut.pt"), std::string::npos) << cut.err;
  EXPECT_FALSE(fs::exists(folder / "a.png"));
}

TEST_F(GenerateTest, a_full_disk_leaves_no_file) {
  const Ended r = generate({}, [] {
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
    ASSERT_TRUE(process.wait_for("encode ")) << process.err();  // printed when the first step starts
    process.send(signal);
    const Ended r = process.wait();
    EXPECT_EQ(r.code, 130) << r.signal;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err.substr(r.err.rfind('\n', r.err.size() - 2) + 1), "hearth: canceled\n") << r.err;
    EXPECT_TRUE(files().empty());
  }
}

TEST_F(GenerateTest, ctrl_c_keeps_finished_images) {
  Process process(folder, {"generate", "-p", "x", "--steps", "1", "-W", "64", "-H", "64", "--batch-count", "1000"});
  for (int i = 0; i < 2000 && !fs::exists(folder / "hearth-0002.png"); ++i) ::usleep(5000);
  process.send(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  ASSERT_GE(files().size(), 2u);
  for (const std::string& name : files()) EXPECT_EQ(read_png(folder / name).image.width, 64) << name;
}

// The process stays below every limit, as the system measures it, in leaner and leaner modes until none is left.
TEST_F(GenerateTest, the_memory_limit_is_kept_or_the_run_is_rejected) {
  HEARTH_SKIP_UNDER_ADDRESS_SANITIZER();
  const auto at = [&](const std::string& limit, const Arguments& more = {}) {
    Arguments flags = {"--width", "768", "--height", "640", "--json", "--threads", "2", "--memory-limit", limit};
    flags.insert(flags.end(), more.begin(), more.end());
    return generate(flags);
  };
  // Tiled VAE decode needs 46 MB less than a whole decode. The limits below are far from where one mode ends and the next
  // begins, because the resident size of the program varies.
  constexpr int64_t far = 20'000'000;
  std::vector<std::string> modes;
  std::vector<Pixels> images;
  std::string limit = "8GiB";
  for (int i = 0; i < 2; ++i) {
    const Ended r = at(limit);
    ASSERT_EQ(r.code, 0) << r.err;
    const Json memory = Json::parse(r.out)["runs"][0]["memory"];
    const int64_t predicted = memory["predicted"];
    modes.push_back(memory["mode"]);
    images.push_back(image("a.png"));
    if (std::getenv("HEARTH_PRINT_ERRORS")) fmt::print("{}: predicted {}, took {}\n", modes.back(), predicted, r.peak_bytes);
    EXPECT_NE(r.err.find(fmt::format("hearth: memory: {:.2f} GB planned, {}\n", double(predicted) * 1e-9, modes.back())), std::string::npos)
        << r.err;
    EXPECT_LE(r.peak_bytes, predicted) << modes.back();
    EXPECT_GE(r.peak_bytes, predicted * 6 / 10) << modes.back();
    limit = std::to_string(predicted - far);
  }
  EXPECT_NE(images[1], images[0]);
  EXPECT_EQ(modes[0], "networks are released when their work is done");
  EXPECT_EQ(modes[1], "each network is loaded only while it works, VAE in tiles of 128 pixels");

  const Ended refused = at(limit);
  EXPECT_EQ(not_one_line(refused, 2), "");
  std::smatch sizes;  // printed with enough digits to differ
  ASSERT_TRUE(std::regex_search(refused.err, sizes, std::regex("1 of 768×640 need at least (0\\.\\d+) GB .*limit of (0\\.\\d+) GB")))
      << refused.err;
  EXPECT_GT(std::stod(sizes[1]), std::stod(sizes[2])) << refused.err;
  EXPECT_EQ(refused.err.find("load"), refused.err.find("loaded only while")) << refused.err;  // before anything is loaded
  EXPECT_EQ(at(limit, {"--vae-tiling", "off"}).code, 2);
}

}  // namespace
}  // namespace hearth::test
