#include "adapters/adapters.h"

#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>
#include <set>

#include "adapters/deltas.h"
#include "core/error.h"
#include "core/on_host.h"
#include "weights/listing.h"
#include "weights/name_pattern.h"

namespace hearth::adapters {
namespace {

// All deltas of one weight, of all adapters.
struct OfWeight {
  std::vector<Delta> low_rank, weight, bias;
};
using OfNetwork = std::map<std::string, OfWeight>;  // by official module

std::vector<std::string> quoted(std::span<const std::string> names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back("'" + name + "'");
  return all;
}

// What the file itself says it is for.
std::string stated_purpose(const AdapterFile& file) {
  for (const char* key : {"modelspec.architecture", "ss_base_model_version"})
    if (const auto found = file.metadata.find(key); found != file.metadata.end() && !found->second.empty())
      return fmt::format(" (the file says that it is for '{}')", found->second);
  return {};
}

// Most of an adapter for another model has no place, or another shape.
void require_own(const AdapterFile& file, const Coverage& c, std::span<const AdaptedNetwork> networks) {
  if (2 * c.modules > int64_t(c.absent.size())) return;
  std::vector<std::string> names;
  for (const AdaptedNetwork& n : networks) names.push_back(n.component);
  ForeignAdapter error(one_line(fmt::format("{}: the adapter is for another model{}: {} of its {} modules fit the model's {}, not {}",
                                            c.path.string(), stated_purpose(file), c.modules, c.modules + int64_t(c.absent.size()),
                                            fmt::join(names, ", "), shortened_list(quoted(c.absent)))));
  error.path = c.path;
  throw error;
}

Coverage without_unknown(Coverage c) {
  c.unknown.clear();
  return c;
}

void require_covered(const AdapterFile& file, const Coverage& c) {
  if (!c.unknown.empty())
    fail<WeightError>("{}: {} tensors are no part of an adapter that hearth knows: {}", c.path.string(), c.unknown.size(),
                      shortened_list(quoted(c.unknown)));
  if (!c.absent.empty())
    fail<WeightError>("{}: the model lacks {} of the adapter's {} modules{}: {}", c.path.string(), c.absent.size(),
                      c.absent.size() + size_t(c.modules), stated_purpose(file), shortened_list(quoted(c.absent)));
}

bool applies(const PartStrength& part, const ChangedWeight& w) {
  return matches(part.pattern, w.module) || matches(part.pattern, w.original);
}

double strength_of(const AdapterUse& use, const AdaptedNetwork& network, const ChangedWeight& w) {
  double factor = 1;
  for (const PartStrength& part : use.parts)
    if (applies(part, w)) factor = part.factor;
  return factor * (network.role == ComponentRole::text_encoder ? use.text_strength : use.strength);
}

// The shape of what a module changes: a weight, or the bias of a layer.
const Shape* shape_in(const AdaptedNetwork& network, const std::string& tensor) {
  const auto found = network.tensors.find(tensor);
  return found == network.tensors.end() ? nullptr : &found->second.shape;
}

Delta delta_of(const std::shared_ptr<const AdapterFile>& file, const Module& module, const ChangedWeight& w,
               const AdaptedNetwork& network) {
  Delta delta{.file = file, .module = &module, .shape = *shape_in(network, w.weight()), .form = w.form};
  if (network.row_order && delta.shape.rank() > 0) delta.row_order = network.row_order(w.weight(), delta.shape[0], file->gguf);
  check(delta);
  if (changes_bias(delta) && !shape_in(network, w.bias()))
    fail<WeightError>("{}: '{}' changes a bias, but the model's {} has none", file->path.string(), module.name, w.module);
  return delta;
}

bool fits(const std::shared_ptr<const AdapterFile>& file, const Module& module, const std::vector<ChangedWeight>& changed,
          std::span<const AdaptedNetwork> networks) {
  try {
    for (const ChangedWeight& w : changed) delta_of(file, module, w, networks[w.network]);
  } catch (const WeightError&) { return false; }
  return true;
}

// Calls add(network index, official module, delta) for each weight that a file changes.
template <class F>
Coverage place(const std::shared_ptr<const AdapterFile>& file, std::span<const AdaptedNetwork> networks, const ModuleNames& names,
               bool strict, F add) {
  Coverage c{.path = file->path, .unknown = file->unknown};
  std::set<std::string> weights;
  for (const Module& module : file->modules) {
    const std::vector<ChangedWeight> changed = names.find(module.name);
    if (changed.empty()) {
      (names.is_surplus(module.name) ? c.surplus : c.absent).push_back(module.name);
      continue;
    }
    if (!strict && !fits(file, module, changed, networks)) {
      c.absent.push_back(module.name);
      continue;
    }
    ++c.modules;
    for (const ChangedWeight& w : changed) {
      const AdaptedNetwork& network = networks[w.network];
      const Delta delta = delta_of(file, module, w, network);
      if (weights.insert(network.component + " " + w.module).second) ++c.weights, ++c.changed[network.component];
      add(w, delta);
    }
  }
  return c;
}

std::string key_of(const AdapterUse& use) {
  const auto time = std::filesystem::is_directory(use.path) ? 0 : std::filesystem::last_write_time(use.path).time_since_epoch().count();
  std::string key =
      fmt::format("{}@{}:{}:{}", std::filesystem::absolute(use.path).lexically_normal().string(), time, use.strength, use.text_strength);
  for (const PartStrength& part : use.parts) key += fmt::format(":{}={}", part.pattern, part.factor);
  return key;
}

// own + Σ deltas, in their order.
template <class Add> Tensor with_deltas(const Tensor& own, const std::vector<Delta>& deltas, Add add) {
  Backend& host = own.backend();
  return written_on_host(host, own.shape(), DType::f32, [&](Tensor& y) {
    std::vector<float> sum(size_t(own.numel()));
    for (const Delta& d : deltas) add(d, own.data<float>(), sum, host);
    for (size_t i = 0; i < sum.size(); ++i) y.data<float>()[i] = own.data<float>()[i] + sum[i];
  });
}

WeightChanges changes_of(OfNetwork network) {
  WeightChanges changes;
  for (auto& [module, all] : network) {
    if (!all.low_rank.empty()) changes.branches[module + ".weight"] = joined(std::move(all.low_rank));
    if (!all.weight.empty())
      changes.replaced[module + ".weight"] = [deltas = all.weight](const Tensor& own) { return with_deltas(own, deltas, add_to_weight); };
    if (!all.bias.empty())
      changes.replaced[module + ".bias"] = [deltas = all.bias](const Tensor& own) { return with_deltas(own, deltas, add_to_bias); };
  }
  return changes;
}

}  // namespace

Adapters read_adapters(std::span<const AdapterUse> uses, std::span<const AdaptedNetwork> networks, Pairs pairs) {
  const ModuleNames names(networks);
  // Sums are computed in this order, whatever the order of the request.
  std::vector<std::pair<std::string, const AdapterUse*>> sorted;
  for (const AdapterUse& use : uses) {
    if (!std::isfinite(use.strength) || !std::isfinite(use.text_strength))
      fail<UsageError>("{}: the strength is {}, expected a number", use.path.string(), use.strength);
    if (!std::filesystem::exists(use.path)) fail<IoError>("{}: no such file", use.path.string());
    sorted.emplace_back(key_of(use), &use);
  }
  std::ranges::stable_sort(sorted, {}, &std::pair<std::string, const AdapterUse*>::first);

  Adapters made;
  made.coverage.resize(uses.size());
  std::vector<OfNetwork> all(networks.size());
  std::vector<std::string> keys(networks.size());
  for (const auto& [key, use] : sorted) {
    const auto file = std::make_shared<const AdapterFile>(open_adapter(use->path));
    require_own(*file, place(file, networks, names, false, [](const ChangedWeight&, const Delta&) {}), networks);
    bool any_part = use->parts.empty();
    const Coverage coverage = place(file, networks, names, true, [&](const ChangedWeight& w, Delta delta) {
      for (const PartStrength& part : use->parts) any_part = any_part || applies(part, w);
      delta.strength = strength_of(*use, networks[w.network], w);
      if (delta.strength == 0) return;
      OfWeight& of = all[w.network][w.module];
      if (pairs == Pairs::beside && low_rank(delta) > 0) of.low_rank.push_back(delta);
      else if (changes_weight(delta)) of.weight.push_back(delta);
      if (changes_bias(delta)) of.bias.push_back(delta);
      if (!keys[w.network].ends_with(key + "\n")) keys[w.network] += key + "\n";
    });
    require_covered(*file, use->among_others ? without_unknown(coverage) : coverage);
    if (!any_part)
      fail<UsageError>("{}: no module of the adapter is part of '{}', expected names such as 'down_blocks.1.*'", use->path.string(),
                       use->parts[0].pattern);
    made.coverage[size_t(use - uses.data())] = coverage;
  }
  for (size_t i = 0; i < networks.size(); ++i) {
    WeightChanges changes = changes_of(std::move(all[i]));
    changes.key = keys[i];
    if (!changes.empty()) made.changes[networks[i].component] = std::make_shared<const WeightChanges>(std::move(changes));
  }
  return made;
}

std::string text_of(const Coverage& c) {
  std::string components;
  for (const auto& [component, weights] : c.changed)
    components += fmt::format("{}{} {}", components.empty() ? ": " : ", ", component, weights);
  const std::string unread =
      c.surplus.empty() ? "no module is unused" : fmt::format("{} modules are of layers that the model does not use", c.surplus.size());
  return fmt::format("{}: {} modules change {} weights{}; {}", c.path.filename().string(), c.modules, c.weights, components, unread);
}

Coverage cover(const std::filesystem::path& path, std::span<const AdaptedNetwork> networks) {
  const auto file = std::make_shared<const AdapterFile>(open_adapter(path));
  return place(file, networks, ModuleNames(networks), false, [](const ChangedWeight&, const Delta&) {});
}

}  // namespace hearth::adapters
