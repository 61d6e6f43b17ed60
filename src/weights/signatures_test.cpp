#include "weights/signatures.h"

#include <gtest/gtest.h>

#include "weights/layout/key_lists_test.h"

namespace hearth {
namespace {

using test::key_list;

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
  for (const auto& [file, what] : expected) EXPECT_EQ(described(key_list(file)), what) << file;
}

TEST(signatures, G52_a_name_alone_decides_nothing) {
  auto tensors = key_list("sd15-single-file");
  tensors["model.diffusion_model.input_blocks.0.0.weight"].shape = {320, 9, 3, 3};
  EXPECT_EQ(described(tensors)[0], "denoiser: Stable Diffusion 1.x UNet, inpainting (original, 'model.diffusion_model.')");
  tensors["model.diffusion_model.input_blocks.0.0.weight"].shape = {320, 5, 3, 3};
  EXPECT_EQ(described(tensors)[0], vae);
  auto truncated = key_list("sd35-large-sai");
  truncated.erase("model.diffusion_model.joint_blocks.37.x_block.attn.qkv.weight");
  EXPECT_EQ(described(truncated), std::vector<std::string>{});
  EXPECT_EQ(described({{"conv_in.weight", {DType::f32, {320, 4, 3, 3}, {}}}}), std::vector<std::string>{});
}

// Names of published files of families that hearth does not run, each under the prefix that single files give it.
TEST(signatures, what_is_not_run_is_named) {
  const auto of = [](std::initializer_list<const char*> names, const std::string& prefix = "") {
    std::map<std::string, TensorInfo> tensors;
    for (const char* name : names) tensors[prefix + name] = {};
    std::string text;
    for (const Recognised& r : recognise(tensors)) text += (text.empty() ? "" : "; ") + r.part + ": " + r.what;
    return text;
  };
  EXPECT_EQ(of({"head.modulation", "blocks.0.self_attn.q.weight", "patch_embedding.weight"}), "denoiser: Wan");
  EXPECT_EQ(of({"head.modulation", "blocks.0.self_attn.q.weight", "patch_embedding.weight", "vace_blocks.0.after_proj.bias"}),
            "denoiser: Wan VACE");
  EXPECT_EQ(of({"head.modulation"}), "");
  EXPECT_EQ(of({"transformer_blocks.0.img_mod.1.weight", "txt_norm.weight"}, "model.diffusion_model."), "denoiser: Qwen-Image");
  EXPECT_EQ(of({"cap_embedder.0.weight", "layers.0.attention.qkv.weight", "x_pad_token"}), "denoiser: Z-Image");
  EXPECT_EQ(of({"cap_embedder.0.weight", "layers.0.attention.qkv.weight"}), "denoiser: Lumina 2");
  EXPECT_EQ(of({"patchify_proj.weight", "transformer_blocks.27.scale_shift_table"}, "model.diffusion_model."), "denoiser: LTX-Video");
  EXPECT_EQ(of({"input_hint_block.0.weight", "zero_convs.0.0.weight", "input_blocks.0.0.weight"}, "control_model."), "control: ControlNet");
  EXPECT_EQ(of({"encoder.block.0.layer.0.SelfAttention.q.weight", "shared.weight", "encoder.final_layer_norm.weight"}),
            "text encoder: T5 encoder");
  EXPECT_EQ(of({"lora_unet_input_blocks_4_1_proj_in.lora_down.weight", "lora_unet_input_blocks_4_1_proj_in.lora_up.weight"}),
            "adapter: LoRA");
  EXPECT_EQ(of({"x.lora_down.weight"}), "");
  EXPECT_EQ(of({"emb_params"}), "embedding: textual inversion");
  EXPECT_EQ(of({"string_to_param.*", "string_to_token.*"}), "embedding: textual inversion");
  EXPECT_EQ(of({"text_encoders_0", "text_encoders_1"}), "embedding: textual inversion for two encoders");
  const auto one = [](const Shape& shape) {
    const auto found = recognise({{"<cat>", {DType::f32, shape, {}}}});
    return found.empty() ? "" : found[0].what;
  };
  EXPECT_EQ(one({768}), "textual inversion, '<cat>'");
  EXPECT_EQ(one({4, 1280}), "textual inversion, '<cat>'");
  EXPECT_EQ(one({4, 512}), "");
  EXPECT_EQ(one({1, 1, 768}), "");
  EXPECT_EQ(of({"1.weight", "3.conv.0.weight", "3.conv.4.weight", "19.bias"}), "autoencoder: TAESD's decoder");
  EXPECT_EQ(of({"0.weight", "1.conv.0.weight", "3.conv.0.weight", "3.conv.4.weight"}), "autoencoder: TAESD's encoder");
  EXPECT_EQ(of({"model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight"}), "language model: LLaMA or its kin");
}

}  // namespace
}  // namespace hearth
