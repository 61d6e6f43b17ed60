// The backends that this build has, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend.h"

namespace hearth {

struct BackendOptions {
  std::string name = "cpu";  // "cpu" or "reference"
  std::string features;  // force a kernel path down: "avx2", "avx512", "avx512bf16"; "" = $HEARTH_CPU, else the best that the processor has
  int threads = 0;       // 0 = all processors that the process may use
};

// UsageError for an unknown name or path, UnsupportedError for a path that this processor lacks.
std::unique_ptr<Backend> make_backend(const BackendOptions& options = {});

struct BackendInfo {
  std::string name;
  std::vector<std::string> features;  // paths this processor can run, best first
  std::string description;
};
std::vector<BackendInfo> available_backends();

bool cpu_path_available(const std::string& features);  // "avx2", "avx512", "avx512bf16", "amx"; UsageError for another word

}  // namespace hearth
