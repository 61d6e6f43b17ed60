// The functions of Vulkan that hearth calls. They are loaded at run time, so that the program starts on a machine without libvulkan.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace hearth::vulkan {

// clang-format off
#define HEARTH_VULKAN_GLOBAL(f) \
  f(vkCreateInstance) f(vkEnumerateInstanceExtensionProperties) f(vkEnumerateInstanceVersion)
#define HEARTH_VULKAN_INSTANCE(f) \
  f(vkCreateDevice) f(vkDestroyInstance) f(vkEnumerateDeviceExtensionProperties) f(vkEnumeratePhysicalDevices) f(vkGetDeviceProcAddr) \
  f(vkGetPhysicalDeviceFeatures2) f(vkGetPhysicalDeviceMemoryProperties2) f(vkGetPhysicalDeviceProperties2) \
  f(vkGetPhysicalDeviceQueueFamilyProperties)
#define HEARTH_VULKAN_DEVICE(f) \
  f(vkAllocateCommandBuffers) f(vkAllocateMemory) f(vkBeginCommandBuffer) f(vkBindBufferMemory) f(vkCmdBindPipeline) f(vkCmdCopyBuffer) \
  f(vkCmdDispatch) f(vkCmdFillBuffer) f(vkCmdPipelineBarrier) f(vkCmdPushConstants) f(vkCreateBuffer) f(vkCreateCommandPool) \
  f(vkCreateComputePipelines) f(vkCreatePipelineCache) f(vkCreatePipelineLayout) f(vkCreateSemaphore) f(vkCreateShaderModule) \
  f(vkDestroyBuffer) f(vkDestroyCommandPool) f(vkDestroyDevice) f(vkDestroyPipeline) f(vkDestroyPipelineCache) \
  f(vkDestroyPipelineLayout) f(vkDestroySemaphore) f(vkDestroyShaderModule) f(vkDeviceWaitIdle) f(vkEndCommandBuffer) f(vkFreeMemory) \
  f(vkGetBufferDeviceAddress) f(vkGetBufferMemoryRequirements) f(vkGetDeviceQueue) f(vkGetPipelineCacheData) \
  f(vkGetSemaphoreCounterValue) f(vkMapMemory) f(vkQueueSubmit) f(vkResetCommandPool) f(vkWaitSemaphores)
// clang-format on

struct Functions {
#define HEARTH_DECLARE(name) PFN_##name name = nullptr;
  HEARTH_VULKAN_GLOBAL(HEARTH_DECLARE)
  HEARTH_VULKAN_INSTANCE(HEARTH_DECLARE)
  HEARTH_VULKAN_DEVICE(HEARTH_DECLARE)
#undef HEARTH_DECLARE
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;  // NOLINT(readability-identifier-naming): as Vulkan names it

  // The functions without an instance. UnsupportedError if there is no libvulkan.
  static Functions of_loader();
  void load(VkInstance instance);
  void load(VkDevice device);
};

// Error that names the call, unless it succeeded.
void check(VkResult result, const char* call);

}  // namespace hearth::vulkan
