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
  explicit operator bool() const { return layers || memory; }
  const char* flag() const { return layers ? "--gpu-layers" : "--gpu-memory"; }
};

// UsageError for both, or a negative number.
GpuShare gpu_share(const std::optional<int64_t>& layers, const std::optional<int64_t>& memory);

// What a model may take of this device's own memory, if nothing else is said: most of what is free. Nothing for a device without memory of
// its own.
GpuShare free_share(const Backend& device);

// The shared device of these options; with a share and if it has memory of its own, the one that is divided. Errors of shared_backend().
std::shared_ptr<Backend> open_device(const BackendOptions& options, const GpuShare& share);

// UsageError if there is a share and none of the devices is divided.
void require_divided(const GpuShare& share, std::span<const std::shared_ptr<Backend>> devices);

}  // namespace hearth::api
