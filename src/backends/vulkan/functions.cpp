#include "backends/vulkan/functions.h"

#include <dlfcn.h>

#include "core/error.h"

namespace hearth::vulkan {
namespace {

const char* name_of(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED: return "the initialization failed";
    case VK_ERROR_DEVICE_LOST: return "the device was lost: its driver has reset it";
    case VK_ERROR_MEMORY_MAP_FAILED: return "memory cannot be mapped";
    case VK_ERROR_LAYER_NOT_PRESENT: return "a layer is missing";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "an extension is missing";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "a feature is missing";
    case VK_ERROR_TOO_MANY_OBJECTS: return "too many objects";
    default: return "failed";
  }
}

}  // namespace

void check(VkResult result, const char* call) {
  if (result < 0) fail<Error>("vulkan: {}: {} ({})", call, name_of(result), int(result));
}

Functions Functions::of_loader() {
  static void* const library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: drivers keep threads
  if (!library) fail<UnsupportedError>("vulkan: libvulkan.so.1 cannot be loaded; install the distribution's Vulkan loader and a driver");
  Functions f;
  f.vkGetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (!f.vkGetInstanceProcAddr) fail<UnsupportedError>("vulkan: libvulkan.so.1 has no vkGetInstanceProcAddr");
#define HEARTH_LOAD(name) f.name = reinterpret_cast<PFN_##name>(f.vkGetInstanceProcAddr(nullptr, #name));
  HEARTH_VULKAN_GLOBAL(HEARTH_LOAD)
#undef HEARTH_LOAD
  if (!f.vkEnumerateInstanceVersion) fail<UnsupportedError>("vulkan: the loader is of version 1.0, expected 1.2 or later");
  return f;
}

void Functions::load(VkInstance instance) {
#define HEARTH_LOAD(name) name = reinterpret_cast<PFN_##name>(vkGetInstanceProcAddr(instance, #name));
  HEARTH_VULKAN_INSTANCE(HEARTH_LOAD)
#undef HEARTH_LOAD
}

void Functions::load(VkDevice device) {
#define HEARTH_LOAD(name) name = reinterpret_cast<PFN_##name>(vkGetDeviceProcAddr(device, #name));
  HEARTH_VULKAN_DEVICE(HEARTH_LOAD)
#undef HEARTH_LOAD
}

}  // namespace hearth::vulkan
