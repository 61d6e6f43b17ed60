#include "backends/vulkan/card.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <numeric>

#include "core/error.h"

namespace hearth::vulkan {
namespace {

constexpr const char* dots_extension = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
constexpr VkStructureType dots_features_type = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES_KHR;

// The features that the shaders need, and those that they use if present.
struct Features {
  Features() { all.pNext = &v11, v11.pNext = &v12; }
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;

  VkPhysicalDeviceFeatures2 all{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features v11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
};

const char* missing_in(const VkPhysicalDeviceProperties& properties, const Features& f) {
  if (properties.apiVersion < VK_API_VERSION_1_2) return "Vulkan 1.2";
  if (!f.v12.bufferDeviceAddress) return "bufferDeviceAddress";
  if (!f.v12.timelineSemaphore) return "timelineSemaphore";
  if (!f.v12.scalarBlockLayout) return "scalarBlockLayout";
  if (!f.v11.storageBuffer16BitAccess) return "storageBuffer16BitAccess";
  if (!f.v12.storageBuffer8BitAccess) return "storageBuffer8BitAccess";
  if (!f.all.features.shaderInt16) return "shaderInt16";
  if (!f.v12.shaderInt8) return "shaderInt8";
  if (!f.all.features.shaderInt64) return "shaderInt64";
  return "";
}

bool has_extension(const Functions& vk, VkPhysicalDevice physical, const char* name) {
  uint32_t count = 0;
  vk.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  vk.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, all.data());
  return std::any_of(all.begin(), all.end(), [&](const auto& e) { return std::strcmp(e.extensionName, name) == 0; });
}

CardDescription describe(const Functions& vk, VkPhysicalDevice physical) {
  VkPhysicalDeviceMaintenance3Properties sizes{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, .pNext = &sizes};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
  Features features;
  VkPhysicalDeviceShaderIntegerDotProductFeaturesKHR dots{.sType = dots_features_type};
  VkPhysicalDeviceShaderIntegerDotProductPropertiesKHR speed{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES_KHR};
  if (has_extension(vk, physical, dots_extension)) features.v12.pNext = &dots, sizes.pNext = &speed;
  vk.vkGetPhysicalDeviceProperties2(physical, &properties);
  vk.vkGetPhysicalDeviceFeatures2(physical, &features.all);

  CardDescription card;
  card.name = properties.properties.deviceName;
  card.driver = std::string(driver.driverName) + " " + driver.driverInfo;
  card.missing = missing_in(properties.properties, features);
  card.on_cpu = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  card.dots = dots.shaderIntegerDotProduct && (speed.integerDotProduct4x8BitPackedSignedAccelerated || card.on_cpu);
  card.shared = card.on_cpu || properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  vk.vkGetPhysicalDeviceMemoryProperties2(physical, &memory);
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) card.memory = std::max(card.memory, int64_t(heap.size));
  }
  card.largest_block = sizes.maxMemoryAllocationSize;
  return card;
}

}  // namespace

std::shared_ptr<Instance> Instance::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Instance> open;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Instance> instance = open.lock();
  if (!instance) {
    instance = std::shared_ptr<Instance>(new Instance);
    open = instance;
  }
  return instance;
}

Instance::Instance() : vk_(Functions::of_loader()) {
  const VkApplicationInfo application{
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "hearth", .apiVersion = VK_API_VERSION_1_2};
  VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  validation_.add_to(info);
  const VkResult made = vk_.vkCreateInstance(&info, nullptr, &instance_);
  if (made == VK_ERROR_INCOMPATIBLE_DRIVER) fail<UnsupportedError>(no_driver);
  check(made, "vkCreateInstance");
  vk_.load(instance_);
  validation_.listen(instance_, vk_.vkGetInstanceProcAddr);

  uint32_t count = 0;
  vk_.vkEnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> found(count);
  vk_.vkEnumeratePhysicalDevices(instance_, &count, found.data());
  std::vector<CardDescription> described;
  for (VkPhysicalDevice physical : found) described.push_back(describe(vk_, physical));
  std::vector<size_t> order(found.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto key = [&](size_t i) { return std::tuple(described[i].on_cpu, described[i].shared, -described[i].memory); };
    return key(a) < key(b);
  });
  for (const size_t i : order) physical_.push_back(found[i]), cards_.push_back(described[i]);
}

Instance::~Instance() {
  validation_.stop();
  if (instance_) vk_.vkDestroyInstance(instance_, nullptr);
}

Card::Card(int index, bool narrow) : instance_(Instance::shared()), narrow_(narrow), vk_(instance_->vk_) {
  const auto& cards = instance_->cards();
  if (cards.empty()) fail<UnsupportedError>(no_driver);
  if (index < 0 || size_t(index) >= cards.size())
    fail<UsageError>("vulkan: there is no device {}, expected a number below {} (see hearth list backends)", index, cards.size());
  description_ = cards[size_t(index)], physical_ = instance_->physical_[size_t(index)];
  if (!description_.missing.empty())
    fail<UnsupportedError>("vulkan: {} lacks {}, which hearth needs", description_.name, description_.missing);
  if (narrow) description_.largest_block = std::min<uint64_t>(description_.largest_block, uint64_t(128) << 20), description_.dots = false;

  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  vk_.vkGetPhysicalDeviceProperties2(physical_, &properties);
  properties_ = properties.properties;
  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  vk_.vkGetPhysicalDeviceMemoryProperties2(physical_, &memory);
  memory_ = memory.memoryProperties;

  uint32_t count = 0;
  vk_.vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk_.vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  const auto computes =
      std::find_if(families.begin(), families.end(), [](const auto& f) { return (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });
  if (computes == families.end()) fail<UnsupportedError>("vulkan: {} has no queue that computes", description_.name);
  family_ = uint32_t(computes - families.begin());

  Features features;
  features.all.features.shaderInt16 = true, features.all.features.shaderInt64 = true;
  features.v11.storageBuffer16BitAccess = true;
  features.v12.bufferDeviceAddress = true, features.v12.timelineSemaphore = true, features.v12.scalarBlockLayout = true;
  features.v12.storageBuffer8BitAccess = true, features.v12.shaderInt8 = true;
  std::vector<const char*> extensions;
  tells_budget_ = has_extension(vk_, physical_, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (tells_budget_) extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  VkPhysicalDeviceShaderIntegerDotProductFeaturesKHR dots{.sType = dots_features_type, .shaderIntegerDotProduct = true};
  if (description_.dots) extensions.push_back(dots_extension), features.v12.pNext = &dots;
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = family_, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &features.all,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue,
                                .enabledExtensionCount = uint32_t(extensions.size()),
                                .ppEnabledExtensionNames = extensions.data()};
  check(vk_.vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
  vk_.load(device_);
  vk_.vkGetDeviceQueue(device_, family_, 0, &queue_);
}

Card::~Card() {
  if (!device_) return;
  vk_.vkDeviceWaitIdle(device_);
  vk_.vkDestroyDevice(device_, nullptr);
}

int64_t Card::free_memory() const {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  if (tells_budget_) memory.pNext = &budget;
  vk_.vkGetPhysicalDeviceMemoryProperties2(physical_, &memory);
  int64_t most = 0;
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if (!(heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)) continue;
    const int64_t free = tells_budget_ ? int64_t(budget.heapBudget[i]) - int64_t(budget.heapUsage[i]) : int64_t(heap.size);
    most = std::max(most, free);
  }
  return most;
}

}  // namespace hearth::vulkan
