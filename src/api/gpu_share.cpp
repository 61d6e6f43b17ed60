#include "api/gpu_share.h"

#include <algorithm>
#include <span>

#include "backends/split/split_backend.h"
#include "core/error.h"

namespace hearth::api {

GpuShare gpu_share(const std::optional<int64_t>& layers, const std::optional<int64_t>& memory) {
  if (layers && memory) fail<UsageError>("open: --gpu-layers and --gpu-memory are given, expected one of them");
  if (layers && *layers < 0) fail<UsageError>("open: {} layers on the GPU, expected 0 or more", *layers);
  if (memory && *memory < 0) fail<UsageError>("open: {} bytes of the GPU, expected 0 or more", *memory);
  return {.layers = layers, .memory = memory};
}

std::shared_ptr<Backend> open_device(const BackendOptions& options, const GpuShare& share) {
  std::shared_ptr<Backend> device = shared_backend(options);
  std::shared_ptr<Backend> divided = share ? shared_split(device) : nullptr;
  return divided ? divided : device;
}

std::shared_ptr<Backend> open_model_device(const BackendOptions& options, GpuShare& share) {
  const std::shared_ptr<Backend> whole = shared_backend(options);
  const int64_t free = whole->free_memory();
  if (!share && free > 0) share = {.memory = free / 16 * 15, .by_default = true};  // drivers need some, too
  return open_device(options, share);
}

void require_divided(const GpuShare& share, std::span<const std::shared_ptr<Backend>> devices) {
  const auto divided = [](const std::shared_ptr<Backend>& device) { return dynamic_cast<const SplitBackend*>(device.get()) != nullptr; };
  if (share && !share.by_default && std::ranges::none_of(devices, divided))
    fail<UsageError>("open: {} divides networks between a GPU and the CPU, but the device is {}, expected a GPU, as in --device vulkan",
                     share.flag(), devices.front()->name());
}

}  // namespace hearth::api
