#include "models/diffusion/memory.h"

#include <algorithm>
#include <limits>

#include "backends/split/split_backend.h"
#include "core/error.h"
#include "core/files/mapped_file.h"
#include "core/memory.h"
#include "core/text/bytes.h"
#include "core/threads.h"
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
  const auto sees_latents = [](const RunControl& c) { return c.model->sight() != ControlSight::pixels; };
  bool encodes = std::ranges::any_of(passes, [&](const Pass& p) {
    return !p.task.edit.images.empty() || p.task.edit.control || std::ranges::any_of(p.controls, sees_latents);
  });
  if (reads_references)
    for (const Pixels& image : passes.back().references) {
      side = std::max({side, image.width / factor, image.height / factor});
      encodes = true;
    }

  std::vector<MemoryPlan> modes;
  const auto add = [&](bool everything, std::optional<int64_t> of_tiles) {
    MemoryPlan m{.everything = everything, .release = request.last || !everything, .tile = of_tiles};
    m.base_mode = everything ? (m.release ? "networks are released when their work is done" : "all networks stay in memory")
                             : "each network is loaded only while it works";
    if (m.tile && *m.tile < side && (request.decode || encodes)) {
      m.base_mode += fmt::format(", VAE in tiles of {} pixels", *m.tile * factor);
      const char* what = !encodes ? "decode" : request.decode ? "encode and decode" : "encode";
      m.warnings.push_back(
          fmt::format("the VAE works in tiles of {} pixels, so images differ slightly from an untiled {}", *m.tile * factor, what));
    }
    m.mode = m.base_mode;
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

MemoryPlan streaming_mode(std::span<const MemoryPlan> modes, std::span<const ComponentReport> components, int64_t limit,
                          const std::function<void(MemoryPlan&)>& measure) {
  const auto least_of = [&](MemoryPlan plan) {
    for (const ComponentReport& c : components)
      if (c.blocks > 1) plan.resident[c.name] = 0;
    if (!plan.resident.empty()) measure(plan);
    return plan;
  };
  std::optional<MemoryPlan> best;
  for (const MemoryPlan& mode : modes) {
    if (mode.everything) continue;
    MemoryPlan least = least_of(mode);
    if (!best || least.process < best->process) best = std::move(least);
    if (best->process <= limit) break;
  }
  if (!best) return *std::ranges::min_element(modes, {}, &MemoryPlan::process);
  if (best->process > limit) return *best;

  std::vector<const ComponentReport*> small_first;
  for (const ComponentReport& c : components)
    if (best->resident.contains(c.name)) small_first.push_back(&c);
  std::ranges::stable_sort(small_first, {}, &ComponentReport::parameters);
  for (const ComponentReport* c : small_first) {
    MemoryPlan more = *best;
    more.resident.erase(c->name);
    measure(more);
    if (more.process <= limit) {
      best = std::move(more);
      continue;
    }
    for (int64_t fits = 0, too_many = c->blocks; too_many - fits > 1;) {
      const int64_t blocks = (fits + too_many) / 2;
      MemoryPlan between = *best;
      between.resident[c->name] = (double(blocks) + 0.5) / double(c->blocks);
      measure(between);
      if (between.process > limit) too_many = blocks;
      else fits = blocks, best = std::move(between);
    }
  }
  return *best;
}

void fill_card(MemoryPlan& plan, std::span<const ComponentReport> components, int64_t limit,
               const std::function<void(MemoryPlan&)>& measure) {
  std::vector<const ComponentReport*> by_use;
  for (const Role role : {Role::denoiser, Role::control, Role::codec, Role::text_encoder, Role::image_encoder})
    for (const ComponentReport& c : components)
      if (c.card && c.role == role) by_use.push_back(&c), plan.on_card[c.name] = 0;
  measure(plan);
  const auto fits = [limit](const MemoryPlan& p) { return !p.card || p.card->peak() <= limit; };
  if (!fits(plan)) {
    const auto [needed, had] = in_gigabytes(plan.card->peak(), limit);
    fail<UsageError>(
        "generate: the card needs {} GB besides blocks, expected at most the {} GB of --gpu-memory (by default what the card has free)",
        needed, had);
  }
  for (const ComponentReport* c : by_use) {
    // At `all`, what is outside of blocks is there, too.
    const int64_t all = std::max<int64_t>(1, c->card->of_blocks);
    for (int64_t fit = 0, next = all, too_many = all + 1; too_many - fit > 1; next = (fit + too_many) / 2) {
      MemoryPlan more = plan;
      more.on_card[c->name] = next;
      measure(more);
      if (!fits(more)) too_many = next;
      else fit = next, plan = std::move(more);
    }
  }
}

MemoryPlan of_first_pass(const MemoryPlan& plan) {
  MemoryPlan first = plan;
  first.release = !plan.everything;
  return first;
}

// After six steps the state of every sampler has its full size.
void measure(MemoryPlan& plan, const Members& members, std::span<const Pass> passes, const Networks& networks, const Changes& changes) {
  MemoryLedger ledger;
  Networks dry_networks(networks, ledger);
  Backend& host = dry_networks.host();
  if (plan.everything)
    dry_networks.load({.without = passes[0].unused(), .controls = passes[0].control_members}, {}, {plan.resident, plan.on_card});
  const int64_t loading = ledger.use().peak;
  plan.weights = ledger.use().now;
  plan.card.reset();
  for (SplitBackend* device : dry_networks.splits()) {
    if (!plan.card) plan.card.emplace();
    plan.card->weights += device->card().ledger().use().now;
  }
  const MemoryWatch running(ledger);
  for (const Pass& pass : passes) {
    Pass few = pass;
    for (Stage& stage : few.stages) {
      stage.steps_to_take.steps.resize(std::min<size_t>(stage.steps_to_take.steps.size(), 6));
      if (few.stages.size() > 1) stage.begin = 0;
      stage.guidance.lowest = 0,
      stage.guidance.highest = std::numeric_limits<double>::infinity();  // any step may be guided, which takes most memory
      stage.guidance.options["start"] = 0, stage.guidance.options["stop"] = 1;
    }
    if (few.stages.size() > 1) few.stages[0].end = 0;
    for (RunControl& control : few.controls) control.settings.start = 0, control.settings.end = 1;
    ImageTask& dry = few.task;
    dry.request.stop_after = 0, dry.resume = nullptr;
    if (dry.noise) dry.noise = Tensor::empty(host, dry.noise.shape());
    if (dry.edit.latents) dry.edit.latents = Tensor::empty(host, dry.edit.latents.shape());
    const bool first = passes.size() > 1 && &pass == &passes[0];
    if (first) dry.request.decode = !passes[1].task.edit.latents;  // between the passes
    Holding holding(dry_networks, {plan.resident, plan.on_card}, changes, !plan.release);
    run(members, few, first ? of_first_pass(plan) : plan, holding, {});
  }
  plan.activations = running.peak() - plan.weights;
  for (SplitBackend* device : dry_networks.splits()) plan.card->activations += device->card().ledger().use().peak;
  if (plan.card) plan.card->activations -= plan.card->weights;

  // Besides tensors: the program itself, buffers of libraries, and the images on their way into files.
  const MemoryUse now = MemoryLedger::process().use();
  const int64_t others = std::max<int64_t>(0, now.now - networks.bytes_loaded());
  const int64_t program = std::max<int64_t>(0, process_resident_bytes() - MappedFile::resident_bytes() - (now.now - now.mapped));
  const int64_t scratch = networks.most_thread_scratch();
  const int threads = host.threads().size();
  const int64_t of_loading = plan.resident.empty() ? 0 : scratch / threads * BlockStream::loading_threads(threads);
  constexpr int64_t files = 24 << 20;
  plan.process = program + others + std::max(loading, ledger.use().peak) + scratch + of_loading + files +
                 8 * passes.back().batch * passes.back().width * passes.back().height;
  plan.mode = plan.base_mode;
  for (const ComponentReport& c : dry_networks.reports({.controls = passes[0].control_members})) {
    plan.held[c.name] = c.bytes - (c.card ? c.card->bytes : 0);
    if (c.card && c.card->all()) plan.mode += fmt::format(", {} on the card", c.name);
    else if (c.card && c.card->blocks > 0)
      plan.mode += fmt::format(", {} of {} blocks of {} on the card", c.card->blocks, c.card->of_blocks, c.name);
    if (plan.resident.contains(c.name))
      plan.mode += fmt::format(", {} streamed: {} of {} blocks stay in memory", c.name, c.blocks_in_memory, c.blocks);
  }
}

}  // namespace hearth::models::diffusion
