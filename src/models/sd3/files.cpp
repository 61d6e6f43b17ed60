// Stable Diffusion 3 and 3.5 in checkpoint files: Stability's single files, with or without text encoders and autoencoder, and files of one
// component.
#include "models/sd3/files.h"

#include "models/ldm_files.h"
#include "models/sd3/names.h"
#include "models/slots.h"
#include "parts/autoencoder_kl/files.h"
#include "parts/autoencoder_tiny/files.h"
#include "parts/clip/files.h"
#include "parts/t5/files.h"

namespace hearth::models::sd3 {
namespace {

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "transformer.", ""})
    all.push_back({prefix, &mmdit_files, &slots::transformer});
  for (const char* prefix : {"first_stage_model.", "vae.", ""})
    for (const NetworkFiles* network : {&parts::autoencoder_kl_files, &parts::autoencoder_tiny_files})
      all.push_back({prefix, network, &slots::vae});
  all.insert(all.end(), {{"text_encoders.clip_l.transformer.", &parts::clip_files, &slots::text_encoder},
                         {"text_encoders.clip_g.transformer.", &parts::clip_files, &slots::text_encoder_2},
                         {"text_encoders.t5xxl.transformer.", &parts::t5_files, &slots::text_encoder_3},
                         {"", &parts::clip_files, &slots::text_encoder},
                         {"", &parts::t5_files, &slots::text_encoder_3}});
  return all;
}

std::vector<std::string> leftovers() {
  return {"text_encoders.*.logit_scale", "first_stage_model.loss.*", "loss.*", "model_ema.*", "*scaled_fp8", "global_step", "epoch"};
}

std::vector<Vocabulary> vocabularies() {
  std::vector<Vocabulary> all = clip_vocabularies({"tokenizer", "tokenizer_2"});
  all.push_back({.component = "tokenizer_3", .folder = "t5", .files = {"spiece.model"}, .instead = "tokenizer.json"});
  return all;
}

// By its width, number of blocks, norms of queries and keys, and dual attention.
struct Kind {
  std::string_view what;
  int64_t width, blocks;
  bool norms, dual;
};
constexpr Kind kinds[] = {{"Stable Diffusion 3 medium", 1536, 24, false, false},
                          {"Stable Diffusion 3.5 medium", 1536, 24, true, true},
                          {"Stable Diffusion 3.5 large", 2432, 38, true, false}};

Signature signature_of(const Kind& kind) {
  const auto block = [](int64_t i) { return fmt::format("joint_blocks.{}.x_block.attn.qkv.weight", i); };
  Signature s{.part = "denoiser",
              .what = std::string(kind.what),
              .layout = "original",
              .prefixes = {"", "model.diffusion_model."},
              .present = {{"x_embedder.proj.weight", {kind.width, Signature::any, 2, 2}},
                          {"joint_blocks.0.context_block.adaLN_modulation.1.bias", {6 * kind.width}},
                          {block(kind.blocks - 1), {}}},
              .absent = {block(kind.blocks)}};
  const auto add = [&](bool has, const std::string& name) {
    if (has) s.present.push_back({name, {}});
    else s.absent.push_back(name);
  };
  add(kind.norms, "joint_blocks.0.x_block.attn.ln_q.weight");
  add(kind.dual, "joint_blocks.0.x_block.attn2.qkv.weight");
  return s;
}

std::vector<Signature> signatures() {
  std::vector<Signature> all;
  for (const Kind& kind : kinds) all.push_back(signature_of(kind));
  all.push_back({.part = "denoiser",
                 .what = "Stable Diffusion 3",
                 .layout = "diffusers",
                 .prefixes = {""},
                 .present = {{"pos_embed.proj.weight", {}},
                             {"transformer_blocks.0.norm1_context.linear.weight", {}},
                             {"context_embedder.weight", {}}},
                 .absent = {"single_transformer_blocks.0.proj_mlp.weight", "controlnet_blocks.0.weight"}});
  all.push_back(clip_l_signature());
  for (Signature& s : big_g_signatures()) all.push_back(std::move(s));
  for (Signature& s : parts::t5_xxl_signatures("T5 v1.1 XXL encoder (SD3, FLUX.1)", {"", "text_encoders.t5xxl.transformer."}))
    all.push_back(std::move(s));
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&slots::transformer, &slots::vae, &slots::text_encoder, &slots::text_encoder_2, &slots::text_encoder_3},
    .places = places(),
    .leftovers = leftovers(),
    .vocabularies = vocabularies(),
    .written = {{&slots::transformer, &mmdit_files, "original", "model.diffusion_model."},
                {&slots::vae, &parts::autoencoder_kl_files, "original", "first_stage_model."},
                {&slots::text_encoder, &parts::clip_files, "transformers", "text_encoders.clip_l.transformer."},
                {&slots::text_encoder_2, &parts::clip_files, "transformers", "text_encoders.clip_g.transformer."},
                {&slots::text_encoder_3, &parts::t5_files, "transformers", "text_encoders.t5xxl.transformer."}},
    .signatures = signatures,
    .gguf_architecture = "sd3",
};

}  // namespace hearth::models::sd3
