// Names that published folders have and the networks do not.
#include "models/checkpoints.h"

#include <algorithm>

#include "core/files/file.h"
#include "parts/autoencoder_tiny/config.h"
#include "support/backend_test.h"
#include "support/files.h"
#include "weights/inspection/inspection.h"

namespace hearth::models {
namespace {

class CheckpointsTest : public testing::Test {
 protected:
  std::unique_ptr<Backend> device = test::make_test_backend("reference");
  test::TemporaryFolder folder;

  void index(const std::string& json) { write_file(folder / "model_index.json", json); }
  void component(const std::string& name, const std::vector<std::string>& files, float value = 1, const std::string& tensor = "a") {
    std::filesystem::create_directories(folder / name);
    for (const std::string& file : files)
      write_safetensors(folder / name / file, {{tensor, Tensor::from(*device, {1}, std::vector<float>{value})}});
  }
};

// An installed hearth has the built-in configurations next to its other assets.
TEST_F(CheckpointsTest, configurations_of_an_installation_go_before_the_source_tree) {
  std::filesystem::create_directories(folder / "configs/sd1");
  const std::filesystem::path source = std::filesystem::path(HEARTH_SOURCE_DIR) / "src/models";
  std::vector<std::filesystem::path> found;
  for (const KnownFamily& family : image_files(folder.path())) found.push_back(family.configurations);
  const auto has = [&](const std::filesystem::path& path) { return std::ranges::find(found, path) != found.end(); };
  EXPECT_TRUE(has(folder / "configs/sd1"));
  EXPECT_FALSE(has(source / "sd1/configs"));
  EXPECT_TRUE(has(source / "sd2/configs"));
  EXPECT_TRUE(std::ranges::any_of(image_files(), [&](const KnownFamily& f) { return f.configurations == source / "sd1/configs"; }));
}

TEST_F(CheckpointsTest, old_attention_names_of_a_published_autoencoder_load) {
  index(R"({"_class_name": "P", "vae": ["diffusers", "AutoencoderKL"], "unet": ["diffusers", "UNet2DConditionModel"]})");
  component("vae", {"diffusion_pytorch_model.safetensors"}, 4, "decoder.mid_block.attentions.0.proj_attn.weight");
  component("unet", {"diffusion_pytorch_model.safetensors"}, 4, "decoder.mid_block.attentions.0.proj_attn.weight");
  const Checkpoint c = open_checkpoint(folder.path());
  Weights w(c.tensors("vae"), *device);
  EXPECT_EQ(w.tensor("decoder.mid_block.attentions.0.to_out.0.weight", {1}).to_vector()[0], 4);
  w.finish();
  EXPECT_FALSE(c.tensors("unet")->has("decoder.mid_block.attentions.0.to_out.0.weight"));  // the table belongs to the class
}

TEST_F(CheckpointsTest, clip_loads_with_and_without_its_prefix_and_position_ids) {
  index(R"({"_class_name": "P", "text_encoder": ["transformers", "CLIPTextModel"]})");
  std::filesystem::create_directories(folder / "text_encoder");
  for (const std::string prefix : {"", "text_model."}) {
    write_safetensors(folder / "text_encoder" / "model.safetensors",
                      {{prefix + "final_layer_norm.bias", Tensor::from(*device, {1}, std::vector<float>{5})},
                       {prefix + "embeddings.position_ids", Tensor::from(*device, {1, 2}, std::vector<int32_t>{0, 1})}});
    const Checkpoint c = open_checkpoint(folder.path());
    Weights w(c.tensors("text_encoder"), *device, {.types = {}, .progress = {}, .ignore = c.ignored("text_encoder")});
    EXPECT_EQ(w.tensor("text_model.final_layer_norm.bias", {1}).to_vector()[0], 5);
    EXPECT_NO_THROW(w.finish());
  }
}

TEST_F(CheckpointsTest, old_autoencoder_names_are_recognized) {
  const auto tensor = [&](const Shape& shape) { return Tensor::zeros(*device, shape, DType::f16); };
  write_safetensors(folder / "vae.safetensors", {{"encoder.down_blocks.3.resnets.1.conv2.weight", tensor({512, 512, 3, 3})},
                                                 {"encoder.conv_out.weight", tensor({8, 512, 3, 3})},
                                                 {"quant_conv.weight", tensor({8, 8, 1, 1})},
                                                 {"post_quant_conv.weight", tensor({4, 4, 1, 1})},
                                                 {"decoder.conv_in.weight", tensor({512, 4, 3, 3})},
                                                 {"decoder.mid_block.attentions.0.query.weight", tensor({512, 512})}});
  const InspectedCheckpoint found = inspect_checkpoint(folder / "vae.safetensors", image_files());
  ASSERT_EQ(found.components.at(0).recognized.size(), 1u);
  EXPECT_EQ(found.components.at(0).recognized[0].part, "autoencoder");
}

// The small autoencoders are published without a configuration; their latents have 4 channels, or 16.
TEST_F(CheckpointsTest, small_autoencoders_have_the_latents_of_their_files) {
  const auto kernel = [&](int64_t out, int64_t in) { return Tensor::zeros(*device, {out, in, 3, 3}); };
  for (const int64_t channels : {4, 16})
    for (const bool alone : {false, true}) {
      const std::string layers = alone ? "" : "decoder.layers.";
      const int first = alone ? 1 : 0;
      std::map<std::string, Tensor> tensors;
      const auto add = [&](int index, const std::string& rest, Tensor x) {
        tensors[layers + std::to_string(first + index) + "." + rest] = std::move(x);
      };
      add(0, "weight", kernel(64, channels));
      for (const char* conv : {"conv.0.weight", "conv.4.weight"}) add(2, conv, kernel(64, 64));
      if (!alone) tensors["encoder.layers.0.weight"] = kernel(64, 3);
      write_safetensors(folder / "small.safetensors", tensors);
      const GivenComponent given = open_component(folder / "small.safetensors", "vae");
      EXPECT_EQ(given.class_name, "AutoencoderTiny");
      EXPECT_EQ(given.decoder_alone, alone);
      const parts::AutoencoderTinyConfig config = parts::AutoencoderTinyConfig::from(given.own_config());
      EXPECT_EQ(config.latent_channels, channels);
      EXPECT_EQ(config.decoder_blocks, parts::AutoencoderTinyConfig().decoder_blocks);
    }
  write_safetensors(folder / "taef1_encoder.safetensors", {{"0.weight", kernel(64, 3)},
                                                           {"1.conv.0.weight", kernel(64, 64)},
                                                           {"3.conv.4.weight", kernel(64, 64)},
                                                           {"14.weight", kernel(16, 64)}});
  EXPECT_EQ(test::message_of<WeightError>([&] { open_component(folder / "taef1_encoder.safetensors", "vae"); }, folder.path()),
            "FOLDER/taef1_encoder.safetensors: holds no VAE, only encoder of a small autoencoder (TAESD, TAESDXL, TAESD3, TAEF1)");
}

}  // namespace
}  // namespace hearth::models
