// FLUX.1 with TAEF1, a small autoencoder of sixteen channels, in place of its own and as the preview decoder, compared with diffusers
// (golden/make_flux_tiny.py).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/plan/plan_backend.h"
#include "core/memory.h"
#include "e2e/editing_cases_test.h"
#include "parts/autoencoder_tiny/autoencoder_tiny.h"
#include "support/complaint.h"
#include "support/files.h"
#include "support/tolerance.h"
#include "weights/safetensors/safetensors.h"
#include "weights/seeded_file.h"

namespace hearth::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct FluxTinyAutoencoder : testing::Test {
  FluxTinyAutoencoder() {
    MemoryLedger ledger;
    const auto plan = make_plan_backend(ledger);
    const auto requested = std::make_shared<RequestedTensors>();
    Weights all(requested, *plan);
    const parts::AutoencoderTiny network(Scope(all), {.latent_channels = 16});
    ThreadPool threads;
    write_seeded_file(whole, requested->tensors, DType::f32, threads);
    std::map<std::string, Tensor> half;  // as its author names them: numbers alone, the limit counted
    const auto file = SafetensorsFile::open(whole);
    for (const auto& [name, info] : file->list()) {
      if (!name.starts_with("decoder.layers.")) continue;
      const std::string rest = name.substr(std::string("decoder.layers.").size());
      half[std::to_string(std::stoi(rest) + 1) + rest.substr(rest.find('.'))] = file->read(name, info.shape, *golden.device);
    }
    write_safetensors(decoder, half);
  }

  // The case's autoencoder as a folder, because a file has no scale and no shift.
  fs::path folder_of(const Json& config) {
    const fs::path path = folder / "vae";
    fs::remove_all(path);
    fs::create_directory(path);
    fs::copy(whole, path);
    Json all = {{"_class_name", "AutoencoderTiny"}, {"latent_channels", 16}};
    all.update(config);
    std::ofstream(path / "config.json") << all;
    return path;
  }

  TemporaryFolder folder;
  EditingCases golden{"flux_tiny"};
  fs::path whole = folder / "diffusion_pytorch_model.safetensors", decoder = folder / "taef1_decoder.safetensors";
};

TEST_F(FluxTinyAutoencoder, in_place_of_the_checkpoints_own_equals_the_reference) {
  for (const auto& [name, c] : golden.cases.items()) {
    SCOPED_TRACE(name);
    const fs::path vae = c.at("vae").empty() ? whole : folder_of(c.at("vae"));
    Model m = Model::open(golden.folder_of(c), {.components = {{"vae", {vae}}}, .precision = Precision::f32});
    Request r = golden.request_of(c);
    r.decode = true;
    const Generation made = m.generate(r);
    const double error = relative_error(made.latents.values, golden.golden(name).to_vector());
    if (std::getenv("HEARTH_PRINT_ERRORS")) printf("%s: %.1e\n", name.c_str(), error);
    EXPECT_LE(error, 1e-5);  // observed 4.2e-6
    const std::vector<float> rgb = golden.golden(name + ".picture").to_vector();
    ASSERT_EQ(made.images[0].rgb.size(), rgb.size());
    int most = 0;
    for (size_t i = 0; i < rgb.size(); ++i) most = std::max(most, std::abs(int(made.images[0].rgb[i]) - int(rgb[i])));
    EXPECT_LE(most, 1);
  }
}

// The author's decoder alone, by its name and numbers: the same image, and the last preview is the image.
TEST_F(FluxTinyAutoencoder, the_authors_files_are_recognized) {
  const Json& c = golden.cases.at("text");
  Request r = golden.request_of(c);
  r.decode = true;
  const auto drawn = [&](const fs::path& vae, Request request, std::vector<Image>* shown = nullptr) {
    if (shown)
      request.preview = {.every = 2, .show = [=](const std::vector<Image>& images, int64_t, int64_t) { shown->push_back(images[0]); }};
    OpenOptions options{.components = {{"vae", {vae}}}, .precision = Precision::f32};
    if (shown) options.preview_decoder = decoder;
    return Model::open(golden.folder_of(c), options).generate(request).images[0].rgb;
  };
  const auto expected = drawn(whole, r);
  std::vector<Image> previews;
  EXPECT_EQ(drawn(decoder, r, &previews), expected);
  ASSERT_EQ(previews.size(), 2u);
  EXPECT_EQ(previews[1].rgb, expected);
  r.edit.image = Image{.width = 32, .height = 48, .rgb = std::vector<uint8_t>(32 * 48 * 3)};
  EXPECT_NE(complaint_of([&] { drawn(decoder, r); }).find("the autoencoder is a decoder only"), std::string::npos);
  // four channels for sixteen
  EXPECT_NE(complaint_of([&] {
              Model::open(checkpoint_folder("flux_dev"), {.precision = Precision::f32, .preview_decoder = decoder});
            }).find("decodes latents of 16 channels"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::test
