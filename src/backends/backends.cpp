#include "backends/backends.h"

#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "backends/split/split_backend.h"
#include "backends/vulkan/vulkan_backend.h"
#include "core/threads.h"

namespace hearth {
namespace {

using Make = std::function<std::unique_ptr<Backend>(int threads)>;

struct Added {
  std::mutex mutex;
  std::map<std::string, Make> makes;
};
Added& added() {
  static Added all;
  return all;
}

// The number behind "vulkan:"; absent if the name is not of this form.
std::optional<int> vulkan_card(const std::string& name) {
  constexpr std::string_view prefix = "vulkan:";
  if (!name.starts_with(prefix)) return std::nullopt;
  int card = 0;
  const char *const from = name.data() + prefix.size(), *const to = name.data() + name.size();
  const auto [end, error] = std::from_chars(from, to, card);
  if (error != std::errc() || end != to || card < 0) return std::nullopt;
  return card;
}

// The name without "auto" and abbreviations.
std::string full_name(const std::string& name) {
  if (name == "vulkan") return "vulkan:0";
  if (name != "auto") return name;
  const std::vector<VulkanCard> cards = vulkan_cards();
  for (size_t i = 0; i < cards.size(); ++i)
    if (!cards[i].on_cpu && cards[i].missing.empty()) return fmt::format("vulkan:{}", i);
  return "cpu";
}

std::unique_ptr<Backend> made(BackendOptions options) {
  options.name = full_name(options.name);
  if (const auto card = vulkan_card(options.name)) return make_vulkan_backend(*card, options.features, options.threads);
  if (options.name == "cpu") return make_cpu_backend(options.features, options.threads);
  if (options.name == "reference") {
    if (!options.features.empty()) fail<UsageError>("backend: 'reference' has no kernel paths, got '{}'", options.features);
    return make_reference_backend(options.threads);
  }
  const std::lock_guard lock(added().mutex);
  if (const auto own = added().makes.find(options.name); own != added().makes.end()) return own->second(options.threads);
  fail<UsageError>("backend: '{}' is unknown, expected {}, or vulkan:NUMBER", options.name, fmt::join(device_names(), ", "));
}

}  // namespace

void add_backend(const std::string& name, Make make) {
  const std::lock_guard lock(added().mutex);
  added().makes[name] = std::move(make);
}

std::shared_ptr<Backend> shared_backend(const BackendOptions& options) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, std::string, int, bool>, std::weak_ptr<Backend>> open;
  const std::lock_guard lock(mutex);
  const std::string name = full_name(options.name);
  const char* const path = std::getenv("HEARTH_CPU");  // the path that make_cpu_backend uses by default, as the host of a card too
  const std::string features = options.features.empty() && path ? path : options.features;
  std::weak_ptr<Backend>& place = open[{name, features, options.threads, options.pinned}];
  std::shared_ptr<Backend> device = place.lock();
  if (device && !device->lost()) return device;
  device = make_backend(options);
  place = device;
  return device;
}

std::shared_ptr<Backend> shared_split(const std::shared_ptr<Backend>& card) {
  if (&card->host() == card.get()) return nullptr;
  static std::mutex mutex;
  static std::map<const Backend*, std::weak_ptr<Backend>> open;
  const std::lock_guard lock(mutex);
  std::erase_if(open, [](const auto& entry) { return entry.second.expired(); });  // their addresses may belong to others
  std::weak_ptr<Backend>& place = open[card.get()];
  std::shared_ptr<Backend> device = place.lock();
  if (!device) place = device = make_split_backend(card);
  return device;
}

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  std::unique_ptr<Backend> device = made(options);
  if (options.pinned) device->threads().pin();
  return device;
}

std::vector<std::string> device_names() { return {"auto", "cpu", "vulkan", "reference"}; }

std::vector<BackendInfo> available_backends() {
  std::vector<BackendInfo> all{{"cpu", cpu_paths(), "kernels for AVX2, AVX-512 and AMX, chosen at run time"},
                               {"reference", {}, "plain loops in double precision: slow, the reference for tests"}};
  std::string why_none;
  const std::vector<VulkanCard> cards = vulkan_cards(&why_none);
  for (size_t i = 0; i < cards.size(); ++i) {
    const VulkanCard& card = cards[i];
    std::string text =
        fmt::format("{}, {:.1f} GB{}; {}", card.name, double(card.memory) / 1e9, card.shared ? " of the CPU's memory" : "", card.driver);
    if (card.dots) text += "; dot products of bytes";
    if (card.on_cpu) text += "; a driver in software, for tests";
    if (!card.missing.empty()) text += fmt::format("; cannot be used: it lacks {}", card.missing);
    all.push_back({fmt::format("vulkan:{}", i), {}, text});
  }
  if (cards.empty()) all.push_back({"vulkan", {}, fmt::format("not available: {}", why_none)});
  return all;
}

BackendInfo chosen_backend(const std::string& name) {
  const std::string full = full_name(name);
  for (const BackendInfo& b : available_backends())
    if (b.name == full || (b.name == "vulkan" && vulkan_card(full))) return b;
  fail<UsageError>("backend: '{}' is unknown, expected {}, or vulkan:NUMBER", name, fmt::join(device_names(), ", "));
}

}  // namespace hearth
