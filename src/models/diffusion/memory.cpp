#include "models/diffusion/memory.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/memory.h"
#include "models/diffusion/run.h"
#include "models/diffusion/upscale.h"

namespace hearth::models::diffusion {

std::vector<MemoryPlan> memory_modes(const Facts& facts, const Request& request, std::span<const Pass> passes, int64_t limit) {
  const CodecConfig& codec = facts.codec;
  const bool reads_references = facts.reference_images == ReferenceImages::as_latents;
  using Tiling = VaeTiling;
  const int64_t factor = codec.factor, unit = codec.tile_unit;
  if (request.vae_tile && (request.vae_tiling == Tiling::off || (request.vae_tiling == Tiling::automatic && limit == 0)))
    fail<UsageError>("generate: a tile size is given, expected VAE tiling on, or automatic with a memory limit");
  if (request.vae_tile && (*request.vae_tile < unit * factor || *request.vae_tile % (unit * factor) != 0))
    fail<UsageError>("generate: tile size is {} pixels, expected a multiple of {}", *request.vae_tile, unit * factor);
  const int64_t tile = request.vae_tile ? *request.vae_tile / factor : codec.tile;
  int64_t side = std::max(passes.back().latents[1], passes.back().latents[2]);  // of the largest image, in latent pixels
  bool encodes = std::ranges::any_of(passes, [](const Pass& p) { return !p.task.edit.images.empty() || p.task.edit.control; });
  if (reads_references)
    for (const Pixels& image : passes.back().task.references) {
      side = std::max({side, image.width / factor, image.height / factor});
      encodes = true;
    }

  std::vector<MemoryPlan> modes;
  const auto add = [&](bool everything, std::optional<int64_t> of_tiles) {
    MemoryPlan m{.everything = everything, .release = request.last || !everything, .tile = of_tiles};
    m.mode = everything ? (m.release ? "networks are released when their work is done" : "all networks stay in memory")
                        : "each network is loaded only while it works";
    if (m.tile && *m.tile < side && (request.decode || encodes)) {
      m.mode += fmt::format(", VAE in tiles of {} pixels", *m.tile * factor);
      const char* what = !encodes ? "decode" : request.decode ? "encode and decode" : "encode";
      m.warnings.push_back(
          fmt::format("the VAE works in tiles of {} pixels, so images differ slightly from an untiled {}", *m.tile * factor, what));
    }
    modes.push_back(std::move(m));
  };
  const auto always = request.vae_tiling == Tiling::on ? std::optional(tile) : std::nullopt;
  add(true, always);
  if (limit == 0) return modes;
  add(false, always);
  if (request.vae_tiling != Tiling::automatic || !(request.decode || encodes)) return modes;
  const int64_t smallest = request.vae_tile ? tile : std::min<int64_t>(tile, 16);
  for (int64_t t = tile; t >= smallest; t = t / 2 / unit * unit)
    if (t < side) add(false, t);
  return modes;
}

MemoryPlan of_first_pass(const MemoryPlan& plan) {
  MemoryPlan first = plan;
  first.release = !plan.everything;
  return first;
}

// After six steps the state of every sampler has its full size.
void measure(MemoryPlan& plan, const Members& members, std::span<const Pass> passes, const Networks& networks) {
  MemoryLedger ledger;
  Networks dry_networks(networks, ledger);
  Backend& host = dry_networks.host();
  if (plan.everything) dry_networks.load({.without = passes[0].unused()}, {});
  const int64_t loading = ledger.use().peak;
  plan.weights = ledger.use().now;
  const MemoryWatch running(ledger);
  for (const Pass& pass : passes) {
    Pass few = pass;
    for (Stage& stage : few.stages) {
      stage.steps_to_take.steps.resize(std::min<size_t>(stage.steps_to_take.steps.size(), 6));
      if (few.stages.size() > 1) stage.begin = 0;
    }
    if (few.stages.size() > 1) few.stages[0].end = 0;
    few.guidance.lowest = 0,
    few.guidance.highest = std::numeric_limits<double>::infinity();  // any step may be guided, which takes most memory
    few.guidance.options["start"] = 0, few.guidance.options["stop"] = 1;
    ImageTask& dry = few.task;
    dry.request.stop_after = 0, dry.resume = nullptr;
    if (dry.noise) dry.noise = Tensor::empty(host, dry.noise.shape());
    if (dry.edit.latents) dry.edit.latents = Tensor::empty(host, dry.edit.latents.shape());
    const bool first = passes.size() > 1 && &pass == &passes[0];
    if (first) dry.request.decode = !passes[1].task.edit.latents;  // between the passes
    Holding holding(dry_networks);
    run(members, few, first ? of_first_pass(plan) : plan, holding, {});
  }
  plan.activations = running.peak() - plan.weights;

  // Besides tensors: the program itself, buffers of libraries, and the images on their way into files.
  const int64_t buffers = MemoryLedger::process().use().now, others = std::max<int64_t>(0, buffers - networks.bytes_loaded());
  const int64_t program = std::max<int64_t>(0, process_resident_bytes() - buffers);
  constexpr int64_t files = 24 << 20;
  plan.process = program + others + std::max(loading, ledger.use().peak) + networks.most_thread_scratch() + files +
                 8 * passes.back().batch * passes.back().width * passes.back().height;
}

}  // namespace hearth::models::diffusion
