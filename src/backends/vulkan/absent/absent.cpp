// In place of the backend in a build without Vulkan.
#include "backends/vulkan/vulkan_backend.h"
#include "core/error.h"

namespace hearth {
namespace {

constexpr const char* why = "this build of hearth has no Vulkan; build it where libvulkan-dev and glslc are installed";

}  // namespace

std::unique_ptr<Backend> make_vulkan_backend(int, const std::string&, int) { fail<UnsupportedError>("vulkan: {}", why); }

std::vector<VulkanCard> vulkan_cards(std::string* why_none) {
  if (why_none) *why_none = why;
  return {};
}

}  // namespace hearth
