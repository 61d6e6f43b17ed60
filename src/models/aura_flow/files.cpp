// AuraFlow in checkpoint files: the authors' transformer, and ComfyUI's files with everything.
#include "models/aura_flow/files.h"

#include "models/aura_flow/transformer_files.h"
#include "models/slots.h"
#include "parts/autoencoder_kl/files.h"
#include "parts/autoencoder_tiny/files.h"
#include "parts/t5/files.h"

namespace hearth::models::aura_flow {
namespace {

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "model.", "transformer.", ""})
    all.push_back({prefix, &transformer_files, &slots::transformer});
  for (const char* prefix : {"vae.", "first_stage_model.", ""})
    for (const NetworkFiles* network : {&parts::autoencoder_kl_files, &parts::autoencoder_tiny_files})
      all.push_back({prefix, network, &slots::vae});
  for (const char* prefix : {"text_encoders.pile_t5xl.transformer.", ""}) all.push_back({prefix, &parts::t5_files, &slots::text_encoder});
  return all;
}

std::vector<Signature> signatures() {
  return {{.part = "denoiser",
           .what = "AuraFlow",
           .layout = "original",
           .prefixes = {"", "model.", "model.diffusion_model."},
           .present = {{"double_layers.0.attn.w2q.weight", {}},
                       {"single_layers.0.attn.w1q.weight", {}},
                       {"cond_seq_linear.weight", {}},
                       {"init_x_linear.weight", {}}},
           .absent = {}},
          {.part = "denoiser",
           .what = "AuraFlow",
           .layout = "diffusers",
           .prefixes = {""},
           .present = {{"joint_transformer_blocks.0.attn.to_q.weight", {}},
                       {"single_transformer_blocks.0.attn.to_q.weight", {}},
                       {"register_tokens", {}},
                       {"pos_embed.proj.weight", {}}},
           .absent = {}}};
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::transformer, &slots::vae, &slots::text_encoder},
    .places = places(),
    .leftovers = {"*scaled_fp8", "text_encoders.*.logit_scale"},
    .written = {{&slots::transformer, &transformer_files, "original", "model.diffusion_model."},
                {&slots::vae, &parts::autoencoder_kl_files, "original", "vae."},
                {&slots::text_encoder, &parts::t5_files, "transformers", "text_encoders.pile_t5xl.transformer."}},
    .signatures = signatures,
    .gguf_architecture = "aura",
};

}  // namespace hearth::models::aura_flow
