// The networks of a model: their files, and which of them are in memory. The same code loads, checks, plans, releases and reports any
// list of components.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/memory.h"
#include "models/loading.h"
#include "weights/block_stream.h"

namespace hearth {
class SplitBackend;  // backends/split/split_backend.h
}

namespace hearth::adapters {
struct AdaptedNetwork;  // adapters/module_names.h
}

namespace hearth::models::diffusion {

using models::Placement, models::Residence, models::Role;

// A component as declared by a model. `build` constructs its network from its weights.
struct ComponentSpec {
  std::string name;  // as in model_index.json: "unet"
  Role role = Role::denoiser;
  std::function<std::shared_ptr<const void>(const Scope&)> build;
  std::vector<std::string> idle = {};  // LoadOptions::idle: tensors that are never used; some files have NaN in them
};

// Index of a network of type N among its model's components.
template <class N> struct Slot { size_t index = 0; };

// Components in the order in which the model declares them.
class ComponentList {
 public:
  // `build`: const Scope& → N, or a subclass of N.
  template <class N, class Build> Slot<N> add(std::string name, Role role, Build build, std::vector<std::string> idle = {}) {
    const auto shared = [build = std::move(build)](const Scope& w) -> std::shared_ptr<const void> {
      std::shared_ptr<const N> network = std::make_shared<std::invoke_result_t<Build, const Scope&>>(build(w));
      return network;
    };
    specs.push_back({.name = std::move(name), .role = role, .build = shared, .idle = std::move(idle)});
    return {specs.size() - 1};
  }

  std::vector<ComponentSpec> specs;
};

// The networks of one model that a run holds, in the order of its components.
class Loaded {
 public:
  Loaded(std::span<const std::shared_ptr<const void>> networks) : networks_(networks) {}
  template <class N> const N& operator[](Slot<N> slot) const { return *static_cast<const N*>(networks_[slot.index].get()); }
  const void* any(size_t index) const { return networks_[index].get(); }

 private:
  std::span<const std::shared_ptr<const void>> networks_;
};

// A component of a member, by its name.
struct MemberComponent {
  size_t member = 0;
  std::string name;
  friend bool operator==(const MemberComponent&, const MemberComponent&) = default;
};

// Selects components: those of a role, of a member, or all; except those that a run does not use. A run of two checkpoints has two members.
// Control networks are selected only if `controls` lists their members.
struct Which {
  std::optional<Role> role = {};
  std::optional<size_t> member = {};
  std::span<const MemberComponent> without = {};
  std::span<const size_t> controls = {};
};

// What a run changes about the weights of components, by their names in reports. The run builds networks of its own for them.
using Changes = std::map<std::string, std::shared_ptr<const WeightChanges>>;

// Thread-safe. A run works with a Holding.
class Networks {
 public:
  struct Member {
    const Checkpoint& checkpoint;
    std::vector<ComponentSpec> components;
    std::string prefix = {};       // prefix of its components' names in reports: "refiner/"
    std::vector<Role> roles = {};  // of the components to open; empty: all
  };
  // Opens the files and reads their headers; loads nothing. Components are on `device` unless the request names another. Networks are
  // loaded in this order: the text and image encoders of all members, then the remaining components of each.
  Networks(const std::vector<Member>& members, Backend& device, const LoadRequest& request);
  // The same files for dry twins of the devices. `ledger` counts the memory of a run on them, and the part of a file that is in memory
  // during loading.
  Networks(const Networks& other, MemoryLedger& ledger);

  // Adds a preview decoder, with files of its own, as the first member's last component. Call it before the first run.
  void add_preview(const GivenComponent& given, ComponentSpec spec);

  // Adds a control network as a component of a member of its own, which it returns; it runs on the first denoiser's device and in its
  // precision. WeightError as check_names().
  size_t add_control(const GivenComponent& given, ComponentSpec spec);
  std::shared_ptr<TensorSource> tensors_of_denoiser() const;  // the first member's
  // Releases the control networks that are not among these members. Those of files that have changed are not used any more.
  void release_other_controls(std::span<const size_t> kept);
  void retire_control(size_t member);

  // Loads missing components, and those that are loaded with another residence, all or nothing: WeightError lists every missing,
  // misshapen, non-finite and unread tensor of the first component that has any. Phase "load", in bytes.
  void load(const Which& which, const OnProgress& progress, const Placement& placement = {});
  // Releases them; a run that holds them keeps them until its end.
  void release(const Which& which);

  // Throws the same WeightError for components that are not loaded, without loading them. check_numbers_once: for their data, of each
  // component once, except where blocks are checked when the run reaches them.
  void check_names();
  void check_numbers_once(const Which& which, const Residence& resident);
  void require_unchanged() const;  // IoError if a file was modified since it was opened

  // The first member's networks that adapters may change.
  std::vector<adapters::AdaptedNetwork> adapted() const;

  bool has(Role role) const;
  Backend& device(const Which& which) const;         // of the first of them
  int64_t most_thread_scratch() const;               // Backend::most_thread_scratch of all devices
  Backend& host() const { return device_->host(); }  // of the samplers
  std::vector<SplitBackend*> splits() const;         // those of the devices that have two sides
  std::string first_name(const Which& which) const;  // of the first of them, as in reports
  int64_t bytes_loaded() const;
  std::vector<ComponentReport> reports(const Which& which = {}) const;  // member by member, without the preview decoder

 private:
  friend class Holding;

  struct Place {
    double resident = 1;
    int64_t on_card = all_blocks;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Component {
    ComponentSpec spec;
    size_t member = 0;
    bool used = true;  // Member::roles
    Backend* device = nullptr;
    std::shared_ptr<TensorSource> source;
    std::vector<std::filesystem::path> paths;
    std::vector<std::string> ignored;
    std::string part_of_files;  // for the packed-weight cache
    WeightTypes types;
    int64_t bytes = 0, largest = 0;  // in the files; of the largest tensor
    ComponentReport report;
    const NetworkFiles* layouts = nullptr;
    std::vector<std::string> prefixes;               // of its names in single files
    std::shared_ptr<const void> network;             // if loaded
    std::shared_ptr<LoadedWeights> loaded;           // of that network
    Place place;                                     // as it was loaded
    std::optional<std::vector<std::string>> blocks;  // of the network, on a device with two sides (weights/offload.h)
    // The network of the last run that changed its weights, until another run changes them otherwise.
    struct Changed {
      std::string key;  // WeightChanges::key
      std::shared_ptr<const void> network;
      Place place = {};
    } changed;
    std::shared_ptr<KnownTensors> known = std::make_shared<KnownTensors>();
    std::shared_ptr<BlockUse> use = std::make_shared<BlockUse>();
    bool numbers_checked = false;
  };
  void describe(Component& c, const std::optional<WeightTypes>& asked);
  void load_locked(const Which& which, const OnProgress& progress, const Placement& placement, const Changes& changes = {},
                   bool keeps_own = true);
  std::shared_ptr<const void> build(Component& c, Weights::Reading reading, const OnProgress& progress, const Place& place,
                                    const std::shared_ptr<const WeightChanges>& changes = {});
  Place place_of(const Placement& placement, const Component& c) const;
  void find_blocks(Component& c);
  static bool is_in(const Component& c, const Which& which);
  static ComponentReport report_of(const Component& c);
  std::vector<Component*> in_order(const Which& which);

  std::vector<std::unique_ptr<Backend>> twins_;
  mutable std::mutex mutex_;
  std::vector<Component> components_;  // member by member
  Backend* device_;
  std::optional<WeightTypes> asked_of_denoiser_;
  int64_t card_blocks_ = all_blocks;
  std::filesystem::path cache_;
  std::function<void(const std::string&)> warn_;
  MemoryLedger* ledger_ = nullptr;
};

// The networks that one run holds: they stay in memory, whatever other runs of the same model do.
class Holding {
 public:
  // keeps_own: where a run changes weights, the model's own network is loaded, too, for later runs; both share all other weights.
  explicit Holding(Networks& networks, Placement placement = {}, Changes changes = {}, bool keeps_own = true);

  void load(const Which& which, const OnProgress& progress);  // Networks::load, and holds them
  void release(const Which& which);                           // releases them, here and in the model
  bool has(const Which& which) const;                         // all of them

  Loaded of(size_t member) const;
  Networks& networks() const { return networks_; }

 private:
  Networks& networks_;
  const Placement placement_;
  const Changes changes_;
  const bool keeps_own_;
  std::vector<std::shared_ptr<const void>> held_;  // as Networks::components_
};

}  // namespace hearth::models::diffusion
