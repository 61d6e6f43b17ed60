// A pass: a request with every default of the model filled in, its schedule made and its prompts read. All that can be known before
// anything is computed.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "models/diffusion/editing.h"
#include "models/diffusion/latent_model.h"
#include "sampling/samplers.h"

namespace hearth::models::diffusion {

// The model, and a second one that does the last steps where there is one: the refiner.
using Members = std::vector<std::unique_ptr<const LatentModel>>;

// One member's part of a pass: the steps from `begin` on and before `end` of its own schedule.
struct Stage {
  sampling::Schedule steps_to_take;
  std::shared_ptr<const ReadPrompts> prompts;
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

struct Pass : ResolvedImage {
  ImageTask task;  // what it was resolved from
  const sampling::Sampler* sampling = nullptr;
  EditPlan edit;
  std::vector<Stage> stages;  // one for each member

  sampling::Unconditional unconditional() const {
    return sampling->needs_unconditional ? sampling::Unconditional::needed : sampling::Unconditional::unused;
  }
  sampling::NoiseRequest draws() const;  // of the noise of this run
};

// UsageError, UnsupportedError: as ImageModel::prepare.
Pass resolve(const Members& members, const ImageTask& task, Backend& host);

// UsageError, UnsupportedError where a run cannot go on from a state.
void require_resumable(const Pass& pass);

}  // namespace hearth::models::diffusion
