#include "backends/cpu/cpu_backend.h"

namespace hearth {

std::unique_ptr<Backend> make_cpu_backend(const std::string&, int) { fail<UnsupportedError>("backend: 'cpu' is not in this build"); }
std::vector<std::string> cpu_paths() { return {}; }
bool cpu_path_available(const std::string&) { return false; }

}  // namespace hearth
