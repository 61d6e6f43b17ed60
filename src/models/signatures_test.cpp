// Identification of files by their structure, with the signatures of all families.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "models/checkpoints.h"
#include "models/flux1/transformer_files.h"
#include "support/golden.h"
#include "weights/layout/key_lists_test.h"

namespace hearth::models {
namespace {

using test::key_list;

std::vector<Recognized> recognize(const TensorList& tensors) { return hearth::recognize(tensors, signatures_of(image_files())); }

std::vector<std::string> described(const std::map<std::string, TensorInfo>& tensors) {
  std::vector<std::string> all;
  for (const Recognized& r : recognize(tensors)) all.push_back(r.part + ": " + r.what + " (" + r.layout + ", '" + r.prefix + "')");
  return all;
}

const std::string vae = "autoencoder: AutoencoderKL, 4 latent channels (Stable Diffusion 1.x, 2.x, SDXL) (original, 'first_stage_model.')";

TEST(Signatures, every_published_file_is_recognized_as_itself_alone) {
  const std::string l = "text encoder: CLIP ViT-L/14 text encoder (Stable Diffusion 1.x, SDXL, SD3, FLUX.1)",
                    g = "text encoder: OpenCLIP ViT-bigG/14 text encoder (SDXL, SD3)";
  const std::map<std::string, std::vector<std::string>> expected{
      {"sd15-single-file",
       {"denoiser: Stable Diffusion 1.x UNet (original, 'model.diffusion_model.')", vae,
        l + " (transformers, 'cond_stage_model.transformer.')"}},
      {"sd21-single-file",
       {"denoiser: Stable Diffusion 2.x UNet (original, 'model.diffusion_model.')", vae,
        "text encoder: OpenCLIP ViT-H/14 text encoder (Stable Diffusion 2.x) (original, 'cond_stage_model.model.')"}},
      {"sdxl-single-file",
       {"denoiser: SDXL UNet (original, 'model.diffusion_model.')", vae, l + " (transformers, 'conditioner.embedders.0.transformer.')",
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

// FLUX.1 under diffusers' names, and with another number of input channels.
TEST(Signatures, kinds_of_flux_are_told_apart) {
  for (const auto& [file, in, what] :
       std::initializer_list<std::tuple<const char*, int64_t, const char*>>{{"flux1-dev-bfl", 64, "FLUX.1 dev"},
                                                                            {"flux1-schnell-bfl", 64, "FLUX.1 schnell"},
                                                                            {"flux1-fill-bfl", 384, "FLUX.1 Fill"},
                                                                            {"flux1-dev-bfl", 128, "FLUX.1 Canny or Depth"}}) {
    TensorList original = key_list(file), official;
    original.at("img_in.weight").shape[1] = in;
    for (const auto& [name, piece] : official_pieces(original, "", flux1::transformer_files.spellings[0].reading(original, {})))
      official[name] = piece.info;
    EXPECT_EQ(described(original), std::vector<std::string>{fmt::format("denoiser: {} (original, '')", what)});
    EXPECT_EQ(described(official), std::vector<std::string>{fmt::format("denoiser: {} (diffusers, '')", what)});
  }
}

TEST(Signatures, a_name_alone_decides_nothing) {
  auto tensors = key_list("sd15-single-file");
  tensors["model.diffusion_model.input_blocks.0.0.weight"].shape = {320, 9, 3, 3};
  EXPECT_EQ(described(tensors)[0], "denoiser: Stable Diffusion 1.x UNet, inpainting (original, 'model.diffusion_model.')");
  tensors["model.diffusion_model.input_blocks.0.0.weight"].shape = {320, 5, 3, 3};
  EXPECT_EQ(described(tensors)[0], "denoiser: Stable Diffusion 1.x UNet, depth (original, 'model.diffusion_model.')");
  tensors["model.diffusion_model.input_blocks.0.0.weight"].shape = {320, 6, 3, 3};
  EXPECT_EQ(described(tensors)[0], vae);
  auto truncated = key_list("sd35-large-sai");
  truncated.erase("model.diffusion_model.joint_blocks.37.x_block.attn.qkv.weight");
  EXPECT_EQ(described(truncated), std::vector<std::string>{});
  EXPECT_EQ(described({{"conv_in.weight", {DType::f32, {320, 4, 3, 3}, {}}}}), std::vector<std::string>{});
}

// Names in published files of families that hearth does not run, each under the prefix that single files use.
TEST(Signatures, what_is_not_run_is_named) {
  const auto of = [](std::initializer_list<const char*> names, const std::string& prefix = "") {
    std::map<std::string, TensorInfo> tensors;
    for (const char* name : names) tensors[prefix + name] = {};
    std::string text;
    for (const Recognized& r : recognize(tensors)) text += (text.empty() ? "" : "; ") + r.part + ": " + r.what;
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
    const auto found = recognize({{"<cat>", {DType::f32, shape, {}}}});
    return found.empty() ? "" : found[0].what;
  };
  EXPECT_EQ(one({768}), "textual inversion, '<cat>'");
  EXPECT_EQ(one({4, 1280}), "textual inversion, '<cat>'");
  EXPECT_EQ(one({4, 512}), "");
  EXPECT_EQ(one({1, 1, 768}), "");
  EXPECT_EQ(of({"1.weight", "3.conv.0.weight", "3.conv.4.weight", "19.bias"}),
            "autoencoder: decoder of a small autoencoder (TAESD, TAESDXL, TAESD3, TAEF1)");
  EXPECT_EQ(of({"0.weight", "1.conv.0.weight", "3.conv.0.weight", "3.conv.4.weight"}),
            "autoencoder: encoder of a small autoencoder (TAESD, TAESDXL, TAESD3, TAEF1)");
  EXPECT_EQ(of({"model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight"}), "language model: LLaMA or its kin");
  EXPECT_EQ(recognize({{"model.embed_tokens.weight", {}}, {"model.layers.0.self_attn.q_proj.weight", {}}})[0].layout, "transformers");
}

// The networks of diffusers and transformers that hearth does not run (golden/make_known.py), each identified as itself only.
TEST(Signatures, networks_of_the_references_are_named) {
  const std::map<std::string, std::string> expected{
      {"unet-svd", "denoiser: Stable Video Diffusion"},
      {"unet-upscaler", "denoiser: Stable Diffusion ×4 upscaler UNet"},
      {"unet-unclip", "denoiser: unCLIP UNet"},
      {"unet-if", "denoiser: DeepFloyd IF UNet"},
      {"unet-unconditional", "denoiser: UNet without conditions"},
      {"unet-gligen", "denoiser: GLIGEN UNet"},
      {"unet-video", "denoiser: ModelScope text-to-video UNet"},
      {"unet-i2vgen", "denoiser: I2VGen-XL"},
      {"unet-motion", "denoiser: AnimateDiff UNet"},
      {"cascade", "denoiser: Stable Cascade"},
      {"kandinsky-prior", "denoiser: Kandinsky 2 prior"},
      {"kandinsky3", "denoiser: Kandinsky 3 UNet"},
      {"amused", "denoiser: aMUSEd"},
      {"flux2", "denoiser: FLUX.2"},
      {"chroma", "denoiser: Chroma"},
      {"bria", "denoiser: Bria"},
      {"sd3", "denoiser: Stable Diffusion 3"},
      {"auraflow", "denoiser: AuraFlow"},
      {"pixart", "denoiser: PixArt-α 1024"},
      {"sana", "denoiser: SANA"},
      {"hunyuan-dit", "denoiser: Hunyuan-DiT 1.0 or 1.1"},
      {"lumina2", "denoiser: Lumina 2"},
      {"z-image", "denoiser: Z-Image"},
      {"qwen-image", "denoiser: Qwen-Image"},
      {"hidream", "denoiser: HiDream"},
      {"cogview4", "denoiser: CogView"},
      {"cogvideox", "denoiser: CogVideoX"},
      {"ltx", "denoiser: LTX-Video"},
      {"mochi", "denoiser: Mochi"},
      {"hunyuan-video", "denoiser: HunyuanVideo"},
      {"wan", "denoiser: Wan"},
      {"wan-vace", "denoiser: Wan VACE"},
      {"cosmos", "denoiser: Cosmos"},
      {"vae-wan", "autoencoder: Wan or Qwen-Image VAE"},
      {"vae-vq", "autoencoder: VQ autoencoder"},
      {"vae-asymmetric", "autoencoder: asymmetric autoencoder for inpainting"},
      {"vae-consistency", "autoencoder: consistency decoder"},
      {"vae-dc", "autoencoder: deep compression autoencoder (SANA)"},
      {"vae-ltx", "autoencoder: LTX-Video VAE"},
      {"vae-mochi", "autoencoder: Mochi VAE"},
      {"vae-cogvideox", "autoencoder: CogVideoX VAE"},
      {"vae-hunyuan-video", "autoencoder: HunyuanVideo VAE"},
      {"vae-allegro", "autoencoder: Allegro VAE"},
      {"vae-svd", "autoencoder: Stable Video Diffusion's VAE"},
      {"vae-cosmos", "autoencoder: Cosmos VAE"},
      {"vae-tiny", "autoencoder: small autoencoder (TAESD, TAESDXL, TAESD3, TAEF1)"},
      {"controlnet", "control: ControlNet"},
      {"controlnet-union", "control: ControlNet Union"},
      {"controlnet-xs", "control: ControlNet-XS"},
      {"controlnet-flux", "control: ControlNet of a transformer"},
      {"controlnet-sd3", "control: ControlNet of a transformer"},
      {"t2i", "control: T2I-Adapter"},
      {"t2i-light", "control: T2I-Adapter"},
      {"motion-adapter", "motion module: AnimateDiff"},
      {"safety-checker", "safety checker: Stable Diffusion safety checker"},
      {"clip-vision", "vision tower: CLIP vision tower"},
      {"siglip", "vision tower: SigLIP vision tower"},
      {"t5", "text encoder: T5 encoder"},
      {"umt5", "text encoder: UMT5 encoder"},
      {"bert", "text encoder: BERT"},
      {"dpt", "depth estimator: DPT"},
      {"llama", "language model: LLaMA or its kin"},
      {"qwen3-moe", "language model: mixture of experts"},
      {"mixtral", "language model: Mixtral"},
      {"deepseek", "language model: DeepSeek V2 or V3"},
      {"phi3", "language model: Phi-3"},
      {"gpt2", "language model: GPT-2"},
      {"gpt-neox", "language model: GPT-NeoX"},
      {"falcon", "language model: Falcon"},
      {"mamba", "language model: Mamba"},
      {"qwen2-vl", "language model: vision and language"},
      {"whisper", "speech model: Whisper"},
  };
  const nlohmann::json names = load_json(std::filesystem::path(HEARTH_SOURCE_DIR) / "src/weights/inspection/golden/known.json").at("names");
  EXPECT_EQ(names.size(), expected.size());
  for (const auto& [network, listed] : names.items()) {
    std::map<std::string, TensorInfo> tensors;
    for (const auto& name : listed) tensors[name] = {};
    std::string text;
    for (const Recognized& r : recognize(tensors)) text += (text.empty() ? "" : "; ") + r.part + ": " + r.what;
    EXPECT_EQ(text, expected.at(network)) << network;
  }
}

TEST(Signatures, adapters_of_every_kind_are_named) {
  for (const auto& [ends, what] :
       std::map<std::vector<std::string>, std::string>{{{"x.lora_A.default.weight", "x.lora_B.default.weight"}, "LoRA"},
                                                       {{"x.lora_A", "x.lora_B"}, "LoRA"},
                                                       {{"x.qkv_lora1.down.weight", "x.qkv_lora1.up.weight"}, "LoRA"},
                                                       {{"x.lora_linear_layer.down.weight", "x.lora_linear_layer.up.weight"}, "LoRA"},
                                                       {{"x.lora_down.weight", "x.lora_up.weight", "x.dora_scale"}, "LoRA, DoRA"},
                                                       {{"x.lokr_w1", "x.lokr_w2_a", "x.lokr_w2_b"}, "LoKr"},
                                                       {{"x.lokr_w1_a", "x.lokr_w1_b", "x.lokr_w2_a", "x.lokr_w2_b"}, "LoKr"},
                                                       {{"x.a1.weight", "x.a2.weight", "x.b1.weight", "x.b2.weight"}, "GLoRA"},
                                                       {{"x.oft_blocks"}, "OFT"},
                                                       {{"x.oft_diag"}, "OFT"},
                                                       {{"x.weight", "x.on_input"}, "IA³"},
                                                       {{"x.diff", "x.diff_b"}, "differences of weights"},
                                                       {{"x.w_norm", "x.b_norm"}, "differences of norms"}}) {
    std::map<std::string, TensorInfo> tensors;
    for (const std::string& end : ends) tensors["lora_unet_" + end] = {};
    std::string text;
    for (const Recognized& r : recognize(tensors)) text += (text.empty() ? "" : ", ") + r.what;
    EXPECT_EQ(text, what) << ends[0];
  }
}

}  // namespace
}  // namespace hearth::models
