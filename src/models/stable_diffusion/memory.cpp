#include "models/stable_diffusion/memory.h"

#include <limits>

#include "core/error.h"
#include "core/memory.h"
#include "models/stable_diffusion/hires.h"

namespace hearth::models::stable_diffusion {

std::vector<MemoryPlan> memory_modes(const StableDiffusionConfig& config, const ImageRequest& request, const Resolved& p, int64_t limit) {
  using Tiling = ImageRequest::Tiling;
  const int64_t factor = config.vae.factor(), unit = config.vae.tile_unit;
  if (request.vae_tile && (request.vae_tiling == Tiling::off || (request.vae_tiling == Tiling::automatic && limit == 0)))
    fail<UsageError>("generate: a tile size acts only with VAE tiling on, or automatic under a memory limit");
  if (request.vae_tile && (*request.vae_tile < unit * factor || *request.vae_tile % (unit * factor) != 0))
    fail<UsageError>("generate: tiles of {} pixels do not fit, needed a multiple of {}", *request.vae_tile, unit * factor);
  const int64_t tile = request.vae_tile ? *request.vae_tile / factor : config.vae.tile, side = std::max(p.latents[1], p.latents[2]);

  std::vector<MemoryPlan> modes;
  const auto add = [&](bool everything, std::optional<int64_t> of_tiles) {
    MemoryPlan m{.everything = everything, .release = request.last || !everything, .tile = of_tiles};
    m.mode = everything ? (m.release ? "networks are let go of when they have done their work" : "all networks stay in memory")
                        : "each network is loaded for its own work only";
    if (m.tile && *m.tile < side && request.decode) {
      m.mode += fmt::format(", VAE in tiles of {} pixels", *m.tile * factor);
      m.warnings.push_back(fmt::format("the picture is decoded in tiles of {} pixels: not quite that of a whole decode", *m.tile * factor));
    }
    modes.push_back(std::move(m));
  };
  const auto always = request.vae_tiling == Tiling::on ? std::optional(tile) : std::nullopt;
  add(true, always);
  if (limit == 0) return modes;
  add(false, always);
  if (request.vae_tiling != Tiling::automatic || !request.decode) return modes;
  const int64_t smallest = request.vae_tile ? tile : std::min<int64_t>(tile, 16);
  for (int64_t t = tile; t >= smallest; t = t / 2 / unit * unit)
    if (t < side) add(false, t);
  return modes;
}

// After six steps a sampler remembers all that it ever will.
void measure(MemoryPlan& plan, const StableDiffusionConfig& config, const ImageRequest& request, const Resolved& p,
             const Networks& networks, Backend& device) {
  MemoryLedger ledger;
  const auto twin = device.dry_twin(ledger);
  Networks dry_networks = networks.on(*twin, ledger);
  if (plan.everything) dry_networks.load({});
  const int64_t loading = ledger.use().peak;
  plan.weights = ledger.use().now;
  ledger.reset_peak();
  const auto attempt = [&](const ImageRequest& asked, const Resolved& whole, const MemoryPlan& how) {
    Resolved few = whole;
    const auto shorten = [](Stage& stage) { stage.steps_to_take.steps.resize(std::min<size_t>(stage.steps_to_take.steps.size(), 6)); };
    shorten(few.base);
    if (few.refiner) shorten(*few.refiner), few.base.end = few.refiner->begin = 0;
    few.guidance.lowest = 0, few.guidance.highest = std::numeric_limits<double>::infinity();  // every step may be the widest
    few.guidance.options["start"] = 0, few.guidance.options["stop"] = 1;
    ImageRequest dry = asked;
    dry.stop_after = 0, dry.resume = nullptr;
    if (asked.noise) dry.noise = Tensor::empty(*twin, asked.noise.shape());
    if (asked.edit.latents) dry.edit.latents = Tensor::empty(*twin, asked.edit.latents.shape());
    run(config, dry, few, how, *twin, dry_networks, {});
  };
  if (request.hires) {
    ImageRequest first = first_pass(request);
    first.decode = !find_upscaler(request.hires->upscaler).of_latents;  // between the passes
    const ImageRequest second = second_pass(config, request, device);
    attempt(first, resolve(config, first, device), of_first_pass(plan));
    attempt(second, resolve(config, second, device), plan);
  } else {
    attempt(request, p, plan);
  }
  plan.activations = ledger.use().peak - plan.weights;

  // Beside tensors: the program itself, buffers of others, and what the pictures take on their way into files.
  const int64_t buffers = MemoryLedger::process().use().now, others = std::max<int64_t>(0, buffers - networks.bytes_loaded());
  const int64_t program = std::max<int64_t>(0, process_resident_bytes() - buffers);
  constexpr int64_t files = 24 << 20;
  plan.process =
      program + others + std::max(loading, ledger.use().peak) + device.most_thread_scratch() + files + 8 * p.batch * p.width * p.height;
}

}  // namespace hearth::models::stable_diffusion
