// The backends that this build has, by name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"

namespace hearth {

struct BackendOptions {
  std::string name = "cpu";  // "cpu", "reference", or one that add_backend() added
  std::string features;  // force a kernel path down: "avx2", "avx512", "avx512bf16"; "" = $HEARTH_CPU, else the best that the processor has
  int threads = 0;       // 0 = all processors that the process may use
  bool pinned = false;   // ThreadPool::pin()
};

// UsageError for an unknown name or path, UnsupportedError for a path that this processor lacks.
std::unique_ptr<Backend> make_backend(const BackendOptions& options = {});

// The process's own of these options: one set of threads, one memory and one ledger for all models that ask for it while any of them lives.
// Errors of make_backend and ThreadPool::pin.
std::shared_ptr<Backend> shared_backend(const BackendOptions& options);

// A backend of the program's own, found by its name from then on. For tests.
void add_backend(const std::string& name, std::function<std::unique_ptr<Backend>(int threads)> make);

struct BackendInfo {
  std::string name;
  std::vector<std::string> features;  // paths this processor can run, best first
  std::string description;
};
std::vector<BackendInfo> available_backends();

bool cpu_path_available(const std::string& features);  // "avx2", "avx512", "avx512bf16", "amx"; UsageError for another word

}  // namespace hearth
