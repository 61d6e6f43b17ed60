#include "models/diffusion/latent_model.h"

#include "core/error.h"

namespace hearth::models::diffusion {

void LatentModel::require_refiner(const LatentModel&, const std::string&) const {
  fail<UsageError>("open: family {} does not support a refiner", facts_.family);
}

EncodedPrompt LatentModel::with_references(const Loaded&, const ImageTask&, EncodedPrompt prompt, Backend&) const { return prompt; }

}  // namespace hearth::models::diffusion
