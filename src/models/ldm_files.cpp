#include "models/ldm_files.h"

#include "models/slots.h"
#include "parts/autoencoder_kl/files.h"
#include "parts/autoencoder_tiny/files.h"
#include "parts/clip/files.h"
#include "parts/clip_vision/files.h"
#include "parts/unet/files.h"

namespace hearth::models {

std::vector<NetworkPlace> ldm_places(std::initializer_list<NetworkPlace> text_encoders) {
  std::vector<NetworkPlace> places;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "unet.", ""})
    places.push_back({prefix, &parts::unet_files, &slots::unet});
  for (const char* prefix : {"first_stage_model.", "vae.", ""})
    for (const NetworkFiles* network : {&parts::autoencoder_kl_files, &parts::autoencoder_tiny_files})
      places.push_back({prefix, network, &slots::vae});
  places.insert(places.end(), text_encoders);
  places.push_back({"", &parts::clip_files, &slots::text_encoder});
  places.push_back({"", &parts::clip_vision_files, &slots::image_encoder});
  return places;
}

std::vector<std::string> ldm_leftovers() {
  return {"betas",
          "alphas_cumprod*",
          "sqrt_alphas_cumprod",
          "sqrt_one_minus_alphas_cumprod",
          "sqrt_recip*_alphas_cumprod",
          "sqrt_recipm1_alphas_cumprod",
          "log_one_minus_alphas_cumprod",
          "posterior_*",
          "logvar",
          "lvlb_weights",
          "scale_factor",
          "denoiser.*",
          "model_ema.*",
          "first_stage_model.loss.*",
          "loss.*",
          "first_stage_model.model_ema.*",
          "cond_stage_model.logit_scale",
          "cond_stage_model.vision_model.*",
          "cond_stage_model.transformer.vision_model.*",
          "v_pred",
          "ztsnr",
          "edm_mean",
          "edm_std",
          "edm_vpred.sigma_m*",
          "*scaled_fp8",
          "global_step",
          "epoch"};
}

std::vector<Prediction> ldm_predictions() {
  return {{.type = "v_prediction", .stated = {"v", "v_prediction"}, .marker = "v_pred", .label = "v-prediction"},
          {.type = "epsilon", .stated = {"epsilon"}}};
}

std::vector<SchedulerMarker> ldm_markers() {
  return {{.tensor = "ztsnr", .key = "rescale_betas_zero_snr", .value = "true", .label = "zero terminal SNR"},
          {.tensor = "edm_vpred.sigma_min", .key = "sigma_min"},
          {.tensor = "edm_vpred.sigma_max", .key = "sigma_max"}};
}

std::vector<Vocabulary> clip_vocabularies(std::initializer_list<std::string_view> tokenizers) {
  std::vector<Vocabulary> all;
  for (const std::string_view tokenizer : tokenizers)
    all.push_back({.component = tokenizer, .folder = "clip-vit-l-14", .files = {"vocab.json", "merges.txt"}, .instead = "tokenizer.json"});
  return all;
}

std::vector<WrittenPlace> ldm_written(std::initializer_list<WrittenPlace> text_encoders) {
  std::vector<WrittenPlace> places{{&slots::unet, &parts::unet_files, "original", "model.diffusion_model."},
                                   {&slots::vae, &parts::autoencoder_kl_files, "original", "first_stage_model."}};
  places.insert(places.end(), text_encoders);
  return places;
}

std::vector<Signature> ldm_autoencoder_signatures() {
  return parts::autoencoder_kl_signatures("AutoencoderKL, 4 latent channels (Stable Diffusion 1.x, 2.x, SDXL)");
}

Signature clip_l_signature() {
  return parts::clip_signature(
      "CLIP ViT-L/14 text encoder (Stable Diffusion 1.x, SDXL, SD3, FLUX.1)", {.width = 768, .layers = 12},
      {"", "cond_stage_model.transformer.", "conditioner.embedders.0.transformer.", "text_encoders.clip_l.transformer."});
}

std::vector<Signature> big_g_signatures() {
  const std::string name = "OpenCLIP ViT-bigG/14 text encoder (SDXL, SD3)";
  const parts::ClipKind kind{.width = 1280, .layers = 32};
  return {parts::clip_signature(name, kind, {"", "text_encoders.clip_g.transformer."}),
          parts::open_clip_signature(name, kind, {"", "conditioner.embedders.0.model.", "conditioner.embedders.1.model."})};
}

}  // namespace hearth::models
