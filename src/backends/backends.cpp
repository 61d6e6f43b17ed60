#include "backends/backends.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
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

std::unique_ptr<Backend> made(const BackendOptions& options) {
  if (options.name == "cpu") return make_cpu_backend(options.features, options.threads);
  if (options.name == "reference") {
    if (!options.features.empty()) fail<UsageError>("backend: 'reference' has no kernel paths, got '{}'", options.features);
    return make_reference_backend(options.threads);
  }
  const std::lock_guard lock(added().mutex);
  if (const auto own = added().makes.find(options.name); own != added().makes.end()) return own->second(options.threads);
  fail<UsageError>("backend: '{}' is unknown, expected cpu or reference", options.name);
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
  const char* const path = std::getenv("HEARTH_CPU");  // the path that make_cpu_backend uses by default
  const std::string features = options.features.empty() && path ? path : options.features;
  std::weak_ptr<Backend>& place = open[{options.name, features, options.threads, options.pinned}];
  std::shared_ptr<Backend> device = place.lock();
  if (device) return device;
  device = make_backend(options);
  place = device;
  return device;
}

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  std::unique_ptr<Backend> device = made(options);
  if (options.pinned) device->threads().pin();
  return device;
}

std::vector<BackendInfo> available_backends() {
  return {{"cpu", cpu_paths(), "kernels for AVX2, AVX-512 and AMX, chosen at run time"},
          {"reference", {}, "plain loops in double precision: slow, the reference for tests"}};
}

}  // namespace hearth
