#include "models/diffusion/networks.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/backend.h"
#include "core/error.h"
#include "weights/component_types.h"
#include "weights/packed_cache.h"

namespace hearth::models::diffusion {
namespace {

namespace fs = std::filesystem;

}  // namespace

Networks::Networks(const std::vector<Member>& members, Backend& device, const LoadRequest& request)
    : device_(&device), cache_(request.cache), warn_(request.warn) {
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
      c.report = {.name = members[m].prefix + spec.name, .class_name = checkpoint.component(spec.name).class_name, .role = spec.role};
      // As in the first member's checkpoint.
      const Checkpoint& first = members[0].checkpoint;
      for (const fs::path& file : c.paths) c.report.files.push_back(first.shown(file));
      describe(c, request.types_of(spec.name));
    }
  }
  for (const Component& c : components_)
    if (c.used) require_cache(cache_, *c.device);
}

Networks::Networks(const Networks& other, MemoryLedger& ledger) : warn_(other.warn_), ledger_(&ledger) {
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
    c.network = nullptr;
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

void Networks::describe(Component& c, const std::optional<WeightTypes>& asked) {
  for (const auto& [tensor, info] : c.source->list()) {
    const int64_t bytes = int64_t(bytes_of(info.dtype, info.shape.numel()));
    c.bytes += bytes;
    c.largest = std::max(c.largest, bytes);
    c.report.stored[std::string(name_of(info.dtype))] += info.shape.numel();
  }
  c.types = component_types(*c.source, *c.device, asked);
  c.report.held = c.types.hold ? std::string(name_of(*c.types.hold)) : "as stored";
  c.report.factors = name_of(c.types.factors);
  c.report.device = c.device->name();
}

std::shared_ptr<const void> Networks::build(Component& c, Weights::Reading reading, const OnProgress& progress) {
  std::unique_ptr<PackedCache> cache;
  LoadOptions options{.types = c.types, .progress = progress, .ignore = c.ignored, .idle = c.spec.idle};
  if (reading == Weights::Reading::full && !cache_.empty()) {
    cache = open_cache(cache_, c.paths, c.types, *c.device, warn_, c.part_of_files);
    options.cache = cache.get();
    options.cache_of_part = [folder = cache_, paths = c.paths, whole = c.part_of_files, types = c.types, device = c.device,
                             warn = warn_](const std::string& part) {
      return open_cache(folder, paths, types, *device, warn, whole.empty() ? part : whole + ", " + part);
    };
  }
  Weights weights(c.source, *c.device, options, reading);
  std::shared_ptr<const void> network = c.spec.build(Scope(weights));
  weights.finish();
  if (cache) cache->finish(c.device->threads());
  c.report.parameters = weights.report().parameters;
  c.report.bytes = weights.report().bytes_held;
  c.report.kept_wider = weights.report().kept_wider;
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

void Networks::load(const Which& which, const OnProgress& progress) {
  const std::lock_guard lock(mutex_);
  load_locked(which, progress);
}

void Networks::load_locked(const Which& which, const OnProgress& progress) {
  std::vector<Component*> absent = in_order(which);
  std::erase_if(absent, [](const Component* c) { return c->network != nullptr; });
  int64_t total = 0, before = 0;
  for (const Component* c : absent) total += c->bytes;
  for (Component* c : absent) {  // progress is reported over all of them
    c->network = build(*c, Weights::Reading::full, [&](const Progress& p) {
      if (progress) progress({.phase = "load", .done = before + p.done, .total = total});
    });
    before += c->bytes;
  }
}

void Networks::release(const Which& which) {
  const std::lock_guard lock(mutex_);
  for (Component* c : in_order(which)) c->network = nullptr;
}

void Networks::check_names() {
  const std::lock_guard lock(mutex_);
  for (Component* c : in_order({}))
    if (!c->network) build(*c, Weights::Reading::names, {});
}

void Networks::check_numbers_once(const Which& which) {
  const std::lock_guard lock(mutex_);
  for (Component* c : in_order(which)) {
    if (!c->network && !c->numbers_checked) build(*c, Weights::Reading::numbers, {});
    c->numbers_checked = true;
  }
}

void Networks::require_unchanged() const {
  for (const Component& c : components_)
    if (c.used) c.source->require_unchanged();
}

bool Networks::has(Role role) const {
  return std::ranges::any_of(components_, [role](const Component& c) { return c.spec.role == role; });
}

Backend& Networks::device(const Which& which) const {
  const auto found = std::ranges::find_if(components_, [&](const Component& c) { return is_in(c, which); });
  return found == components_.end() ? *device_ : *found->device;
}

int64_t Networks::most_thread_scratch() const {
  std::set<Backend*> devices{device_};
  for (const Component& c : components_)
    if (c.used) devices.insert(c.device);
  int64_t bytes = 0;
  for (const Backend* device : devices) bytes += device->most_thread_scratch();
  return bytes;
}

std::string Networks::first_name(const Which& which) const {
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

std::vector<ComponentReport> Networks::reports() const {
  const std::lock_guard lock(mutex_);
  std::vector<ComponentReport> reports;
  for (const Component& c : components_)
    if (c.used && c.spec.role != Role::preview) reports.push_back(c.report);
  return reports;
}

Holding::Holding(Networks& networks) : networks_(networks), held_(networks.components_.size()) {}

void Holding::load(const Which& which, const OnProgress& progress) {
  const std::lock_guard lock(networks_.mutex_);
  networks_.load_locked(which, progress);
  for (size_t i = 0; i < held_.size(); ++i)
    if (Networks::is_in(networks_.components_[i], which) && !held_[i]) held_[i] = networks_.components_[i].network;
}

void Holding::release(const Which& which) {
  networks_.release(which);
  for (size_t i = 0; i < held_.size(); ++i)
    if (Networks::is_in(networks_.components_[i], which)) held_[i] = nullptr;
}

bool Holding::has(const Which& which) const {
  for (size_t i = 0; i < held_.size(); ++i)
    if (Networks::is_in(networks_.components_[i], which) && !held_[i]) return false;
  return true;
}

Loaded Holding::of(size_t member) const {
  const auto mine = [member](const Networks::Component& c) { return c.member == member; };
  const auto begin = std::ranges::find_if(networks_.components_, mine);
  const auto count = std::ranges::count_if(networks_.components_, mine);
  return std::span(held_).subspan(size_t(begin - networks_.components_.begin()), size_t(count));
}

}  // namespace hearth::models::diffusion
