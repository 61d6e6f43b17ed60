// Hunyuan-DiT in checkpoint files: the authors' transformer, and ComfyUI's files with everything.
#include "models/hunyuan_dit/files.h"

#include "models/hunyuan_dit/controlnet_files.h"
#include "models/hunyuan_dit/transformer_files.h"
#include "models/slots.h"
#include "parts/autoencoder_kl/files.h"
#include "parts/autoencoder_tiny/files.h"
#include "parts/bert/files.h"
#include "parts/t5/files.h"

namespace hearth::models::hunyuan_dit {
namespace {

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "model.", "transformer.", ""})
    all.push_back({prefix, &transformer_files, &slots::transformer});
  for (const char* prefix : {"vae.", "first_stage_model.", ""})
    for (const NetworkFiles* network : {&parts::autoencoder_kl_files, &parts::autoencoder_tiny_files})
      all.push_back({prefix, network, &slots::vae});
  for (const char* prefix : {"text_encoders.hydit_clip.transformer.bert.", "text_encoders.hydit_clip.transformer.", "bert.", ""})
    all.push_back({prefix, &parts::bert_files, &slots::text_encoder});
  for (const char* prefix : {"text_encoders.mt5xl.transformer.", ""}) all.push_back({prefix, &parts::t5_files, &slots::text_encoder_2});
  return all;
}

std::vector<Signature> signatures() {
  const Signature original{.part = "denoiser",
                           .layout = "original",
                           .prefixes = {"", "model.", "model.diffusion_model."},
                           .present = {{"blocks.0.attn1.Wqkv.weight", {}},
                                       {"blocks.0.default_modulation.1.weight", {}},
                                       {"mlp_t5.0.weight", {}},
                                       {"text_embedding_padding", {}}},
                           .absent = {"after_proj_list.0.weight"}};
  const Signature official{
      .part = "denoiser",
      .layout = "diffusers",
      .prefixes = {""},
      .present = {{"blocks.0.attn1.to_q.weight", {}}, {"text_embedding_padding", {}}, {"time_extra_emb.pooler.k_proj.weight", {}}},
      .absent = {"controlnet_blocks.0.weight"}};
  std::vector<Signature> all = control_signatures();
  for (const auto& [base, style] : {std::pair{original, "style_embedder.weight"}, {official, "time_extra_emb.style_embedder.weight"}}) {
    Signature with = base, without = base;
    with.what = "Hunyuan-DiT 1.0 or 1.1", with.present.push_back({style, {}});
    without.what = "Hunyuan-DiT 1.2", without.absent.push_back(style);
    all.push_back(std::move(with)), all.push_back(std::move(without));
  }
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::transformer, &slots::vae, &slots::text_encoder, &slots::text_encoder_2},
    .places = places(),
    .leftovers = {"*scaled_fp8", "text_encoders.*.logit_scale", "text_encoders.hydit_clip.transformer.cls.*"},
    .written = {{&slots::transformer, &transformer_files, "original", "model.diffusion_model."},
                {&slots::vae, &parts::autoencoder_kl_files, "original", "vae."},
                {&slots::text_encoder, &parts::bert_files, "transformers", "text_encoders.hydit_clip.transformer.bert."},
                {&slots::text_encoder_2, &parts::t5_files, "transformers", "text_encoders.mt5xl.transformer."}},
    .signatures = signatures,
    .gguf_architecture = "hydit",
};

}  // namespace hearth::models::hunyuan_dit
