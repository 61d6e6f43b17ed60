#include "models/stable_diffusion/prompts.h"

#include <algorithm>

#include "models/option.h"
#include "models/slots.h"
#include "parts/unet/unet.h"

namespace hearth::models::stable_diffusion {
namespace {

using diffusion::EncodedCondition, diffusion::EncodedEntry, diffusion::EncodedPrompt;
using text::PromptRole;

// Zeros instead of a negative prompt: as the checkpoint says if none is given. A1111 also treats an empty one as not given; ComfyUI always
// encodes it.
bool is_zero(const StableDiffusionConfig& config, const Request& r) {
  if (!config.zeros_for_no_negative || r.compat == sampling::Compat::comfyui) return false;
  const bool empty = clip::text_of(r, PromptRole::negative, 0).empty() && clip::text_of(r, PromptRole::negative, 1).empty();
  return r.compat == sampling::Compat::a1111 ? empty : !clip::gives_negative(r);
}

}  // namespace

UnetPrompts::UnetPrompts(const StableDiffusionConfig& config, std::vector<diffusion::Slot<parts::ClipTextModel>> slots,
                         const ImageTask& task, bool use_negative, Backend& host, ResolvedImage& resolved)
    : config_(config),
      texts_(config.towers, std::move(slots), {.clip_skip = config.family->clip_skip, .final_norm = config.family->final_norm}, task,
             use_negative, host, resolved),
      sees_images_(std::ranges::any_of(task.image_prompts, [](const ImagePromptTask& p) { return p.prompt.scale != 0; })),
      guidance_(resolved.embedded_guidance) {
  const Request& request = task.request;
  zero_negative_ = has_negative() && is_zero(config, request);
  if (!has_negative() && !clip::text_of(request, PromptRole::negative, 0).empty())
    clip::add_warning(config.unet.guidance ? "the UNet receives the guidance scale as input: the negative prompt is ignored"
                                           : fmt::format("guidance {} is at most 1: the negative prompt is ignored", *request.guidance),
                      resolved);
  if (!config.family->sizes) return;
  const bool edits_by_instruction = config.beside() == diffusion::Beside::image;  // starts from noise in spite of the image
  const StartsFrom starts_from = task.edit.starts() && !edits_by_instruction ? StartsFrom::image : StartsFrom::noise;
  for (const PromptRole role : {PromptRole::positive, PromptRole::negative})
    sizes_.push_back(config.family->sizes(request.options, resolved.width, resolved.height, role, starts_from));
}

std::vector<std::string> UnetPrompts::unused() const {
  return sees_images_ ? std::vector<std::string>() : std::vector<std::string>{std::string(slots::image_encoder.name)};
}

std::vector<EncodedPrompt> UnetPrompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  std::vector<EncodedPrompt> out = texts_.encode(networks, host, has_negative() && !zero_negative_ ? 2 : 1);
  if (zero_negative_) out.push_back(diffusion::zeros_like(out[0]));
  // The pooled vector becomes the UNet's addition to the time embedding.
  for (size_t k = 0; k < out.size(); ++k)
    for (EncodedCondition& condition : out[k].conditions)
      for (EncodedEntry& entry : condition.entries) {
        auto& tensors = entry.given.tensors;
        if (!sizes_.empty()) tensors["added"] = parts::pooled_and_sizes(config_.unet, entry.given[clip::pooled], sizes_[k]);
        tensors.erase(std::string(clip::pooled));
        if (config_.unet.guidance) tensors["guidance"] = parts::guidance_embedding(config_.unet, host, guidance_);
      }
  return out;
}

}  // namespace hearth::models::stable_diffusion
