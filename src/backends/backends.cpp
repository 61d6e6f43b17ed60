#include "backends/backends.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"

namespace hearth {

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  if (options.name == "cpu") return make_cpu_backend(options.features, options.threads);
  if (options.name == "reference") {
    if (!options.features.empty()) fail<UsageError>("backend: 'reference' has no kernel path '{}'", options.features);
    return make_reference_backend(options.threads);
  }
  fail<UsageError>("backend: '{}' is unknown; this build has cpu and reference", options.name);
}

std::vector<BackendInfo> available_backends() {
  return {{"cpu", cpu_paths(), "own kernels for AVX2, AVX-512 and AMX, chosen at run time"},
          {"reference", {}, "plain loops in double precision: slow, the truth for tests"}};
}

}  // namespace hearth
