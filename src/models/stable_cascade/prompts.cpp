#include "models/stable_cascade/prompts.h"

#include <algorithm>

#include "core/error.h"
#include "ops/shape_ops.h"

namespace hearth::models::stable_cascade {
namespace {

using diffusion::EncodedCondition, diffusion::EncodedEntry, diffusion::EncodedPrompt;

void set_images(EncodedPrompt& prompt, const Tensor& vectors) {
  for (EncodedCondition& condition : prompt.conditions)
    for (EncodedEntry& entry : condition.entries) entry.given.tensors[std::string(image_vectors)] = vectors;
}

}  // namespace

Prompts::Prompts(const CascadeConfig& config, diffusion::Slot<parts::ClipTextModel> encoder, const ImageTask& task, bool use_negative,
                 Backend& host, ResolvedImage& resolved)
    : config_(config),
      texts_(config.towers, {encoder}, {.final_norm = false, .padding = parts::ClipPadding::hidden}, task, use_negative, host, resolved),
      images_(int64_t(task.references.size())) {
  const UnetConfig& decoder = config.decoder;
  const int64_t unit = config.vqgan.factor() * decoder.patch, least = unit << (decoder.levels.size() - 1);
  if (!decoder.halves && std::min(resolved.height, resolved.width) < least)
    fail<UsageError>("generate: {}×{} is too small for the decoder, expected at least {} pixels each way", resolved.width, resolved.height,
                     least);
  if (!has_negative() && !clip::text_of(task.request, text::PromptRole::negative, 0).empty())
    clip::add_warning(fmt::format("guidance {} is at most 1: the negative prompt is ignored", *task.request.guidance), resolved);
}

std::vector<std::string> Prompts::unused() const {
  if (images_ > 0 || !config_.image) return {};
  return {std::string(config_.names.image_encoder)};
}

std::vector<EncodedPrompt> Prompts::encode(const diffusion::Loaded& networks, Backend& host) const {
  std::vector<EncodedPrompt> out = texts_.encode(networks, host, has_negative() ? 2 : 1);
  const Tensor nothing = Tensor::zeros(host, {1, std::max<int64_t>(1, images_), config_.prior.image});
  for (EncodedPrompt& prompt : out) set_images(prompt, nothing);
  return out;
}

EncodedPrompt with_images(const parts::ClipVisionModel& tower, const image_prompt::ImageProcessor& processor, const ImageTask& task,
                          EncodedPrompt prompt, Backend& host) {
  Backend& device = tower.post_layernorm.gamma.backend();
  const Tensor& old = prompt.conditions[0].entries[0].given[image_vectors];
  std::vector<Tensor> vectors;
  for (const Pixels& image : task.references) {
    const Tensor vector = tower(processor(image, host).to(device)).image_embeds;
    vectors.push_back(vector.view({1, 1, vector.size(1)}));
  }
  const Tensor all = vectors.size() == 1 ? vectors[0] : ops::concat(vectors, 1);
  set_images(prompt, all.to(host).to(old.backend()));
  return prompt;
}

}  // namespace hearth::models::stable_cascade
