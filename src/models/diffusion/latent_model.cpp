#include "models/diffusion/latent_model.h"

#include "core/error.h"

namespace hearth::models::diffusion {

void LatentModel::require_refiner(const LatentModel&, const std::string&) const {
  fail<UsageError>("open: a refiner, but there is none for {}", facts_.family);
}

}  // namespace hearth::models::diffusion
