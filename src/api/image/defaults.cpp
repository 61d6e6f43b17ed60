#include "api/image/defaults.h"

#include "api/places.h"
#include "models/checkpoints.h"
#include "models/registry.h"
#include "sampling/samplers.h"
#include "weights/checkpoint.h"

namespace hearth::api {

ImageDefaults image_defaults(const std::filesystem::path& path, const OpenOptions& options) {
  const Checkpoint checkpoint = models::open_checkpoint(path, places_of(path, options));
  const auto model = models::find_family(checkpoint).family.describe(checkpoint);
  const models::diffusion::Facts& facts = model->facts();
  ImageDefaults found{.size = {},
                      .side_unit = facts.side_unit(),
                      .steps = facts.steps,
                      .guidance = facts.guidance,
                      .sampler = std::string(sampling::sampler_of(facts.scheduler).name)};
  if (facts.native) found.size = {(*facts.native)[1], (*facts.native)[0]};
  return found;
}

}  // namespace hearth::api
