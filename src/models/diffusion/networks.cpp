#include "models/diffusion/networks.h"

#include <algorithm>
#include <map>
#include <set>

#include "adapters/module_names.h"
#include "backends/split/split_backend.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/factors.h"
#include "weights/changes.h"
#include "weights/offload.h"
#include "weights/packed_cache.h"

namespace hearth::models::diffusion {
namespace {

namespace fs = std::filesystem;

double part_of(const Residence& resident, const std::string& component) {
  const auto found = resident.find(component);
  return found == resident.end() ? 1 : found->second;
}

bool has_two_sides(const Backend& device) { return dynamic_cast<const SplitBackend*>(&device) != nullptr; }

}  // namespace

Networks::Networks(const std::vector<Member>& members, Backend& device, const LoadRequest& request)
    : device_(&device), card_blocks_(request.card_blocks), cache_(request.cache), warn_(request.warn) {
  for (size_t m = 0; m < members.size(); ++m) {
    const Checkpoint& checkpoint = members[m].checkpoint;
    for (const ComponentSpec& spec : members[m].components) {
      Component& c = components_.emplace_back(Component{.spec = spec, .member = m});
      c.used = members[m].roles.empty() || std::ranges::find(members[m].roles, spec.role) != members[m].roles.end();
      if (!c.used) continue;
      const auto elsewhere = request.devices.find(spec.name);
      c.device = elsewhere == request.devices.end() ? device_ : elsewhere->second;
      c.source = checkpoint.tensors(spec.name, request.variant);
      c.paths = checkpoint.files(spec.name, request.variant).files;
      c.ignored = checkpoint.ignored(spec.name);
      c.part_of_files = checkpoint.part_of_files(spec.name);
      c.layouts = checkpoint.network(spec.name);
      c.prefixes = checkpoint.prefixes(spec.name);
      c.report = {.name = members[m].prefix + spec.name, .class_name = checkpoint.component(spec.name).class_name, .role = spec.role};
      // As in the first member's checkpoint.
      const Checkpoint& first = members[0].checkpoint;
      for (const fs::path& file : c.paths) c.report.files.push_back(first.shown(file));
      describe(c, request.types_of(spec.name));
      if (spec.role == Role::denoiser && m == 0) asked_of_denoiser_ = request.types_of(spec.name);
    }
  }
  for (const Component& c : components_)
    if (c.used) require_cache(cache_, *c.device);
}

Networks::Networks(const Networks& other, MemoryLedger& ledger) : card_blocks_(other.card_blocks_), warn_(other.warn_), ledger_(&ledger) {
  const std::lock_guard lock(other.mutex_);
  std::map<Backend*, Backend*> twins;
  const auto twin_of = [&](Backend* device) {
    Backend*& twin = twins[device];
    if (!twin) twin = twins_.emplace_back(device->dry_twin(ledger)).get();
    return twin;
  };
  device_ = twin_of(other.device_);
  components_ = other.components_;
  for (Component& c : components_) {
    c.network = nullptr, c.loaded = nullptr, c.changed = {};
    c.known = nullptr, c.use = nullptr;
    if (c.device) c.device = twin_of(c.device);
  }
}

void Networks::add_preview(const GivenComponent& given, ComponentSpec spec) {
  const auto after_first = std::ranges::find_if(components_, [](const Component& c) { return c.member > 0; });
  Component& c =
      *components_.insert(after_first, Component{.spec = std::move(spec),
                                                 .device = device_,
                                                 .source = given.tensors,
                                                 .paths = given.files,
                                                 .ignored = {"encoder.*"},
                                                 .part_of_files = "preview",
                                                 .report = {.name = "preview", .class_name = given.class_name, .role = Role::preview}});
  describe(c, {});
}

size_t Networks::add_control(const GivenComponent& given, ComponentSpec spec) {
  const std::lock_guard lock(mutex_);
  const auto denoiser = std::ranges::find_if(components_, [](const Component& c) { return c.spec.role == Role::denoiser; });
  const size_t member = 1 + std::ranges::max(components_, {}, &Component::member).member;
  const std::string name = spec.name;
  Component added{.spec = std::move(spec),
                  .member = std::max<size_t>(member, 2),  // after a refiner
                  .device = denoiser->device,
                  .source = given.tensors,
                  .paths = given.files,
                  .ignored = given.network->ignored,
                  .part_of_files = "control",
                  .report = {.name = fmt::format("{} {}", name, given.files.at(0).filename().string()), .role = Role::control}};
  added.report.class_name = given.class_name;
  for (const fs::path& file : given.files) added.report.files.push_back(file.string());
  describe(added, asked_of_denoiser_);
  build(added, Weights::Reading::names, {}, place_of({}, added));
  components_.push_back(std::move(added));
  return components_.back().member;
}

std::shared_ptr<TensorSource> Networks::tensors_of_denoiser() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find_if(components_, [](const Component& c) { return c.spec.role == Role::denoiser; })->source;
}

void Networks::release_other_controls(std::span<const size_t> kept) {
  const std::lock_guard lock(mutex_);
  for (Component& c : components_)
    if (c.spec.role == Role::control && std::ranges::find(kept, c.member) == kept.end()) c.network = nullptr;
}

void Networks::retire_control(size_t member) {
  const std::lock_guard lock(mutex_);
  for (Component& c : components_)
    if (c.member == member) c.used = false, c.network = nullptr;
}

void Networks::describe(Component& c, const std::optional<WeightTypes>& asked) {
  std::map<DType, int64_t> values;
  for (const auto& [tensor, info] : c.source->list()) {
    values[info.dtype] += info.shape.numel();
    const int64_t bytes = int64_t(bytes_of(info.dtype, info.shape.numel()));
    c.bytes += bytes;
    c.largest = std::max(c.largest, bytes);
    c.report.stored[std::string(name_of(info.dtype))] += info.shape.numel();
  }
  c.types = asked ? *asked : automatic_types(*c.source, *c.device);
  // Of most values, as of most work.
  const auto most = std::ranges::max_element(values, {}, &std::pair<const DType, int64_t>::second);
  const bool compact = most != values.end() && is_compact(most->first);
  const DType factors = compact ? c.types.compact_factors.value_or(c.types.factors) : c.types.factors;
  c.report.held = c.types.hold && !compact ? std::string(name_of(*c.types.hold)) : "as stored";
  c.report.factors = name_of(compact ? factors_for({.hold = most->first, .factors = factors, .in_place = true}) : factors);
  c.report.device = c.device->name();
}

Networks::Place Networks::place_of(const Placement& placement, const Component& c) const {
  const auto own = placement.on_card.find(c.report.name);
  return {.resident = part_of(placement.resident, c.report.name), .on_card = own == placement.on_card.end() ? card_blocks_ : own->second};
}

// In the order in which the network requests their tensors.
void Networks::find_blocks(Component& c) {
  if (c.blocks || !has_two_sides(*c.device)) return;
  Weights names(c.source, *c.device, {.types = c.types}, Weights::Reading::names);
  c.spec.build(Scope(names));
  c.blocks = blocks_of(names.requested());
}

std::shared_ptr<const void> Networks::build(Component& c, Weights::Reading reading, const OnProgress& progress, const Place& place,
                                            const std::shared_ptr<const WeightChanges>& changes) {
  find_blocks(c);
  LoadOptions options{.types = c.types,
                      .progress = progress,
                      .ignore = c.ignored,
                      .idle = c.spec.idle,
                      .resident = place.resident,
                      .known = c.known,
                      .use = c.use};
  if (c.blocks) options.offload = std::make_shared<const Offload>(*c.blocks, place.on_card);
  if (changes) {
    options.changes = changes;
    options.shared = c.loaded;
    if (c.known) options.known = std::make_shared<KnownTensors>();
  } else if (reading == Weights::Reading::full) {
    options.keep = c.loaded = std::make_shared<LoadedWeights>();
  }
  if (reading == Weights::Reading::full && !cache_.empty()) {
    options.cache = open_cache(cache_, c.paths, c.types, *c.device, warn_, c.part_of_files);
    options.cache_of_part = [folder = cache_, paths = c.paths, whole = c.part_of_files, types = c.types, device = c.device,
                             warn = warn_](const std::string& part) {
      return open_cache(folder, paths, types, *device, warn, whole.empty() ? part : whole + ", " + part);
    };
  }
  Weights weights(changes ? hearth::changed(c.source, changes) : c.source, *c.device, options, reading);
  std::shared_ptr<const void> network = c.spec.build(Scope(weights));
  weights.finish();
  if (changes) return network;  // reports are about the model's own
  c.report.parameters = weights.report().parameters;
  c.report.bytes = weights.report().bytes_held + weights.report().bytes_mapped;
  c.report.blocks = weights.report().blocks;
  c.report.blocks_in_memory = weights.report().blocks_in_memory;
  c.report.kept_wider = weights.report().kept_wider;
  if (c.blocks)
    c.report.card = {
        .of_blocks = std::ssize(*c.blocks), .blocks = options.offload->blocks_on_card(), .bytes = weights.report().bytes_on_card};
  if (const auto& bad = weights.report().non_finite; !bad.empty() && warn_ && reading == Weights::Reading::full)
    warn_(fmt::format("{}: NaN or infinite values in '{}'{}; the last layer is not used unless clip skip is 1", c.report.name, bad[0],
                      bad.size() > 1 ? fmt::format(" and {} more tensors", bad.size() - 1) : ""));
  if (ledger_) {  // the file's pages are released tensor by tensor
    ledger_->add(c.largest);
    ledger_->add(-c.largest);
  }
  return network;
}

bool Networks::is_in(const Component& c, const Which& which) {
  if (c.spec.role == Role::control && std::ranges::find(which.controls, c.member) == which.controls.end()) return false;
  return c.used && (!which.role || *which.role == c.spec.role) && (!which.member || *which.member == c.member) &&
         std::ranges::find(which.without, MemberComponent{c.member, c.spec.name}) == which.without.end();
}

std::vector<Networks::Component*> Networks::in_order(const Which& which) {
  std::vector<Component*> all;
  for (Component& c : components_)
    if (is_in(c, which)) all.push_back(&c);
  const auto encodes = [](const Component* c) { return c->spec.role == Role::text_encoder || c->spec.role == Role::image_encoder; };
  std::stable_partition(all.begin(), all.end(), encodes);
  return all;
}

void Networks::load(const Which& which, const OnProgress& progress, const Placement& placement) {
  const std::lock_guard lock(mutex_);
  load_locked(which, progress, placement);
}

void Networks::load_locked(const Which& which, const OnProgress& progress, const Placement& placement, const Changes& changes,
                           bool keeps_own) {
  const std::vector<Component*> all = in_order(which);
  const auto place = [&](const Component* c) { return place_of(placement, *c); };
  const auto change_of = [&](const Component* c) {
    const auto found = changes.find(c->report.name);
    return found == changes.end() ? nullptr : found->second;
  };
  std::vector<Component*> absent = all;
  std::erase_if(absent,
                [&](const Component* c) { return (c->network && c->place == place(c)) || (change_of(c) && !keeps_own && !c->network); });
  int64_t total = 0, before = 0;
  for (Component* c : absent) c->network = nullptr, c->loaded = nullptr, total += c->bytes;
  for (Component* c : absent) {  // progress is reported over all of them
    const auto on_progress = [&](const Progress& p) {
      if (progress) progress({.phase = "load", .done = before + p.done, .total = total});
    };
    c->place = place(c);
    c->network = build(*c, Weights::Reading::full, on_progress, c->place);
    before += c->bytes;
  }
  for (Component* c : all) {
    const auto change = change_of(c);
    if (change && c->changed.network && c->changed.key == change->key && c->changed.place == place(c)) continue;
    c->changed = {};
    if (change)
      c->changed = {.key = change->key, .network = build(*c, Weights::Reading::full, progress, place(c), change), .place = place(c)};
  }
}

void Networks::release(const Which& which) {
  const std::lock_guard lock(mutex_);
  for (Component* c : in_order(which)) c->network = nullptr, c->loaded = nullptr, c->changed = {};
}

void Networks::check_names() {
  const std::lock_guard lock(mutex_);
  for (Component* c : in_order({}))
    if (!c->network) build(*c, Weights::Reading::names, {}, place_of({}, *c));
}

void Networks::check_numbers_once(const Which& which, const Residence& resident) {
  const std::lock_guard lock(mutex_);
  for (Component* c : in_order(which)) {
    if (part_of(resident, c->report.name) < 1) continue;
    if (!c->network && !c->numbers_checked) build(*c, Weights::Reading::numbers, {}, place_of({}, *c));
    c->numbers_checked = true;
  }
}

void Networks::require_unchanged() const {
  const std::lock_guard lock(mutex_);
  for (const Component& c : components_)
    if (c.used) c.source->require_unchanged();
}

std::vector<adapters::AdaptedNetwork> Networks::adapted() const {
  std::vector<adapters::AdaptedNetwork> all;
  for (const Component& c : components_)
    if (c.used && c.member == 0 && (c.spec.role == Role::text_encoder || c.spec.role == Role::denoiser))
      all.push_back({.component = c.report.name,
                     .role = c.spec.role == Role::denoiser ? ComponentRole::denoiser : ComponentRole::text_encoder,
                     .tensors = c.source->list(),
                     .files = c.layouts,
                     .prefixes = c.prefixes,
                     .surplus = c.ignored});
  return all;
}

bool Networks::has(Role role) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(components_, [role](const Component& c) { return c.spec.role == role; });
}

Backend& Networks::device(const Which& which) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(components_, [&](const Component& c) { return is_in(c, which); });
  return found == components_.end() ? *device_ : *found->device;
}

std::vector<SplitBackend*> Networks::splits() const {
  const std::lock_guard lock(mutex_);
  std::set<SplitBackend*> all{dynamic_cast<SplitBackend*>(device_)};
  for (const Component& c : components_)
    if (c.used) all.insert(dynamic_cast<SplitBackend*>(c.device));
  all.erase(nullptr);
  return {all.begin(), all.end()};
}

int64_t Networks::most_thread_scratch() const {
  const std::lock_guard lock(mutex_);
  std::set<Backend*> devices{device_};
  for (const Component& c : components_)
    if (c.used) devices.insert(c.device);
  int64_t bytes = 0;
  for (const Backend* device : devices) bytes += device->most_thread_scratch();
  return bytes;
}

std::string Networks::first_name(const Which& which) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(components_, [&](const Component& c) { return is_in(c, which); });
  return found == components_.end() ? "" : found->report.name;
}

int64_t Networks::bytes_loaded() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const Component& c : components_)
    if (c.network) bytes += c.report.bytes;
  return bytes;
}

// With what is known only once a run has reached the blocks.
ComponentReport Networks::report_of(const Component& c) {
  ComponentReport report = c.report;
  if (c.known)
    for (std::string& name : c.known->kept_wider())
      if (std::ranges::find(report.kept_wider, name) == report.kept_wider.end()) report.kept_wider.push_back(std::move(name));
  if (c.use) {
    const BlockUse::Totals totals = c.use->totals();
    report.block_loads = totals.loads;
    report.block_load_seconds = totals.load_seconds;
    report.block_wait_seconds = totals.waited_seconds;
  }
  return report;
}

std::vector<ComponentReport> Networks::reports(const Which& which) const {
  const std::lock_guard lock(mutex_);
  std::vector<ComponentReport> reports;
  for (const Component& c : components_)
    if (is_in(c, which) && c.spec.role != Role::preview) reports.push_back(report_of(c));
  return reports;
}

Holding::Holding(Networks& networks, Placement placement, Changes changes, bool keeps_own)
    : networks_(networks),
      placement_(std::move(placement)),
      changes_(std::move(changes)),
      keeps_own_(keeps_own),
      held_(networks.components_.size()) {}

void Holding::load(const Which& which, const OnProgress& progress) {
  const std::lock_guard lock(networks_.mutex_);
  networks_.load_locked(which, progress, placement_, changes_, keeps_own_);
  for (size_t i = 0; i < held_.size(); ++i) {
    const Networks::Component& c = networks_.components_[i];
    if (Networks::is_in(c, which) && !held_[i]) held_[i] = changes_.contains(c.report.name) ? c.changed.network : c.network;
  }
}

void Holding::release(const Which& which) {
  networks_.release(which);
  const std::lock_guard lock(networks_.mutex_);
  for (size_t i = 0; i < held_.size(); ++i)
    if (Networks::is_in(networks_.components_[i], which)) held_[i] = nullptr;
}

bool Holding::has(const Which& which) const {
  const std::lock_guard lock(networks_.mutex_);
  for (size_t i = 0; i < held_.size(); ++i)
    if (Networks::is_in(networks_.components_[i], which) && !held_[i]) return false;
  return true;
}

Loaded Holding::of(size_t member) const {
  const std::lock_guard lock(networks_.mutex_);
  const auto mine = [member](const Networks::Component& c) { return c.member == member; };
  const auto begin = std::ranges::find_if(networks_.components_, mine);
  const auto count = std::ranges::count_if(networks_.components_, mine);
  return std::span(held_).subspan(size_t(begin - networks_.components_.begin()), size_t(count));
}

}  // namespace hearth::models::diffusion
