// A pass: a request with all defaults filled in, its schedule and its parsed prompts. Everything that is known before
// computation starts.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "models/diffusion/editing.h"
#include "models/diffusion/latent_model.h"
#include "sampling/samplers.h"

namespace hearth::models::diffusion {

// The model, and optionally a second one: a refiner, which executes the last steps, or the model's own (LatentModel::second).
using Members = std::vector<std::unique_ptr<const LatentModel>>;

// One member's share of a pass: the steps [begin, end) of its own schedule.
struct Stage {
  sampling::Schedule steps_to_take;
  std::shared_ptr<const ReadPrompts> prompts = {};  // null: those of the stage before
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
  std::array<int64_t, 4> latents{};  // [B, h, w, C]
  sampling::Guidance guidance = {};
  bool from_noise = false;  // starts from noise of its own, given the latents of the stage before; else from these
};

struct Pass : ResolvedImage {
  ImageTask task;  // the task that was resolved
  const sampling::Sampler* sampling = nullptr;
  EditPlan edit;
  std::vector<Pixels> references;             // those of the task, for ReferenceImages::as_latents as they are encoded
  std::vector<Stage> stages;                  // one for each member
  std::vector<RunControl> controls;           // of the first member, in_fixed_order()
  std::vector<RunImagePrompt> image_prompts;  // of the first member, in_fixed_order()
  std::vector<size_t> control_members;        // of `controls` and `image_prompts`, each once
  std::vector<int64_t> calls_before;          // of each step of the first member, if known; for controls

  sampling::Unconditional unconditional() const {
    return sampling->needs_unconditional ? sampling::Unconditional::needed : sampling::Unconditional::unused;
  }
  sampling::NoiseRequest draws() const;         // the noise request of this run
  std::vector<MemberComponent> unused() const;  // components that the run does not use
};

// UsageError or UnsupportedError if the task has control networks with the model or with settings that none can have.
void check_controls(const Facts& model, const ImageTask& task);
// `controls`: those of the task, in_fixed_order(). UsageError, UnsupportedError: as ImageModel::prepare.
Pass resolve(const Members& members, const ImageTask& task, std::vector<RunControl> controls, Backend& host);

// UsageError or UnsupportedError if a run cannot resume from a state.
void require_resumable(const Pass& pass);

}  // namespace hearth::models::diffusion
