#include "models/stable_diffusion/pipeline.h"

#include <utility>

#include "core/bytes.h"
#include "core/error.h"
#include "core/memory.h"
#include "models/stable_diffusion/hires.h"
#include "models/stable_diffusion/memory.h"
#include "models/stable_diffusion/run.h"

namespace hearth::models::stable_diffusion {

StableDiffusion::StableDiffusion(const Checkpoint& checkpoint, Backend& device, const Family& family, const LoadRequest& request)
    : device_(device),
      memory_limit_(request.memory_limit),
      config_(StableDiffusionConfig::from(checkpoint, family, request.refiner)),
      networks_(checkpoint, config_, device, request) {
  if (request.when_needed || memory_limit_ > 0) {
    networks_.check(Weights::Reading::names);
  } else {
    require_room();
    networks_.load(request.progress);
  }
}

// Before minutes of reading: is there memory for all networks at once?
void StableDiffusion::require_room() const {
  MemoryLedger ledger;
  const auto twin = device_.dry_twin(ledger);
  try {
    networks_.on(*twin, ledger).load({});
  } catch (const WeightError&) { return; }  // loading finds more of what is wrong
  const int64_t needed = ledger.use().peak, available = system_available_bytes();
  if (available <= 0 || needed <= available) return;
  const auto [all, had] = in_gigabytes(needed, available);
  fail<UsageError>("open: the networks need {} GB of memory, {} GB are available; loaded when needed they take less", all, had);
}

Resolved StableDiffusion::resolved(const ImageRequest& request) const {
  if (request.preview && !config_.vae.encodes && !networks_.decodes_previews())
    fail<UsageError>("generate: previews, but the autoencoder is a decoder alone, needed its encoder or a preview decoder");
  return request.hires ? resolve_twice(config_, request, device_) : stable_diffusion::resolve(config_, request, device_);
}

ResolvedImage StableDiffusion::resolve(const ImageRequest& request) const { return resolved(request); }

MemoryPlan StableDiffusion::plan(const ImageRequest& request) {
  const Resolved p = resolved(request);
  std::optional<MemoryPlan> best;
  for (MemoryPlan& mode : memory_modes(config_, request, p, memory_limit_)) {
    measure(mode, config_, request, p, networks_, device_);
    if (memory_limit_ == 0 || mode.process <= memory_limit_) return mode;
    if (!best || mode.process < best->process) best = std::move(mode);
  }
  const auto [needed, limit] = in_gigabytes(best->process, memory_limit_);
  fail<UsageError>("generate: {} of {}×{} need at least {} GB ({}), the memory limit is {} GB", p.batch, p.width, p.height, needed,
                   best->mode, limit);
}

ImageResult StableDiffusion::draw(const ImageRequest& request, const MemoryPlan& plan, const OnProgress& progress) {
  networks_.require_unchanged();
  if (!plan.everything) {
    networks_.clear();
    // A number that is none should not be found after the work of all steps.
    if (!std::exchange(numbers_checked_, true)) networks_.check(Weights::Reading::numbers);
  }
  if (request.hires) return run_twice(config_, request, plan, device_, networks_, progress);
  return run(config_, request, resolved(request), plan, device_, networks_, progress);
}

Tensor StableDiffusion::encode(const Tensor& pictures) {
  networks_.load_vae({});
  return networks_.vae->to_model(networks_.vae->encode(pictures).mode());
}

Tensor StableDiffusion::decode(const Tensor& latents) {
  networks_.load_vae({});
  return networks_.vae->decode(latents);
}

}  // namespace hearth::models::stable_diffusion
