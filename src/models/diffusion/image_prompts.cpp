#include "models/diffusion/image_prompts.h"

#include <algorithm>
#include <tuple>

#include "models/image_prompt/mask.h"

namespace hearth::models::diffusion {

std::vector<RunImagePrompt> in_fixed_order(std::vector<RunImagePrompt> prompts) {
  std::erase_if(prompts, [](const RunImagePrompt& p) { return p.scale == 0; });
  const auto key = [](const RunImagePrompt& p) {
    const Pixels& image = p.input.image;
    return std::tie(p.file, p.scale, image.width, image.height, image.rgb, p.input.face, p.input.shortcut, p.mask.width, p.mask.height,
                    p.mask.rgb);
  };
  std::ranges::sort(prompts, [&](const RunImagePrompt& a, const RunImagePrompt& b) { return key(a) < key(b); });
  return prompts;
}

std::string tokens_name(size_t number) { return fmt::format("image_prompt.{}", number); }

void add_tokens(std::span<const RunImagePrompt> prompts, const Holding& networks, Backend& host, Backend& denoiser_device,
                std::vector<EncodedPrompt>& of_prompts) {
  for (size_t k = 0; k < prompts.size(); ++k) {
    const RunImagePrompt& p = prompts[k];
    const ImageTokens tokens = p.model->tokens(networks.of(p.member).any(0), networks.of(0), p.input, host);
    for (size_t i = 0; i < of_prompts.size(); ++i) {
      const Tensor mine = (i == 0 ? tokens.prompt : tokens.negative).to(denoiser_device);
      for (EncodedCondition& condition : of_prompts[i].conditions)
        for (EncodedEntry& entry : condition.entries) entry.given.tensors[tokens_name(k)] = mine;
    }
  }
}

std::vector<ActiveImagePrompt> active(std::span<const RunImagePrompt> prompts, const Holding& networks, int64_t width, int64_t height) {
  std::vector<ActiveImagePrompt> all;
  for (const RunImagePrompt& p : prompts) {
    all.push_back({.network = networks.of(p.member).any(0), .scale = p.scale});
    if (p.mask.width > 0) all.back().mask = image_prompt::prepared_mask(p.mask, width, height);
  }
  return all;
}

}  // namespace hearth::models::diffusion
