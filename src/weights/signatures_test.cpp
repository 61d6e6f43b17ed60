#include "weights/signatures.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/golden.h"
#include "weights/safetensors.h"

namespace hearth {
namespace {

// golden/keys: `name<TAB>shape` of every tensor of a published file.
std::map<std::string, TensorInfo> keys(const std::string& name) {
  std::ifstream in(test::folder_of(__FILE__) / "golden" / "keys" / (name + ".tsv"));
  std::map<std::string, TensorInfo> all;
  for (std::string line; std::getline(in, line);) {
    const size_t tab = line.find('\t');
    TensorInfo info;
    std::istringstream shape(line.substr(tab + 1));
    for (std::string d; std::getline(shape, d, ',');) info.shape.push_back(std::stoll(d));
    all[line.substr(0, tab)] = info;
  }
  EXPECT_GT(all.size(), 100u) << name;
  return all;
}

std::vector<std::string> described(const std::map<std::string, TensorInfo>& tensors) {
  std::vector<std::string> all;
  for (const Recognised& r : recognise(tensors)) all.push_back(r.part + ": " + r.what + " (" + r.layout + ", '" + r.prefix + "')");
  return all;
}

const std::string vae = "autoencoder: AutoencoderKL, 4 latent channels (Stable Diffusion 1.x, 2.x, SDXL) (original, 'first_stage_model.')";

TEST(signatures, G52_every_published_file_is_recognised_as_itself_alone) {
  const std::string l = "text encoder: CLIP ViT-L/14 text encoder (Stable Diffusion 1.x, SDXL, SD3, FLUX.1)",
                    g = "text encoder: OpenCLIP ViT-bigG/14 text encoder (SDXL, SD3)";
  const std::map<std::string, std::vector<std::string>> expected{
      {"sd15-single-file",
       {"denoiser: Stable Diffusion 1.x UNet (original, 'model.diffusion_model.')", vae,
        l + " (diffusers, 'cond_stage_model.transformer.')"}},
      {"sd21-single-file",
       {"denoiser: Stable Diffusion 2.x UNet (original, 'model.diffusion_model.')", vae,
        "text encoder: OpenCLIP ViT-H/14 text encoder (Stable Diffusion 2.x) (original, 'cond_stage_model.model.')"}},
      {"sdxl-single-file",
       {"denoiser: SDXL UNet (original, 'model.diffusion_model.')", vae, l + " (diffusers, 'conditioner.embedders.0.transformer.')",
        g + " (original, 'conditioner.embedders.1.model.')"}},
      {"refiner-single-file",
       {"denoiser: SDXL refiner UNet (original, 'model.diffusion_model.')", vae, g + " (original, 'conditioner.embedders.0.model.')"}},
      {"flux1-dev-bfl", {"denoiser: FLUX.1 dev (original, '')"}},
      {"flux1-fill-bfl", {"denoiser: FLUX.1 Fill (original, '')"}},
      {"flux1-schnell-bfl", {"denoiser: FLUX.1 schnell (original, '')"}},
      {"sd3-medium-sai", {"denoiser: Stable Diffusion 3 medium (original, 'model.diffusion_model.')"}},
      {"sd35-medium-sai", {"denoiser: Stable Diffusion 3.5 medium (original, 'model.diffusion_model.')"}},
      {"sd35-large-sai", {"denoiser: Stable Diffusion 3.5 large (original, 'model.diffusion_model.')"}}};
  for (const auto& [file, what] : expected) EXPECT_EQ(described(keys(file)), what) << file;
}

TEST(signatures, G52_a_name_alone_decides_nothing) {
  auto tensors = keys("sd15-single-file");
  tensors["model.diffusion_model.input_blocks.0.0.weight"].shape = {320, 9, 3, 3};
  EXPECT_EQ(described(tensors)[0], "denoiser: Stable Diffusion 1.x UNet, inpainting (original, 'model.diffusion_model.')");
  tensors["model.diffusion_model.input_blocks.0.0.weight"].shape = {320, 5, 3, 3};
  EXPECT_EQ(described(tensors)[0], vae);
  auto truncated = keys("sd35-large-sai");
  truncated.erase("model.diffusion_model.joint_blocks.37.x_block.attn.qkv.weight");
  EXPECT_EQ(described(truncated), std::vector<std::string>{});
  EXPECT_EQ(described({{"conv_in.weight", {DType::f32, {320, 4, 3, 3}, {}}}}), std::vector<std::string>{});
}

}  // namespace
}  // namespace hearth
