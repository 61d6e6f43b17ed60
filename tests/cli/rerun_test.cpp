// hearth rerun: the metadata of an image as a command.
#include <gtest/gtest.h>

#include <array>

#include "cli/generate_test.h"
#include "hearth/error.h"
#include "hearth/image.h"
#include "hearth/rerun.h"

namespace hearth::test {
namespace {

const std::string demo = HEARTH_SOURCE_DIR "/assets/demo-model";

class RerunTest : public GenerateTest {
 protected:
  // An image generated with these flags is reproduced from its file alone.
  void expect_again(const Arguments& more, const Arguments& given = {}) const {
    const Ended first = generate(more);
    ASSERT_EQ(first.code, 0) << first.err;
    Arguments arguments = {"rerun", "a.png", "--output", "again.png"};
    arguments.insert(arguments.end(), given.begin(), given.end());
    const Ended second = run(arguments);
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(image("again.png"), image("a.png")) << run({"rerun", "a.png", "--print-command"}).out;
  }
  void write_parameters_image(const std::string& name, const std::string& parameters) const {
    Image{.width = 1, .height = 1, .rgb = {1, 2, 3}, .parameters = parameters}.save(folder / name);
  }
};

TEST_F(RerunTest, own_images_are_reproduced_to_the_pixel) {
  expect_again({});
  expect_again({"--prompt",           "it's (a:1.3) \"red\" house, 日本 --steps",
                "--prompt-syntax",    "a1111",
                "--emphasis",         "no-norm",
                "--negative-prompt",  "-night",
                "--clip-skip",        "2",
                "--sampler",          "euler_ancestral",
                "--sampler-opt",      "eta=0.7",
                "--schedule",         "karras",
                "--schedule-opt",     "rho=5",
                "--cfg-scale",        "4.25",
                "--guidance-rescale", "0.3"});
  expect_again({"--compat", "a1111", "--sampler", "euler a", "--ensd", "31337"});
  const std::string xl = HEARTH_SOURCE_DIR "/tests/e2e/golden/xl";
  expect_again({"--model", xl, "--clip-skip", "3", "--clip-skip-2", "1"}, {"--model", xl});
  const std::string sd35 = HEARTH_SOURCE_DIR "/tests/e2e/golden/sd35";
  expect_again({"--model", sd35, "--no-t5", "--prompt-2", "a boat", "--negative-prompt-2", "rain"}, {"--model", sd35});
  expect_again({"--model", sd35, "--prompt-3", "a boat", "--negative-prompt-3", "rain", "--max-sequence-length", "20", "--guidance-method",
                "slg", "--guidance-opt", "layers=1,2", "--guidance-opt", "stop=0.9"},
               {"--model", sd35});
  expect_again({"--compat", "comfyui", "--sampler", "dpmpp_2m", "--batch-index", "3"});
  expect_again({"--compat", "a1111", "--sampler", "dpm fast", "--rng", "cpu", "--discard-penultimate"});
  expect_again({"--sampler", "euler", "--schedule", "karras", "--rng", "nv"});
  expect_again({"--sampler", "euler", "--steps", "2", "--sigmas", "10,3,0"});
  expect_again({"--guidance-method", "apg", "--guidance-opt", "eta=0.5", "--guidance-interval", "0.1,9"});
  expect_again({"--variation-seed", "5", "--variation-strength", "0.25"});
  expect_again({"--hires", "1.5", "--hires-upscaler", "lanczos", "--hires-steps", "3", "--hires-strength", "0.55"});
  expect_again({"--vae-tiling", "on", "--vae-tile-size", "32"});
  expect_again({"--unet-precision", "f32", "--vae-precision", "bf16"});
  fs::copy_file(folder / "a.png", folder / "start.png");
  Image mask{.width = 64, .height = 64, .rgb = std::vector<uint8_t>(64 * 64 * 3)};
  std::fill(mask.rgb.begin(), mask.rgb.begin() + 64 * 64, uint8_t(255));
  mask.save(folder / "mask.png");
  expect_again({"--init-image", "start.png", "--strength", "0.6", "--seed", "9"});
  expect_again({"--init-image", "start.png", "--mask", "mask.png", "--mask-blur", "2.5", "--mask-invert", "--only-masked", "--mask-padding",
                "5", "--inpaint-fill", "noise", "--seed", "9"});
  expect_again({"--init-image", "start.png", "--outpaint", "8,0,0,16", "--width", "72", "--height", "80"});
  expect_again({"--init-image", "start.png", "--strength", "0.5", "--steps", "4", "--hires", "1.5", "--hires-steps", "2", "--seed", "9"});
}

// Samplers for which a program computes one more noise level and drops one.
TEST_F(RerunTest, samplers_that_drop_a_noise_level_are_reproduced) {
  fs::path start = folder / "start.png";
  for (const char* compat : {"comfyui", "a1111"})
    for (const char* sampler : {"dpm_2", "dpm_2_ancestral", "dpmpp_3m_sde"})
      expect_again({"--compat", compat, "--sampler", sampler, "--steps", "3"});
  expect_again({"--compat", "comfyui", "--sampler", "uni_pc", "--schedule", "karras", "--steps", "3"});
  fs::copy_file(folder / "a.png", start);
  for (const char* compat : {"comfyui", "a1111"})
    for (const char* sampler : {"dpm_2", "dpm_2_ancestral"})
      expect_again(
          {"--init-image", "start.png", "--strength", "0.6", "--compat", compat, "--sampler", sampler, "--steps", "4", "--seed", "9"});
}

TEST_F(RerunTest, the_second_image_of_a_batch_is_reproduced_alone) {
  ASSERT_EQ(generate({"--batch-size", "2", "--sampler", "euler_ancestral"}).code, 0);
  ASSERT_EQ(run({"rerun", "a-2.png", "--output", "again.png"}).code, 0);
  EXPECT_EQ(image("again.png"), image("a-2.png"));
}

TEST_F(RerunTest, flags_override_the_parameters_of_the_image) {
  ASSERT_EQ(generate({}).code, 0);
  ASSERT_EQ(run({"rerun", "a.png", "--seed", "8", "-W", "72", "-o", "other.png"}).code, 0);
  EXPECT_EQ(image("other.png"), generated({"--seed", "8", "--width", "72"}));
  EXPECT_EQ(run({"rerun", "a.png", "--print-command", "--seed=8"}).out.find("--seed 7"), std::string::npos);
}

TEST_F(RerunTest, a1111_parameters_become_a_command_and_warnings) {
  write_parameters_image(
      "a.png",
      "a (red:1.2) house <lora:hills:0.7>\nNegative prompt: night\nSteps: 21, Sampler: DPM++ 2M Karras, CFG scale: 6.5, Seed: 42, "
      "Size: 512x768, Model hash: 0123456789, Model: \"house, v2\", Clip skip: 2, Variation seed: 3, Variation seed strength: 0.1, "
      "Denoising strength: 0.55, Hires upscale: 2, Hires steps: 9, Hires upscaler: Latent (bicubic antialiased), RNG: NV, "
      "Face restoration: CodeFormer, Version: v1.6.0");
  const Ended r = run({"rerun", "a.png", "--print-command"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            "hearth generate --prompt 'a (red:1.2) house <lora:hills:0.7>' --negative-prompt night --steps 21 --sampler dpmpp_2m "
            "--schedule karras "
            "--cfg-scale 6.5 --seed 42 --width 512 --height 768 --clip-skip 2 --variation-seed 3 --variation-strength 0.1 --hires 2 "
            "--hires-steps 9 "
            "--hires-upscaler latent-bicubic-antialiased --hires-strength 0.55 --compat a1111\n");
  EXPECT_NE(r.err.find("not reproduced: the folder of the prompt's <lora:…>"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("not reproduced: Face restoration: CodeFormer"), std::string::npos) << r.err;
  const Ended without = run({"rerun", "a.png"});
  EXPECT_EQ(without.code, 2);
  EXPECT_NE(without.err.find("was generated with the model 'house, v2', expected --model PATH"), std::string::npos) << without.err;
  write_parameters_image(
      "b.png", "x\nSteps: 3, Sampler: Euler a, Schedule type: Automatic, Seed: 1, Size: 64x64, Mask blur: 4, Denoising strength: 0.5");
  const Ended inpainted = run({"rerun", "b.png", "--print-command"});
  EXPECT_NE(inpainted.out.find("--schedule automatic"), std::string::npos) << inpainted.out;
  for (const char* what : {"add --init-image FILE", "add --mask FILE", "RNG: GPU"})
    EXPECT_NE(inpainted.err.find(what), std::string::npos) << what;
  EXPECT_EQ(run({"rerun", "b.png", "--model", demo, "-i", "b.png", "--mask", "b.png"}).code, 0);
  write_parameters_image("c.png", "x\nSteps: 3, Sampler: Euler, Seed: 1, RNG: CPU, Discard penultimate sigma: True, Version: v1.10.1");
  EXPECT_EQ(run({"rerun", "c.png", "--print-command"}).out,
            "hearth generate --prompt x --steps 3 --sampler euler --seed 1 --compat a1111 --rng cpu --discard-penultimate\n");
}

// Sampler names that include the schedule, as in A1111 1.8.
TEST_F(RerunTest, a1111_sampler_names_may_include_the_schedule) {
  const std::array<const char*, 3> rows[] = {{"DPM++ 2M Karras", "dpmpp_2m", " --schedule karras"},
                                             {"DPM++ 2M SDE Exponential", "dpmpp_2m_sde", " --schedule exponential"},
                                             {"DPM++ 2M SDE Heun Karras", "dpmpp_2m_sde_heun", " --schedule karras"},
                                             {"DPM2 a Karras", "dpm_2_ancestral", " --schedule karras"},
                                             {"Euler A SGMUniform", "euler_ancestral", " --schedule sgm_uniform"},
                                             {"DPM++ 2M", "dpmpp_2m", " --schedule normal"},
                                             {"DPM++ SDE", "dpmpp_sde", " --schedule normal"},
                                             {"Restart", "restart", ""},
                                             {"Euler a", "euler_ancestral", ""},
                                             {"DDIM", "ddim", ""},
                                             {"dpmpp_3m_k", "dpm_solver_multistep --sampler-opt solver_order=3", " --schedule karras"}};
  for (const auto& [label, sampler, schedule] : rows) {
    write_parameters_image("a.png", std::string("x\nSteps: 3, Sampler: ") + label + ", Seed: 1, Size: 64x64, Version: v1.8.0");
    EXPECT_EQ(run({"rerun", "a.png", "--print-command"}).out, std::string("hearth generate --prompt x --steps 3 --sampler ") + sampler +
                                                                  schedule + " --seed 1 --width 64 --height 64 --compat a1111\n")
        << label;
  }
  write_parameters_image("b.png", "x\nSteps: 3, Sampler: DPM++ 2M, Schedule type: SGM Uniform, Seed: 1, Version: v1.10.1");
  EXPECT_NE(run({"rerun", "b.png", "--print-command"}).out.find("--sampler dpmpp_2m --schedule sgm_uniform --seed"), std::string::npos);
  write_parameters_image("c.png", "x\nSteps: 3, Sampler: DPM++ 2M Magic, Schedule type: Magic, Seed: 1");
  const Ended unknown = run({"rerun", "c.png", "--print-command"});
  EXPECT_EQ(unknown.out, "hearth generate --prompt x --steps 3 --seed 1 --compat a1111\n");
  for (const char* what : {"Sampler: DPM++ 2M Magic, which", "Schedule type: Magic, which"})
    EXPECT_NE(unknown.err.find(what), std::string::npos) << unknown.err;
}

TEST_F(RerunTest, a_comfyui_graph_becomes_a_command) {
  const std::string graph =
      R"({"3": {"class_type": "KSampler", "inputs": {"seed": 12, "steps": 4, "cfg": 7.5, "sampler_name": "euler_ancestral",
    "scheduler": "karras", "denoise": 1.0, "model": ["10", 0], "positive": ["6", 0], "negative": ["7", 0], "latent_image": ["5", 0]}},
    "4": {"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "house.safetensors"}},
    "5": {"class_type": "EmptyLatentImage", "inputs": {"width": 96, "height": 64, "batch_size": 1}},
    "6": {"class_type": "CLIPTextEncode", "inputs": {"text": ["12", 0], "clip": ["11", 0]}},
    "7": {"class_type": "CLIPTextEncode", "inputs": {"text": "night", "clip": ["11", 0]}},
    "8": {"class_type": "VAEDecode", "inputs": {}}, "9": {"class_type": "SaveImage", "inputs": {}},
    "10": {"class_type": "LoraLoader", "inputs": {"lora_name": "hills", "model": ["4", 0]}},
    "11": {"class_type": "CLIPSetLastLayer", "inputs": {"stop_at_clip_layer": -2, "clip": ["4", 1]}},
    "12": {"class_type": "PrimitiveString", "inputs": {"value": "a red house"}}})";
  write_file(folder / "a.png", encode_png(Pixels{.width = 1, .height = 1, .rgb = {1, 2, 3}}, std::vector<PngText>{{"prompt", graph}}));
  const Ended r = run({"rerun", "a.png", "--print-command"});
  EXPECT_EQ(r.out,
            "hearth generate --prompt 'a red house' --clip-skip 2 --negative-prompt night --seed 12 --steps 4 --cfg-scale 7.5 --sampler "
            "euler_ancestral --schedule karras --compat comfyui --width 96 --height 64\n");
  EXPECT_EQ(r.err, "hearth: warning: not reproduced: node 10: LoraLoader\n");
  ASSERT_EQ(run({"rerun", "a.png", "--model", demo, "-o", "b.png"}).code, 0);
  EXPECT_EQ(image("b.png").width, 96);
}

TEST_F(RerunTest, errors_are_one_line) {
  const auto refused = [&](const Arguments& arguments, int code, const char* says) {
    const Ended r = run(arguments);
    EXPECT_EQ(r.code, code) << r.err;
    EXPECT_NE(r.err.find(says), std::string::npos) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  };
  refused({"rerun", "--print-command"}, 2, "the image is missing");
  refused({"rerun", "none.png"}, 1, "none.png");
  write_file(folder / "words.png", "no image");
  refused({"rerun", "words.png"}, 1, "is not an image");
  Image{.width = 1, .height = 1, .rgb = {1, 2, 3}}.save(folder / "mute.png");
  refused({"rerun", "mute.png"}, 2, "has no generation metadata");
  Image{.width = 1, .height = 1, .rgb = {1, 2, 3}, .json = "{}"}.save(folder / "other.png");
  refused({"rerun", "other.png"}, 1, "recipe: ");
  write_file(folder / "graph.png",
             encode_png(Pixels{.width = 1, .height = 1, .rgb = {1, 2, 3}}, std::vector<PngText>{{"prompt", "{\"1\": 5}"}}));
  refused({"rerun", "graph.png"}, 2, "has no KSampler");
  ASSERT_EQ(generate({}).code, 0);
  fs::copy_file(folder / "a.png", folder / "start.png");
  ASSERT_EQ(generate({"--init-image", "start.png", "--output", "b.png"}).code, 0);
  Image{.width = 64, .height = 64, .rgb = std::vector<uint8_t>(64 * 64 * 3)}.save(folder / "start.png");
  refused({"rerun", "b.png"}, 2, "--init-image start.png: the image has changed since");
  EXPECT_EQ(run({"rerun", "--help"}).code, 0);
}

// Files that are not images, or far too large, wherever a run takes an image.
TEST_F(RerunTest, unusable_input_images_are_rejected) {
  write_file(folder / "words.png", "no image");
  write_file(folder / "moving.gif", std::string("GIF89a\xff\xff\xff\xff\0\0\0", 13));
  fs::copy_file(HEARTH_SOURCE_DIR "/src/media/golden/pillow/bad_sides.jpg", folder / "large.png");
  Image{.width = 64, .height = 64, .rgb = std::vector<uint8_t>(64 * 64 * 3)}.save(folder / "start.png");
  Image{.width = 32, .height = 64, .rgb = std::vector<uint8_t>(32 * 64 * 3)}.save(folder / "mask.png");
  const auto refused = [&](const Arguments& more, int code, const char* says) {
    const Ended r = generate(more);
    EXPECT_EQ(r.code, code) << r.err;
    EXPECT_NE(r.err.find(says), std::string::npos) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_FALSE(fs::exists(folder / "a.png"));
  };
  for (const char* flag : {"--init-image", "--mask"}) {
    refused({flag, "none.png"}, 1, "none.png");
    refused({flag, "words.png"}, 1, "is not an image");
    refused({flag, "moving.gif"}, 1, "is a GIF file");
    refused({flag, "large.png"}, 1, "is 30000 × 30000, at most");
  }
  refused({"--mask", "start.png"}, 2, "a mask without an image");
  refused({"--init-image", "start.png", "--mask", "mask.png"}, 2, "the mask is 32×64, the image 64×64");
  refused({"--init-image", "start.png", "--strength", "1.01"}, 2, "--strength");
  refused({"--init-image", "start.png", "--strength", "0.1"}, 2, "0.1 of 2 steps is less than one step");
  refused({"--init-image", "start.png", "--outpaint", "1,2,3"}, 2, "expected four");
  refused({"--init-image", "start.png", "--outpaint", "8,0,0,0", "--hires", "2"}, 1, "a second pass cannot be combined with a mask");
  refused({"--hires", "2", "--hires-upscaler", "magic"}, 2, "upscaler 'magic' is unknown");
  refused({"--preview", "nowhere/a.png"}, 1, "nowhere");
}

// Metadata of other programs may contain anything: it becomes a command or an error of one line.
TEST_F(RerunTest, damaged_metadata_is_a_command_or_a_one_line_error) {
  const std::string graph =
      R"({"3": {"class_type": "KSampler", "inputs": {"seed": 12, "steps": 4, "cfg": 7.5, "sampler_name": "euler", "scheduler": "karras",
    "denoise": 0.5, "positive": ["6", 0], "negative": ["6", 0], "latent_image": ["5", 0]}}, "5": {"class_type": "VAEEncode", "inputs": {"pixels": ["7", 0]}},
    "6": {"class_type": "CLIPTextEncode", "inputs": {"text": "x", "clip": ["6", 0]}}, "7": {"class_type": "LoadImage", "inputs": {"image": "a.png"}}})";
  const std::string words =
      "a\nNegative prompt: b\nSteps: 2, Sampler: Euler a Karras, Seed: 1, Size: 8x8, Mask blur: 4, Hires upscaler: Latent";
  unsigned seed = 7;
  const auto next = [&seed] { return seed = seed * 1664525u + 1013904223u, seed >> 8; };
  for (int i = 0; i < 200; ++i) {
    std::string text = i % 2 ? graph : words;
    for (unsigned n = 1 + next() % 4; n > 0; --n) {
      const size_t at = next() % text.size();
      if (next() % 3 == 0) text.erase(at, 1 + next() % 9);
      else if (next() % 2) text[at] = "\"{}[],:0x-"[next() % 10];
      else text.insert(at, text.substr(next() % text.size(), next() % 20));
      if (text.empty()) text.push_back('x');
    }
    const std::vector<PngText> texts = {{i % 2 ? "prompt" : "parameters", text}};
    write_file(folder / "a.png", encode_png(Pixels{.width = 1, .height = 1, .rgb = {1, 2, 3}}, texts));
    try {
      const Rerun made = rerun_of(folder / "a.png");
      EXPECT_FALSE(made.arguments.empty()) << text;
    } catch (const Error& e) { EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what(); }
  }
}

}  // namespace
}  // namespace hearth::test
