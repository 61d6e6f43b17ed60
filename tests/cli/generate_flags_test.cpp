// Every flag of `hearth generate` changes what it says.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/generate_test.h"
#include "core/files/file.h"
#include "hearth/hearth.h"
#include "media/formats/image_file.h"

namespace hearth::test {
namespace {

const std::string demo = std::string(HEARTH_SOURCE_DIR) + "/assets/demo-model";

TEST_F(GenerateTest, every_flag_has_an_effect) {
  const Pixels plain = generated({"--save-latents", "plain.safetensors"});
  const auto changes_the_image = [&](const Arguments& more) { return generated(more) != plain; };
  std::map<std::string, std::function<bool()>> effects;
  effects["--prompt"] = [&] { return changes_the_image({"--prompt", "a boat at sea"}); };
  effects["--negative-prompt"] = [&] { return changes_the_image({"--negative-prompt", "night"}); };
  const auto weighted = [&](Arguments more) {
    more.insert(more.end(), {"--prompt", "a (red:1.4) house"});
    if (std::find(more.begin(), more.end(), "--prompt-syntax") == more.end()) more.insert(more.end(), {"--prompt-syntax", "a1111"});
    return generated(more);
  };
  const std::string tiny = HEARTH_SOURCE_DIR "/tests/e2e/golden/prompts-tiny.safetensors";
  effects["--prompt-syntax"] = [&] { return weighted({"--prompt-syntax", "plain"}) != weighted({}); };
  effects["--emphasis"] = [&] { return weighted({"--emphasis", "no-norm"}) != weighted({}); };
  effects["--clip-skip"] = [&] { return changes_the_image({"--clip-skip", "2"}) && generate({"--clip-skip", "99"}).code == 2; };
  effects["--embedding"] = [&] {  // its width differs from the demo model's
    return generate({"--embedding", tiny}).code == 1 && generate({"--embedding", "x=" + tiny}).code == 1 &&
           generate({"--embedding", "=" + tiny}).code == 2;
  };
  effects["--steps"] = [&] { return changes_the_image({"--steps", "3"}); };
  effects["--cfg-scale"] = [&] { return changes_the_image({"--cfg-scale", "3"}); };
  effects["--guidance-method"] = [&] { return changes_the_image({"--guidance-method", "pag"}); };
  effects["--guidance-opt"] = [&] {
    const Pixels pag = generated({"--guidance-method", "pag"});
    return generated({"--guidance-method", "pag", "--guidance-opt", "pag_scale=1"}) != pag &&
           generated({"--guidance-method", "pag", "--guidance-opt", "pag_scale=0"}) == plain;
  };
  effects["--guidance-rescale"] = [&] { return changes_the_image({"--guidance-rescale", "0.7"}); };
  effects["--guidance-interval"] = [&] {
    return changes_the_image({"--guidance-interval", "0.1,3"}) &&
           generated({"--guidance-interval", "0,0"}) == generated({"--cfg-scale", "1"});
  };
  effects["--sampler"] = [&] { return changes_the_image({"--sampler", "euler"}); };
  effects["--sampler-opt"] = [&] {
    return generated({"--sampler", "euler a", "--sampler-opt", "eta=0"}) != generated({"--sampler", "euler a"});
  };
  effects["--stop-after"] = [&] { return changes_the_image({"--stop-after", "1", "--save-latents", "state.safetensors"}); };
  effects["--resume"] = [&] {
    generate({"--stop-after", "1", "--save-latents", "state.safetensors"});
    return generated({"--resume", "state.safetensors"}) == plain;
  };
  effects["--schedule"] = [&] {  // with two steps both schedules are the first and the last sigma
    return generated({"--sampler", "euler", "--steps", "4"}) != generated({"--sampler", "euler", "--steps", "4", "--schedule", "karras"});
  };
  effects["--schedule-opt"] = [&] {
    const Arguments karras = {"--sampler", "euler", "--steps", "4", "--schedule", "karras", "--schedule-opt"};
    Arguments flat = karras, bent = karras;
    flat.push_back("rho=1"), bent.push_back("rho=7");
    return generated(flat) != generated(bent);
  };
  effects["--sigmas"] = [&] {
    return generated({"--sampler", "euler", "--steps", "2", "--sigmas", "10,3,0"}) != generated({"--sampler", "euler", "--steps", "2"}) &&
           generate({"--steps", "2", "--sigmas", "10,3,1,0"}).code == 2 && generate({"--steps", "2", "--sigmas", "3,10,0"}).code == 2;
  };
  effects["--seed"] = [&] { return changes_the_image({"--seed", "8"}); };
  const Json report = Json::parse(run({"generate", "--prompt", "x", "--steps", "1", "--json"}).out)["runs"][0];
  const std::string other = report["device"] == "cpu amx" ? "f32" : "bf16";  // not what "auto" chooses
  for (const std::string flag : {"--precision", "--unet-precision", "--vae-precision", "--text-encoder-precision"})
    effects[flag] = [&, flag] { return changes_the_image({flag, other}); };
  effects["--width"] = [&] { return generated({"--width", "72"}).width == 72; };
  effects["--height"] = [&] { return generated({"--height", "80"}).height == 80; };
  effects["--output"] = [&] { return generate({"--output", "other.png"}).code == 0 && image("other.png") == plain; };
  const Pixels next = generated({"--seed", "8"});
  effects["--quality"] = [&] {
    const auto size = [&](const Arguments& more) { return generate(more).code == 0 ? fs::file_size(folder / more[1]) : 0; };
    const bool jpeg = size({"--output", "q.jpg", "--quality", "20"}) < size({"--output", "q.jpg"});
    const bool webp = size({"--output", "q.webp", "--quality", "20"}) < size({"--output", "q.webp"});
    return jpeg && webp && generate({"--output", "q.webp", "--quality", "lossless"}).code == 0 &&
           Image::load(folder / "q.webp").rgb == plain.rgb && generate({"--quality", "90"}).code == 2 &&
           generate({"--output", "q.jpg", "--quality", "lossless"}).code == 2;
  };
  effects["--chroma-subsampling"] = [&] {
    return generate({"--output", "h.jpg", "--chroma-subsampling", "4:2:0"}).code == 0 &&
           generate({"--output", "f.jpg", "--chroma-subsampling", "4:4:4"}).code == 0 &&
           read_image(folder / "h.jpg").kind == "baseline, YCbCr 4:2:0" && read_image(folder / "f.jpg").kind == "baseline, YCbCr 4:4:4" &&
           generate({"--chroma-subsampling", "4:4:4"}).code == 2;
  };
  effects["--png-bits"] = [&] {
    if (generate({"--png-bits", "16", "--output", "deep.png"}).code != 0 || generate({"--png-bits", "8", "--output", "e.png"}).code != 0)
      return false;
    const Png deep = read_png(folder / "deep.png");
    for (size_t i = 0; i < plain.rgb.size(); ++i)  // the same image to within half a step of 8 bits
      if (std::abs(deep.deep.rgb.at(i) - 257 * plain.rgb[i]) > 129) return false;
    return deep.kind == "16 bits, RGB" && image("e.png") == plain && generate({"--png-bits", "12"}).code == 2 &&
           generate({"--png-bits", "16", "--output", "x.jpg"}).code == 2;
  };
  effects["--batch-size"] = [&] {
    return generate({"--batch-size", "2", "--output", "b.png"}).code == 0 && image("b-1.png") == plain && image("b-2.png") == next;
  };
  effects["--batch-count"] = [&] {
    return generate({"--batch-count", "2", "--output", "c.png"}).code == 0 && image("c-1.png") == plain && image("c-2.png") == next;
  };
  effects["--compat"] = [&] {  // the second image's noise comes from the first's generator
    return generate({"--batch-size", "2", "--compat", "diffusers", "--output", "d.png"}).code == 0 && image("d-1.png") == plain &&
           image("d-2.png") != next;
  };
  effects["--rng"] = [&] {
    return generated({"--rng", "cpu"}) == plain && changes_the_image({"--rng", "nv"}) &&
           generated({"--compat", "a1111", "--sampler", "euler", "--rng", "cpu"}) !=
               generated({"--compat", "a1111", "--sampler", "euler"}) &&
           generate({"--compat", "diffusers", "--rng", "nv"}).code == 2;
  };
  effects["--discard-penultimate"] = [&] {  // 10, 5.7 and 0 instead of 10, 0.1 and 0
    const Arguments two{"--sampler", "euler", "--steps", "2", "--schedule", "karras"};
    Arguments discarding = two;
    discarding.push_back("--discard-penultimate");
    return generated(discarding) != generated(two) && generate({"--sigmas", "10,3,0", "--discard-penultimate"}).code == 2 &&
           generate({"--compat", "comfyui", "--sampler", "euler", "--discard-penultimate"}).code == 2 &&
           generate({"--sampler", "plms", "--discard-penultimate"}).code != 0;
  };
  effects["--ensd"] = [&] {
    const Arguments ancestral{"--compat", "a1111", "--sampler", "euler_ancestral"};
    Arguments shifted = ancestral;
    shifted.insert(shifted.end(), {"--ensd", "31337"});
    return generated(shifted) != generated(ancestral) && generate({"--ensd", "1"}).code == 2;
  };
  effects["--batch-index"] = [&] {  // the second image of ComfyUI's batch, alone
    return generate({"--batch-size", "2", "--compat", "comfyui", "--sampler", "euler", "--output", "e.png"}).code == 0 &&
           generated({"--compat", "comfyui", "--sampler", "euler", "--batch-index", "1"}) == image("e-2.png") &&
           generate({"--batch-index", "1"}).code == 2;
  };
  generate({"--output", "start.png"});
  Image half{.width = 64, .height = 64, .rgb = std::vector<uint8_t>(64 * 64 * 3), .alpha = std::vector<uint8_t>(64 * 64, 255)};
  std::fill(half.rgb.begin(), half.rgb.begin() + 64 * 20 * 3, uint8_t(255));
  half.save(folder / "half.png");
  std::fill(half.alpha.begin(), half.alpha.begin() + 64 * 20, uint8_t(0));
  half.save(folder / "clear.png");
  Image spot{.width = 64, .height = 64, .rgb = std::vector<uint8_t>(64 * 64 * 3)};
  for (int64_t row = 30; row < 42; ++row) std::fill_n(spot.rgb.begin() + (row * 64 + 20) * 3, 12 * 3, uint8_t(255));
  spot.save(folder / "spot.png");
  const auto from = [&](Arguments more) {
    more.insert(more.begin(), {"--init-image", "start.png", "--steps", "4", "--seed", "8"});
    return generated(more);
  };
  const auto inpainted = [&](Arguments more) {
    more.insert(more.end(), {"--mask", "half.png"});
    return from(more);
  };
  effects["--init-image"] = [&] {
    return from({}) != generated({"--steps", "4", "--seed", "8"}) && generate({"--init-image", "no.png"}).code == 1;
  };
  effects["--strength"] = [&] { return from({"--strength", "0.3"}) != from({}) && generate({"--strength", "0.5"}).code == 2; };
  effects["--resize-mode"] = [&] {
    const Pixels stretched = from({"--width", "96"});
    return from({"--width", "96", "--resize-mode", "crop"}) != stretched && from({"--width", "96", "--resize-mode", "fill"}) != stretched;
  };
  effects["--mask"] = [&] {
    const Pixels kept = inpainted({});
    return std::equal(kept.rgb.begin() + 64 * 20 * 3, kept.rgb.end(), plain.rgb.begin() + 64 * 20 * 3) &&
           !std::equal(kept.rgb.begin(), kept.rgb.begin() + 64 * 20 * 3, plain.rgb.begin()) && generate({"--mask", "half.png"}).code == 2;
  };
  effects["--mask-from-alpha"] = [&] {
    return generated({"--init-image", "clear.png", "--mask-from-alpha"}) ==
               generated({"--init-image", "clear.png", "--mask", "half.png"}) &&
           generate({"--init-image", "start.png", "--mask-from-alpha"}).code == 2;
  };
  effects["--mask-invert"] = [&] {
    const Pixels kept = inpainted({"--mask-invert"});
    return std::equal(kept.rgb.begin(), kept.rgb.begin() + 64 * 20 * 3, plain.rgb.begin()) && kept != plain;
  };
  effects["--mask-blur"] = [&] { return inpainted({"--mask-blur", "3"}) != inpainted({}); };
  effects["--inpaint-fill"] = [&] {
    return inpainted({"--strength", "0.5", "--inpaint-fill", "nothing"}) != inpainted({"--strength", "0.5"}) &&
           inpainted({"--strength", "0.5", "--inpaint-fill", "original"}) == inpainted({"--strength", "0.5"});
  };
  effects["--only-masked"] = [&] {
    return from({"--mask", "spot.png", "--only-masked", "--mask-padding", "2"}) != from({"--mask", "spot.png"});
  };
  effects["--mask-padding"] = [&] {
    const Pixels far = from({"--mask", "spot.png", "--only-masked"});
    return from({"--mask", "spot.png", "--only-masked", "--mask-padding", "2"}) != far;
  };
  effects["--outpaint"] = [&] {
    const Pixels large = [&] {
      const Ended r =
          run({"generate", "--prompt", "x", "--steps", "2", "--init-image", "start.png", "--outpaint", "0,8,16,0", "--output", "o.png"});
      EXPECT_EQ(r.code, 0) << r.err;
      return image("o.png");
    }();
    return large.width == 80 && large.height == 72 &&
           std::equal(plain.rgb.begin(), plain.rgb.begin() + 64 * 3, large.rgb.begin() + 8 * 80 * 3) &&
           generate({"--init-image", "start.png", "--outpaint", "1,2"}).code == 2;
  };
  effects["--image-guidance"] = [&] {  // for InstructPix2Pix models: tests/e2e/editing_test.cpp
    return generate({"--init-image", "start.png", "--image-guidance", "2"})
                   .err.find("image guidance is supported only by instruction editing models") != std::string::npos &&
           generate({"--image-guidance", "much"}).code == 2;
  };
  effects["--depth-map"] = [&] {  // for depth-to-image models: tests/e2e/editing_xl_test.cpp
    return generate({"--depth-map", "start.png"}).err.find("this model does not support a depth map") != std::string::npos &&
           generate({"--depth-map", "no.png"}).code == 1;
  };
  effects["--hires"] = [&] { return generated({"--hires", "1.5"}).width == 96 && generate({"--hires", "0"}).code == 2; };
  effects["--hires-upscaler"] = [&] {
    return generated({"--hires", "1.5", "--hires-upscaler", "lanczos"}) != generated({"--hires", "1.5"}) &&
           generate({"--hires-upscaler", "lanczos"}).code == 2;
  };
  effects["--hires-steps"] = [&] { return generated({"--hires", "1.5", "--hires-steps", "3"}) != generated({"--hires", "1.5"}); };
  effects["--hires-strength"] = [&] { return generated({"--hires", "1.5", "--hires-strength", "0.4"}) != generated({"--hires", "1.5"}); };
  effects["--variation-seed"] = [&] {
    const Arguments one = {"--variation-strength", "0.3", "--variation-seed", "1"},
                    two = {"--variation-strength", "0.3", "--variation-seed", "2"};
    return generated(one) != generated(two) && generate({"--variation-seed", "1"}).code == 2;
  };
  effects["--variation-strength"] = [&] {
    return generated({"--variation-strength", "0.2", "--variation-seed", "1"}) !=
           generated({"--variation-strength", "0.4", "--variation-seed", "1"});
  };
  effects["--preview"] = [&] {
    return generated({"--preview", "running.png"}) == plain && image("running.png").width == 64 && image("running.png") != plain;
  };
  const Arguments no_taesd = {"--preview", "running.png", "--preview-decoder", demo};
  effects["--preview-decoder"] = [&] { return generate(no_taesd).code == 1 && generate({"--preview-decoder", demo}).code == 2; };
  effects["--preview-every"] = [&] {
    return generate({"--preview", "running.png", "--preview-every", "2"}).code == 0 && generate({"--preview-every", "0"}).code == 2;
  };
  effects["--save-latents"] = [&] {
    return cli::load_array(folder / "plain.safetensors", "latents").values != cli::load_array(folder / "plain.safetensors", "noise").values;
  };
  effects["--noise"] = [&] {
    return generated({"--noise", "plain.safetensors", "--seed", "99"}) == plain && generated({"--seed", "99"}) != plain;
  };
  effects["--model"] = [&] { return generated({"--model", demo}) == plain && generate({"--model", "nowhere"}).code == 1; };
  const std::string other_model = HEARTH_SOURCE_DIR "/tests/e2e/golden/pndm";
  const std::string xl = HEARTH_SOURCE_DIR "/tests/e2e/golden/xl", refiner = HEARTH_SOURCE_DIR "/tests/e2e/golden/xl_refiner";
  const auto of = [&](const std::string& model, Arguments more) {
    more.insert(more.end(), {"--model", model, "--steps", "5", "--width", "32", "--height", "32"});
    return generated(more);
  };
  const Pixels of_xl = of(xl, {}), of_refiner = of(refiner, {});
  for (const auto& [flag, value] : {std::pair("--prompt-2", "a cat"),
                                    {"--negative-prompt-2", "rain"},
                                    {"--clip-skip-2", "3"},
                                    {"--original-size", "8x9"},
                                    {"--crop", "7,0"},
                                    {"--target-size", "9x7"}})
    effects[flag] = [&, flag = flag, value = value] { return of(xl, {flag, value}) != of_xl; };
  const Arguments negative_sizes = {"--negative-original-size", "8x9", "--negative-target-size", "9x7"};
  for (const char* flag : {"--negative-original-size", "--negative-target-size"})
    effects[flag] = [&, flag] { return of(xl, negative_sizes) != of_xl && generate({"--model", xl, flag, "8x9"}).code == 2; };
  effects["--negative-crop"] = [&] {
    Arguments cropped = negative_sizes;
    cropped.insert(cropped.end(), {"--negative-crop", "7,0"});
    return of(xl, cropped) != of(xl, negative_sizes);
  };
  for (const char* flag : {"--aesthetic-score", "--negative-aesthetic-score"})
    effects[flag] = [&, flag] { return of(refiner, {flag, "1"}) != of_refiner; };
  const std::string flux = HEARTH_SOURCE_DIR "/tests/e2e/golden/flux_dev", sd3 = HEARTH_SOURCE_DIR "/tests/e2e/golden/sd3";
  const Pixels of_flux = of(flux, {}), of_sd3 = of(sd3, {});
  effects["--max-sequence-length"] = [&] { return of(flux, {"--max-sequence-length", "9"}) != of_flux; };
  effects["--true-cfg-scale"] = [&] { return of(flux, {"--true-cfg-scale", "4", "--negative-prompt", "rain"}) != of_flux; };
  effects["--transformer"] = [&] { return of(flux, {"--transformer", flux}) == of_flux && generate({"--transformer", flux}).code == 2; };
  effects["--transformer-device"] = [&] { return of(flux, {"--transformer-device", "reference"}).width == 32; };
  effects["--transformer-precision"] = [&] {
    const Json json = generate_json({"--model", flux, "--width", "32", "--height", "32", "--transformer-precision", "f16"});
    return json.dump().find(R"("held":"f16")") != std::string::npos && generate({"--transformer-precision", "f16"}).code == 2;
  };
  effects["--prompt-3"] = [&] { return of(sd3, {"--prompt-3", "a cat"}) != of_sd3; };
  effects["--negative-prompt-3"] = [&] { return of(sd3, {"--negative-prompt-3", "rain"}) != of_sd3; };
  effects["--no-t5"] = [&] { return of(sd3, {"--no-t5"}) != of_sd3; };
  effects["--no-resolution-binning"] = [&] {
    const std::string sigma = HEARTH_SOURCE_DIR "/tests/e2e/golden/pixart_sigma";
    return of(sigma, {"--no-resolution-binning"}) != of(sigma, {});
  };
  effects["--text-encoder-3"] = [&] {
    return of(sd3, {"--text-encoder-3", sd3}) == of_sd3 && generate({"--text-encoder-3", sd3}).code == 2;
  };
  for (const auto& [flag, value] : {std::pair("--control-image", "a.png"),
                                    {"--reference", "a.png"},
                                    {"--redux", demo.c_str()},
                                    {"--image-encoder", demo.c_str()},
                                    {"--image-encoder-device", "cpu"},
                                    {"--image-encoder-precision", "f16"}})
    effects[flag] = [&, flag = flag, value = value] { return generate({flag, value}).code == 2; };
  for (const char* flag :
       {"--control", "--control-preprocess", "--save-control", "--ip-adapter", "--lora-dir", "--redux-scale", "--redux-pooled-scale"})
    effects[flag] = [&, flag] { return generate({flag, "2"}).code == 2; };  // the demo model has none of them; e2e shows their effect
  effects["--refiner"] = [&] { return of(xl, {"--refiner", refiner}) != of_xl; };
  effects["--refiner-start"] = [&] { return of(xl, {"--refiner", refiner, "--refiner-start", "0.4"}) != of(xl, {"--refiner", refiner}); };
  effects["--vae"] = [&] {
    return generated({"--vae", demo}) == plain && changes_the_image({"--vae", other_model}) && generate({"--vae", "nowhere"}).code == 1;
  };
  effects["--unet"] = [&] { return generated({"--unet", demo}) == plain && generate({"--unet", other_model}).code == 1; };
  effects["--text-encoder"] = [&] {
    return generated({"--text-encoder", demo}) == plain && generate({"--text-encoder", other_model}).code == 1;
  };
  for (const char* flag : {"--text-encoder-2", "--lora"}) effects[flag] = [&, flag] { return generate({flag, demo}).code == 1; };
  effects["--config"] = [&] {
    run({"convert", "--model", demo, "--output", "one.safetensors", "--layout", "single"});
    return generated({"--model", "one.safetensors", "--config", demo}) == plain && generate({"--model", "one.safetensors"}).code == 1 &&
           generate({"--config", demo}).code == 2;
  };
  effects["--ema"] = [&] { return generate({"--ema"}).code == 2; };                  // a folder; e2e has a file with EMA weights
  effects["--variant"] = [&] { return generate({"--variant", "fp16"}).code == 1; };  // the demo model has none, which is an error
  effects["--device"] = [&] { return generate_json({"--device", "reference"})["runs"][0]["device"] == "reference"; };
  for (const std::string flag : {"--text-encoder-device", "--unet-device", "--vae-device"})  // e2e checks which component it is
    effects[flag] = [&, flag] { return generate({flag, "reference", "--json"}).out.find(R"("device":"reference")") != std::string::npos; };
  effects["--threads"] = [&] {
    return generate_json({"--threads", "1"})["runs"][0]["threads"] == 1 && generate_json({"--threads", "3"})["runs"][0]["threads"] == 3;
  };
  effects["--pin-threads"] = [&] {
    const Json pinned = generate_json({"--pin-threads"})["runs"][0], free = generate_json({})["runs"][0];
    return pinned["pinned"] == true && free["pinned"] == false && generate({"--pin-threads", "--threads", "1000"}).code == 2;
  };
  effects["--memory-limit"] = [&] { return generate({"--memory-limit", "1M"}).code == 2 && generate({"--memory-limit", "9G"}).code == 0; };
  // No GPU here: e2e divides networks.
  for (const std::string flag : {"--gpu-layers", "--gpu-memory"})
    effects[flag] = [&, flag] { return generate({flag, "2"}).err.find(flag + " divides networks") != std::string::npos; };
  effects["--vae-tiling"] = [&] {  // the demo model's tiles are as large as its images
    return generated({"--width", "192", "--vae-tiling", "on"}) != generated({"--width", "192"});
  };
  effects["--vae-tile-size"] = [&] { return changes_the_image({"--vae-tiling", "on", "--vae-tile-size", "32"}); };
  effects["--debug"] = [&] {
    const Json debug = generate_json({"--debug", "timing"})["runs"][0]["debug"];
    return debug.contains("timing") && !debug.contains("shapes") &&
           generate_json({"--debug", "all"})["runs"][0]["debug"].contains("shapes");
  };
  effects["--weight-cache"] = [&] {
    const bool first = generated({"--weight-cache", "cache"}) == plain, second = generated({"--weight-cache", "cache"}) == plain;
    const auto files = std::distance(fs::directory_iterator(folder / "cache"), {});
    return first && second && files == 6;  // three components: their packed weights and their hashes
  };
  effects["--json"] = [&] { return generate({"--json"}).out[0] == '{' && generate({}).out[0] != '{'; };
  effects["--help"] = [&] { return run({"generate", "--help"}).code == 0; };
  effects["--help-all"] = [&] { return run({"generate", "--help-all"}).out.size() > run({"generate", "--help"}).out.size(); };
  effects["--verbose"] = [&] {
    const std::string quiet = generate({}).err, verbose = generate({"--verbose"}).err;
    for (const char* part : {"settings: 64×64, 2 steps, sampler plms", "unet: UNet2DConditionModel", "time: load", "memory: peak"})
      EXPECT_NE(verbose.find(part), verbose.npos) << verbose;
    return quiet.find("settings:") == quiet.npos;
  };
  effects["--quiet"] = [&] { return generate({"--quiet"}).err.empty() && image("a.png") == plain; };

  std::set<std::string> tested;
  for (const auto& [flag, effect] : effects) EXPECT_TRUE(tested.insert(flag).second && effect()) << flag;
  EXPECT_EQ(flags_in_help("generate"), tested);
}

}  // namespace
}  // namespace hearth::test
