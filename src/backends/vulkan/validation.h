// Vulkan's validation layers, for tests and for developers: with $HEARTH_VULKAN_VALIDATION set, what they find ends the run as an error.
#pragma once

#include <mutex>
#include <string>

#include "backends/vulkan/functions.h"

namespace hearth::vulkan {

// Part of an Instance.
class Validation {
 public:
  Validation();
  Validation(const Validation&) = delete;
  Validation& operator=(const Validation&) = delete;

  void add_to(VkInstanceCreateInfo& instance);  // the layer and its extension; it must outlive the instance
  void listen(VkInstance instance, PFN_vkGetInstanceProcAddr functions);
  void stop();           // before the instance is destroyed
  void require_clean();  // Error with the first message since the last call

 private:
  static VkBool32 receive(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                          const VkDebugUtilsMessengerCallbackDataEXT* message, void* validation);

  const bool wanted_;
  VkValidationFeaturesEXT features_{};
  VkDebugUtilsMessengerCreateInfoEXT messages_{};
  VkInstance instance_ = nullptr;
  VkDebugUtilsMessengerEXT messenger_ = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_ = nullptr;
  std::mutex mutex_;
  std::string first_;  // under mutex_
};

}  // namespace hearth::vulkan
