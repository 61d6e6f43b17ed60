#include "models/diffusion/model.h"
#include "models/registry.h"

namespace hearth::models {

std::unique_ptr<ImageModel> open_image_model(const Checkpoint& checkpoint, Backend& device, const LoadRequest& request) {
  const auto describe = [](const Checkpoint& c) { return find_family(c).family.describe(c); };
  std::unique_ptr<const diffusion::LatentModel> model = describe(checkpoint), refiner;
  if (request.refiner) refiner = describe(*request.refiner);
  return std::make_unique<diffusion::LatentImageModel>(checkpoint, std::move(model), std::move(refiner), device, request);
}

}  // namespace hearth::models
