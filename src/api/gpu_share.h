// Devices whose networks may be divided between a GPU and the CPU.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "backends/backends.h"

namespace hearth::api {

// As in OpenOptions and LanguageOptions; at most one is set.
struct GpuShare {
  std::optional<int64_t> layers, memory;
  bool by_default = false;  // nothing was stated: memory is what is free
  explicit operator bool() const { return layers || memory; }
  const char* flag() const { return layers ? "--gpu-layers" : "--gpu-memory"; }
};

// UsageError for both, or a negative number.
GpuShare gpu_share(const std::optional<int64_t>& layers, const std::optional<int64_t>& memory);

// The shared device of these options; with a share and if it has memory of its own, the one that is divided. Errors of shared_backend().
std::shared_ptr<Backend> open_device(const BackendOptions& options, const GpuShare& share);

// The same for the device of a model. If nothing is stated, and the device has memory of its own, `share` becomes most of what is free
// there.
std::shared_ptr<Backend> open_model_device(const BackendOptions& options, GpuShare& share);

// UsageError if a share is stated and none of the devices is divided.
void require_divided(const GpuShare& share, std::span<const std::shared_ptr<Backend>> devices);

}  // namespace hearth::api
