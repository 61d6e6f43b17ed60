#include "backends/vulkan/validation.h"

#include <cstdlib>
#include <utility>

#include "core/error.h"

namespace hearth::vulkan {
namespace {

constexpr const char* layer = "VK_LAYER_KHRONOS_validation";
constexpr const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
constexpr VkValidationFeatureEnableEXT checked[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};

}  // namespace

Validation::Validation() : wanted_(std::getenv("HEARTH_VULKAN_VALIDATION") != nullptr) {
  messages_ = {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
               .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
               .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
               .pfnUserCallback = receive,
               .pUserData = this};
  features_ = {
      .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, .enabledValidationFeatureCount = 1, .pEnabledValidationFeatures = checked};
}

void Validation::add_to(VkInstanceCreateInfo& instance) {
  if (!wanted_) return;
  instance.pNext = &features_;
  instance.enabledLayerCount = 1, instance.ppEnabledLayerNames = &layer;
  instance.enabledExtensionCount = 1, instance.ppEnabledExtensionNames = &extension;
}

void Validation::listen(VkInstance instance, PFN_vkGetInstanceProcAddr functions) {
  if (!wanted_) return;
  instance_ = instance;
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(functions(instance, "vkCreateDebugUtilsMessengerEXT"));
  destroy_ = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(functions(instance, "vkDestroyDebugUtilsMessengerEXT"));
  check(create(instance, &messages_, nullptr, &messenger_), "vkCreateDebugUtilsMessengerEXT");
}

void Validation::stop() {
  if (messenger_) destroy_(instance_, messenger_, nullptr);
  messenger_ = nullptr;
}

VkBool32 Validation::receive(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                             const VkDebugUtilsMessengerCallbackDataEXT* message, void* validation) {
  Validation& self = *static_cast<Validation*>(validation);
  const std::lock_guard lock(self.mutex_);
  if (self.first_.empty()) self.first_ = message->pMessage;
  return VK_FALSE;
}

void Validation::require_clean() {
  const std::lock_guard lock(mutex_);
  if (!first_.empty()) fail<Error>("vulkan: the validation layers found: {}", std::exchange(first_, {}));
}

}  // namespace hearth::vulkan
