#include "models/diffusion/latent_model.h"

#include "core/error.h"

namespace hearth::models::diffusion {

void LatentModel::require_refiner(const LatentModel&, const std::string&) const {
  fail<UsageError>("open: family {} does not support a refiner", facts_.family);
}

std::shared_ptr<const ControlModel> LatentModel::control_for(GivenComponent& given, const std::shared_ptr<TensorSource>&) const {
  fail<UnsupportedError>("{}: control networks are not supported for {}", given.files.at(0).string(), facts_.family);
}

std::shared_ptr<const ImagePromptModel> LatentModel::image_prompt_for(const GivenComponent& given,
                                                                      const std::shared_ptr<TensorSource>&) const {
  fail<UnsupportedError>("{}: image prompts by an IP-Adapter are not supported for {}", given.files.at(0).string(), facts_.family);
}

EncodedPrompt LatentModel::with_references(const Loaded&, const ImageTask&, EncodedPrompt prompt, Backend&) const { return prompt; }

}  // namespace hearth::models::diffusion
