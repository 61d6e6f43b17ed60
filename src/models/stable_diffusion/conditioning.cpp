#include "models/stable_diffusion/conditioning.h"

#include <algorithm>

#include "core/error.h"
#include "models/embeddings.h"

namespace hearth::models::stable_diffusion {
namespace {

bool composed(const text::Prompt& prompt) { return prompt.conditions.size() > 1 || prompt.conditions[0].weight != 1; }

// What one tower makes of the prompts; what people are told of them goes into `told`.
TowerPrompts read_for(const StableDiffusionConfig::Tower& tower, const ImageRequest& request, bool ask_negative, Backend& device,
                      ResolvedImage& told) {
  TowerPrompts p;
  p.vectors = read_embeddings(request, std::string(tower.names.embedding), tower.config.width, device, told.embeddings);
  const text::ClipTokenizer tokenizer = text::tokenizer_for(request.syntax, tower.tokenizer);
  p.empty_chunk = text::empty_chunk(tokenizer);
  const text::PromptReading reading = {.syntax = request.syntax, .emphasis = request.emphasis, .steps = request.steps};
  const auto read = [&](const std::string& prompt, text::PromptRole role) {
    p.prompts.push_back(text::read_prompt(prompt, role, reading, tokenizer, told.embeddings));
    const std::vector<std::string>& warnings = p.prompts.back().warnings;
    told.warnings.insert(told.warnings.end(), warnings.begin(), warnings.end());
    told.chunks = std::max(told.chunks, p.prompts.back().chunks);
  };
  read(request.prompt, text::PromptRole::positive);
  if (composed(p.prompts[0]) || ask_negative) read(request.negative_prompt, text::PromptRole::negative);
  return p;
}

}  // namespace

std::vector<TowerPrompts> read_prompts(const StableDiffusionConfig& config, const ImageRequest& request, bool ask_negative, Backend& device,
                                       ResolvedImage& resolved) {
  if (request.clip_skip < 1 || request.clip_skip > config.layers())
    fail<UsageError>("generate: clip skip {} does not fit, needed 1 to {}", request.clip_skip, config.layers());
  std::vector<TowerPrompts> prompts;
  for (const StableDiffusionConfig::Tower& tower : config.towers)
    prompts.push_back(read_for(tower, request, ask_negative, device, resolved));
  if (prompts[0].prompts.size() == 1 && !request.negative_prompt.empty())
    resolved.warnings.push_back(fmt::format("guidance {} is at most 1: the negative prompt is not used", request.guidance.scale));
  return prompts;
}

std::vector<EncodedPrompt> encode_prompts(const StableDiffusionConfig& config, const ImageRequest& request,
                                          std::span<const TowerPrompts> prompts, std::span<const parts::ClipTextModel> models,
                                          Backend& device) {
  const TowerPrompts& p = prompts[0];
  std::vector<Tensor> embeddings;
  for (const TextualInversion& v : p.vectors)
    embeddings.push_back(Tensor::from(device, {v.vectors, config.towers[0].config.width}, std::span<const float>(v.values)));
  return models::encode_prompts(models[0], p.prompts, embeddings, p.empty_chunk,
                                {.syntax = request.syntax, .emphasis = request.emphasis, .clip_skip = request.clip_skip});
}

}  // namespace hearth::models::stable_diffusion
