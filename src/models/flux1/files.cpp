// FLUX.1 in checkpoint files: Black Forest Labs' transformer and autoencoder, each in a file of its own, and ComfyUI's files with
// everything.
#include "models/flux1/files.h"

#include "models/flux1/transformer_files.h"
#include "models/ldm_files.h"
#include "models/slots.h"
#include "parts/autoencoder_kl/files.h"
#include "parts/autoencoder_tiny/files.h"
#include "parts/clip/files.h"
#include "parts/siglip/files.h"
#include "parts/t5/files.h"

namespace hearth::models::flux1 {
namespace {

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "transformer.", ""})
    all.push_back({prefix, &transformer_files, &slots::transformer});
  for (const char* prefix : {"vae.", "first_stage_model.", ""})
    for (const NetworkFiles* network : {&parts::autoencoder_kl_files, &parts::autoencoder_tiny_files})
      all.push_back({prefix, network, &slots::vae});
  for (const char* prefix : {"text_encoders.clip_l.transformer.", ""}) all.push_back({prefix, &parts::clip_files, &slots::text_encoder});
  for (const char* prefix : {"text_encoders.t5xxl.transformer.", ""}) all.push_back({prefix, &parts::t5_files, &slots::text_encoder_2});
  all.push_back({"", &parts::siglip_vision_files, &slots::image_encoder});
  all.push_back({"", &parts::redux_files, &slots::image_embedder});
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::transformer, &slots::vae, &slots::text_encoder, &slots::text_encoder_2, &slots::image_encoder,
              &slots::image_embedder},
    .places = places(),
    .leftovers = {"*scaled_fp8", "text_encoders.*.logit_scale"},
    .vocabularies =
        {{.component = "tokenizer", .folder = "clip-vit-l-14", .files = {"vocab.json", "merges.txt"}, .instead = "tokenizer.json"},
         {.component = "tokenizer_2", .folder = "t5", .files = {"spiece.model"}, .instead = "tokenizer.json"}},
    .written = {{&slots::transformer, &transformer_files, "original", "model.diffusion_model."},
                {&slots::vae, &parts::autoencoder_kl_files, "original", "vae."},
                {&slots::text_encoder, &parts::clip_files, "transformers", "text_encoders.clip_l.transformer."},
                {&slots::text_encoder_2, &parts::t5_files, "transformers", "text_encoders.t5xxl.transformer."}},
    .signatures = transformer_signatures,
    .gguf_architecture = "flux",
};

}  // namespace hearth::models::flux1
