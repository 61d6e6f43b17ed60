// Stable Cascade in checkpoint files: one network in each of Stability's; ComfyUI's file of stage C has text and image encoder, too, and
// that of stage B the VQGAN.
#include "models/stable_cascade/files.h"

#include "models/ldm_files.h"
#include "models/slots.h"
#include "models/stable_cascade/unet_files.h"
#include "parts/clip/files.h"
#include "parts/clip_vision/files.h"

namespace hearth::models::stable_cascade {
namespace {

constexpr Slot decoder{.name = "decoder", .label = "decoder", .role = ComponentRole::denoiser};
constexpr Slot prior{
    .name = "prior",
    .label = "prior",
    .role = ComponentRole::denoiser,
    .adds = "the prior of a decoder (Stable Cascade), whose image encoder reads --reference: its diffusers folder, or a file"};
constexpr Slot vqgan{.name = "vqgan", .label = "VQGAN", .role = ComponentRole::autoencoder};

std::vector<NetworkPlace> places() {
  std::vector<NetworkPlace> all;
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "model.", ""}) {
    all.push_back({prefix, &stage_c_files, &prior});
    all.push_back({prefix, &stage_b_files, &decoder});
  }
  for (const char* prefix : {"vae.", "first_stage_model.", ""}) all.push_back({prefix, &stage_a_files, &vqgan});
  all.push_back({"text_encoder.clip_g.", &comfyui_text_files, &slots::text_encoder});
  all.push_back({"", &parts::clip_files, &slots::text_encoder});
  all.push_back({"clip_l_vision.", &parts::clip_vision_files, &slots::image_encoder});
  return all;
}

std::vector<Signature> signatures() {
  const auto of = [](const char* part, const char* what, const char* layout, std::vector<Signature::Needed> present,
                     std::vector<std::string> absent) {
    return Signature{.part = part,
                     .what = what,
                     .layout = layout,
                     .prefixes = {"", "model.", "model.diffusion_model."},
                     .present = std::move(present),
                     .absent = std::move(absent)};
  };
  std::vector<Signature> all;
  for (const auto& [layout, mark] :
       {std::pair{"original", "down_blocks.0.2.attention.attn.in_proj_weight"}, {"diffusers", "down_blocks.0.2.attention.to_q.weight"}})
    all.push_back(of("denoiser", "Stable Cascade, stage C", layout, {{"clip_txt_mapper.weight", {}}, {mark, {}}}, {}));
  for (const auto& [layout, mark] : {std::pair{"original", "clip_mapper.weight"}, {"diffusers", "clip_txt_pooled_mapper.weight"}})
    all.push_back(of("denoiser", "Stable Cascade, stage B", layout,
                     {{"down_blocks.1.0.channelwise.0.weight", {}}, {"effnet_mapper.0.weight", {}}, {mark, {}}},
                     {"clip_txt_mapper.weight"}));
  Signature a = of("autoencoder", "Stable Cascade, stage A", "original",
                   {{"up_blocks.1.gammas", {6}}, {"out_block.0.weight", {}}, {"up_blocks.1.depthwise.1.weight", {}}}, {});
  a.prefixes = {"", "vae.", "first_stage_model."};
  all.push_back(std::move(a));
  for (Signature& s : big_g_signatures()) all.push_back(std::move(s));
  return all;
}

}  // namespace

const ImageFiles files{
    .slots = {&prior, &decoder, &vqgan, &slots::text_encoder, &slots::image_encoder},
    .places = places(),
    .leftovers = {"*scaled_fp8", "text_encoder.*", "vae.*", "clip_l_vision.*"},
    .vocabularies = clip_vocabularies({"tokenizer"}),
    .signatures = signatures,
};

}  // namespace hearth::models::stable_cascade
