// The backends of this build, by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"

namespace hearth {

struct BackendOptions {
  std::string name = "cpu";  // one of device_names(), "vulkan:NUMBER", or one that add_backend() added
  std::string features;      // a lower kernel path: "avx2", "avx512", "avx512bf16"; "" = $HEARTH_CPU, else the best that the CPU supports
  int threads = 0;           // 0 = all CPUs that the process may use
  bool pinned = false;       // ThreadPool::pin()
};

// Names that users may give for a device, besides "vulkan:NUMBER", the card of that number in available_backends(). "vulkan" is card 0.
// "auto" is the first usable graphics card; without one, the CPU.
std::vector<std::string> device_names();

struct BackendInfo {
  std::string name;
  std::vector<std::string> features;  // paths that this CPU supports, best first
  std::string description;
};
std::vector<BackendInfo> available_backends();
// The one that a name selects. UsageError for an unknown name.
BackendInfo chosen_backend(const std::string& name);

// UsageError for an unknown name or path, UnsupportedError for a path that this CPU does not support, or if there is no such card.
std::unique_ptr<Backend> make_backend(const BackendOptions& options = {});

// The process-wide backend for these options: all models that request it share its threads, memory and ledger while any of them lives.
// Errors of make_backend and ThreadPool::pin.
std::shared_ptr<Backend> shared_backend(const BackendOptions& options);

// The same card and its host as one device (backends/split), process-wide; nullptr for a device that is its own host.
std::shared_ptr<Backend> shared_split(const std::shared_ptr<Backend>& card);

// Adds a backend under a name, for make_backend. For tests.
void add_backend(const std::string& name, std::function<std::unique_ptr<Backend>(int threads)> make);

bool cpu_path_available(const std::string& features);  // "avx2", "avx512", "avx512bf16", "amx"; UsageError for another name

}  // namespace hearth
