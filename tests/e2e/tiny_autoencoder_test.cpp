// A small VAE (AutoencoderTiny, TAESD) in place of a checkpoint's own, compared with diffusers (golden/make_tiny.py), and as the preview
// decoder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/plan/plan_backend.h"
#include "core/memory.h"
#include "e2e/checkpoint_copy.h"
#include "hearth/convert.h"
#include "parts/autoencoder_tiny/autoencoder_tiny.h"
#include "support/complaint.h"
#include "support/sanitizer.h"
#include "support/tolerance.h"
#include "support/torch_writer.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const OpenOptions f32{.precision = Precision::f32};

struct TinyAutoencoder : testing::Test {
  TemporaryFolder folder;
  CheckpointCopy copy{"pndm"};
  std::shared_ptr<SafetensorsFile> golden = SafetensorsFile::open(golden_folder() / "tiny.safetensors"),
                                   images = SafetensorsFile::open(golden_folder() / "editing.safetensors");
  fs::path whole = folder / "diffusion_pytorch_model.safetensors", decoder = folder / "taesd_decoder.safetensors";

  void SetUp() override {
    MemoryLedger ledger;
    const auto plan = make_plan_backend(ledger);
    const auto requested = std::make_shared<RequestedTensors>();
    Weights all(requested, *plan);
    const parts::AutoencoderTiny network(Scope(all), {});
    write_seeded_file(whole, requested->tensors, DType::f32, copy.device().threads());
    NamedTensors half;  // as its maker names them: numbers alone, the limit counted
    for (const auto& [name, x] : read_all(whole)) {
      if (!name.starts_with("decoder.layers.")) continue;
      const std::string rest = name.substr(std::string("decoder.layers.").size());
      half[std::to_string(std::stoi(rest) + 1) + rest.substr(rest.find('.'))] = x;
    }
    write_safetensors(decoder, half);
  }

  NamedTensors read_all(const fs::path& path) {
    NamedTensors all;
    const auto file = SafetensorsFile::open(path);
    for (const auto& [name, info] : file->list()) all[name] = copy_of(file->read(name, info.shape, copy.device()), DType::f32);
    return all;
  }
  std::vector<float> wanted(const std::string& name) {
    return golden->read(name, golden->list().at(name).shape, copy.device()).to_vector();
  }
  Image image(const std::string& kind) {
    const std::string name = (kind == "image" ? "picture" : kind) + ".64x64";  // the golden file's name for it
    const Tensor x = images->read(name, images->list().at(name).shape, copy.device());
    Image image{.width = 64, .height = 64, .rgb = {}};
    for (int64_t i = 0; i < x.numel(); ++i) image.rgb.insert(image.rgb.end(), kind == "mask" ? 3 : 1, x.data<uint8_t>()[i]);
    return image;
  }
  static Request request() {
    return {.prompt = "a red house on green hills",
            .negative_prompt = "night",
            .width = 64,
            .height = 64,
            .steps = 10,
            .guidance = 5,
            .sampler = "euler_ancestral",
            .seed = 11};
  }
};

TEST_F(TinyAutoencoder, in_place_of_the_checkpoints_own_equals_the_reference) {
  Model m = Model::open(checkpoint_folder("pndm"), {.components = {{"vae", {whole}}}, .precision = Precision::f32});
  for (const char* kind : {"text", "image", "paint"}) {
    SCOPED_TRACE(kind);
    Request r = request();
    if (kind != std::string("text")) r.edit.image = image("image"), r.edit.strength = 0.6;
    if (kind == std::string("paint")) r.edit.mask = image("mask");
    const Generation made = m.generate(r);
    const double error = relative_error(made.latents.values, wanted(kind));
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", kind, error);
    EXPECT_LE(error, 1e-5);  // observed 1.4e-6
    if (kind != std::string("text")) continue;
    const std::vector<float> rgb = wanted("text.picture");
    int most = 0;
    for (size_t i = 0; i < rgb.size(); ++i) most = std::max(most, std::abs(int(made.images[0].rgb[i]) - int(rgb[i])));
    EXPECT_LE(most, 1);
    EXPECT_NE(made.report.find("AutoencoderTiny"), std::string::npos);
  }
}

// From its folder, from a pipeline's folder, and from the outputs of hearth convert; also f16.
TEST_F(TinyAutoencoder, opens_from_every_layout) {
  const auto generated = [&](const fs::path& path, const OpenOptions& options) {
    return Model::open(path, options).generate(request()).images[0].rgb;
  };
  const auto expected = generated(checkpoint_folder("pndm"), {.components = {{"vae", {whole}}}, .precision = Precision::f32});
  const Json config = {{"_class_name", "AutoencoderTiny"}, {"latent_channels", 4}};
  fs::create_directory(folder / "taesd");
  fs::copy(whole, folder / "taesd");
  std::ofstream(folder / "taesd" / "config.json") << config;
  EXPECT_EQ(generated(checkpoint_folder("pndm"), {.components = {{"vae", {folder / "taesd"}}}, .precision = Precision::f32}), expected);

  copy.edit_json("model_index.json", [](Json& index) { index["vae"] = {"diffusers", "AutoencoderTiny"}; });
  fs::copy_file(whole, copy.weights("vae"), fs::copy_options::overwrite_existing);
  std::ofstream(copy.path() / "vae" / "config.json") << config;
  EXPECT_EQ(generated(copy.path(), f32), expected);
  EXPECT_TRUE(inspect(copy.path()).usable) << inspect(copy.path()).text;

  convert({.model = checkpoint_folder("pndm"), .components = {{"vae", whole}}, .output = folder / "made"});
  EXPECT_EQ(generated(folder / "made", f32), expected);
}

// The last preview is the image; earlier ones decode the estimate x̂₀. The file may have any name and layout.
TEST_F(TinyAutoencoder, decodes_previews) {
  Request r = request();
  r.sampler = "euler";
  const Generation plain = Model::open(checkpoint_folder("pndm"), f32).generate(r);
  const Generation tiny =
      Model::open(checkpoint_folder("pndm"), {.components = {{"vae", {whole}}}, .precision = Precision::f32}).generate(r);
  write_torch(folder / "taesd_decoder.pth", read_all(decoder));
  for (const fs::path& file : {decoder, whole, folder / "taesd_decoder.pth"})
    for (const int64_t limit : {int64_t(0), int64_t(2'000'000'000)}) {
      SCOPED_TRACE(file.string());
      Model m = Model::open(checkpoint_folder("pndm"), {.precision = Precision::f32, .memory_limit = limit, .preview_decoder = file});
      std::vector<Image> shown;
      r.preview = {.every = 4, .show = [&](const std::vector<Image>& previews, int64_t, int64_t) { shown.push_back(previews.at(0)); }};
      const Generation made = m.generate(r);
      EXPECT_EQ(made.images[0].rgb, plain.images[0].rgb);
      ASSERT_EQ(shown.size(), 3u);
      EXPECT_EQ(shown[2].rgb, tiny.images[0].rgb);
      EXPECT_NE(shown[0].rgb, shown[2].rgb);
      EXPECT_EQ(made.images[0].json, plain.images[0].json);  // previews do not change the metadata
    }
}

TEST_F(TinyAutoencoder, previews_are_in_the_plan) {
  Request r{.prompt = "a cat", .width = 256, .height = 320, .steps = 2, .seed = 1};
  r.decode = false;
  r.preview.show = [](const std::vector<Image>&, int64_t, int64_t) {};
  for (const int64_t limit : {int64_t(0), int64_t(2'000'000'000)}) {
    Model m = Model::open(checkpoint_folder("pndm"),
                          {.threads = 2, .precision = Precision::f32, .memory_limit = limit, .preview_decoder = decoder});
    const Json memory = Json::parse(m.generate(r).report).at("memory");
    const int64_t planned = memory.at("planned").at("peak"), measured = memory.at("measured").at("peak");
    EXPECT_GE(measured, planned - 2'000'000);
    EXPECT_LE(measured, planned + 2 * 4'000'000);
    EXPECT_GE(planned, 2 * 256 * 320 * 64 * 4);  // two activations of the decoder's last resolution
  }
}

TEST_F(TinyAutoencoder, incompatible_files_are_refused) {
  const auto refusal = [&](const OpenOptions& options, const std::string& checkpoint = "pndm") {
    return complaint_of([&] { Model::open(checkpoint_folder(checkpoint), options); });
  };
  const auto expect = [](const std::string& line, const std::string& part) { EXPECT_NE(line.find(part), std::string::npos) << line; };
  expect(refusal({.preview_decoder = checkpoint_folder("pndm")}),
         "the preview decoder is an AutoencoderKL, expected an AutoencoderTiny (TAESD)");
  expect(refusal({.preview_decoder = decoder}, "dpmpp"),
         "decodes latents of 4 channels to images of 3 channels and 8 times the size, expected 6, 3 and 8 as for the model");
  expect(refusal({.preview_decoder = folder / "nowhere.safetensors"}), "no such file");
  NamedTensors broken = read_all(decoder);
  broken.erase("19.bias");
  broken["20.weight"] = broken.at("19.weight");
  write_safetensors(decoder, broken);
  expect(refusal({.preview_decoder = decoder}), "'decoder.layers.18.bias'");
  expect(refusal({.preview_decoder = decoder}), "'20.weight'");
  expect(refusal({.components = {{"vae", {decoder}}}}), "'decoder.layers.18.bias'");

  Model m = Model::open(checkpoint_folder("pndm"), {.components = {{"vae", {whole}}}});
  Request r = request();
  r.vae_tiling = VaeTiling::on, r.vae_tile = 96;
  expect(complaint_of([&] { m.generate(r); }), "tile size is 96 pixels, expected a multiple of 64");
}

// Text-to-image needs only its decoder.
TEST_F(TinyAutoencoder, a_decoder_alone_is_enough) {
  const auto expected =
      Model::open(checkpoint_folder("pndm"), {.components = {{"vae", {whole}}}, .precision = Precision::f32}).generate(request());
  write_torch(folder / "taesd_decoder.pth", read_all(decoder));
  for (const fs::path& file : {decoder, folder / "taesd_decoder.pth"})
    for (const bool when_needed : {false, true}) {
      Model m = Model::open(checkpoint_folder("pndm"),
                            {.components = {{"vae", {file}}}, .precision = Precision::f32, .load_when_needed = when_needed});
      EXPECT_EQ(m.generate(request()).images[0].rgb, expected.images[0].rgb);
    }
  Model m =
      Model::open(checkpoint_folder("pndm"), {.components = {{"vae", {decoder}}}, .precision = Precision::f32, .preview_decoder = decoder});
  EXPECT_NE(Json::parse(m.description()).at("notes").dump().find("the autoencoder is a decoder only"), std::string::npos);
  const auto told = [&](const std::function<void(Request&)>& change, Model& model) {
    Request r = request();
    change(r);
    return complaint_of([&] { model.generate(r); });
  };
  const std::string from_image =
      "UsageError: generate: the run starts from an image, but the autoencoder is a decoder only, expected one with an encoder";
  EXPECT_EQ(told([&](Request& r) { r.edit.image = image("image"); }, m), from_image);
  EXPECT_EQ(told([](Request& r) { r.hires = Hires{.scale = 2, .upscaler = "lanczos"}; }, m), from_image);
  Request r = request();
  r.hires = Hires{.scale = 2, .upscaler = "latent"};
  r.preview.show = [](const std::vector<Image>&, int64_t, int64_t) {};
  EXPECT_EQ(m.generate(r).images[0].width, 128);
  Model without = Model::open(checkpoint_folder("pndm"), {.components = {{"vae", {decoder}}}});
  EXPECT_EQ(told([](Request& q) { q.preview.show = [](const std::vector<Image>&, int64_t, int64_t) {}; }, without),
            "UsageError: generate: previews with a decoder-only autoencoder, expected one with an encoder, or a preview decoder");
  EXPECT_NE(complaint_of([&] {
              convert({.model = checkpoint_folder("pndm"), .components = {{"vae", decoder}}, .output = folder / "made"});
            }).find("has only a decoder"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "made"));
}

// Tiles change the image only near their seams and need less memory; under a limit they are the last resort.
TEST_F(TinyAutoencoder, tiles_are_blended) {
  Request r{.prompt = "a cat", .width = 256, .height = 320, .steps = 2, .seed = 1};
  const auto generated = [&](VaeTiling tiling, std::optional<int64_t> tile = {}, int64_t limit = 0) {
    Model m = Model::open(checkpoint_folder("pndm"),
                          {.components = {{"vae", {whole}}}, .threads = 2, .precision = Precision::f32, .memory_limit = limit});
    r.vae_tiling = tiling, r.vae_tile = tile;
    return m.generate(r);
  };
  const Generation one = generated(VaeTiling::off), fits = generated(VaeTiling::on), tiles = generated(VaeTiling::on, 128);
  EXPECT_EQ(fits.images[0].rgb, one.images[0].rgb);  // tiles of 512 pixels
  const auto memory = [](const Generation& g, const char* key) {
    return Json::parse(g.report).at("memory").at("planned").at(key).get<int64_t>();
  };
  EXPECT_LT(memory(tiles, "activations"), memory(one, "activations") / 2);
  int64_t differs = 0, most = 0;
  for (size_t i = 0; i < one.images[0].rgb.size(); ++i) {
    const int64_t d = std::abs(int(one.images[0].rgb[i]) - int(tiles.images[0].rgb[i]));
    differs += d > 0, most = std::max(most, d);
  }
  EXPECT_GT(differs, 0);
  if (std::getenv("HEARTH_PRINT_ERRORS"))
    printf("seams: %ld of %zu bytes, at most %ld\n", long(differs), one.images[0].rgb.size(), long(most));
  HEARTH_SKIP_UNDER_ADDRESS_SANITIZER();
  const Generation limited =
      generated(VaeTiling::automatic, {}, Json::parse(tiles.report).at("memory").at("predicted").get<int64_t>() + 20'000'000);
  EXPECT_NE(Json::parse(limited.report).at("memory").at("mode").get<std::string>().find("VAE in tiles"), std::string::npos);
}

}  // namespace
}  // namespace hearth::test
