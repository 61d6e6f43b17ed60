#include "backends/cpu/cpu_backend.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "backends/cpu/cpu_class.h"
#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/processor.h"
#include "backends/cpu/self_check.h"

namespace hearth {
namespace {

const std::array<cpu::Path, 4>& paths() {
  static const std::array<cpu::Path, 4> all{{{"amx", cpu::processor_has_amx(), cpu::amx_kernels},
                                             {"avx512bf16", cpu::processor_has_avx512bf16(), cpu::avx512bf16_kernels},
                                             {"avx512", cpu::processor_has_avx512(), cpu::avx512_kernels},
                                             {"avx2", cpu::processor_has_avx2(), cpu::avx2_kernels}}};
  return all;
}

// Checks each path once per process.
const cpu::Kernels& checked_path(const std::string& requested) {
  static std::mutex mutex;
  static std::map<std::string, const cpu::Kernels*> chosen;
  std::lock_guard lock(mutex);
  const cpu::Kernels*& kernels = chosen[requested];
  if (!kernels) kernels = &choose_path(paths(), requested, [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
  return *kernels;
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const std::string& features, int threads) {
  const char* forced = std::getenv("HEARTH_CPU");
  return std::make_unique<cpu::CpuBackend>(checked_path(!features.empty() || !forced ? features : forced), threads);
}

std::unique_ptr<Backend> make_emulating_cpu_backend(int threads) {
  static const cpu::Kernels kernels = [] {
    cpu::Kernels k = cpu::avx2_kernels();
    k.name = "emulated";
    k.bf16 = &cpu::emulated_tiles();
    k.integers = &cpu::avx2_integers();
    return k;
  }();
  return std::make_unique<cpu::CpuBackend>(kernels, threads);
}

std::vector<std::string> cpu_paths() {
  std::vector<std::string> names;
  for (const cpu::Path& path : paths())
    if (path.available) names.push_back(path.name);
  return names;
}

bool cpu_path_available(const std::string& features) {
  for (const cpu::Path& path : paths())
    if (path.name == features) return path.available;
  fail<UsageError>("backend: kernel path '{}' is unknown, expected amx, avx512bf16, avx512 or avx2", features);
}

namespace cpu {

std::shared_ptr<const Storage> CpuBackend::allocate(size_t bytes) {
  auto storage = std::make_shared<Storage>();
  const std::shared_ptr<std::byte> block = memory_->allocate(bytes);
  storage->data = block.get();
  storage->size = bytes;
  storage->backend = this;
  storage->owner = block;
  return storage;
}

}  // namespace cpu
}  // namespace hearth
