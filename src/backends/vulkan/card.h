// A graphics card: what Vulkan says about it, and its opened device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/vulkan/functions.h"
#include "backends/vulkan/validation.h"

namespace hearth::vulkan {

inline constexpr const char* no_driver = "vulkan: no driver offers a device; install the driver of the graphics card";

struct CardDescription {
  std::string name, driver;
  int64_t memory = 0;          // bytes of its own memory, or of the host's memory if it shares that
  bool on_cpu = false;         // a driver in software
  bool shared = false;         // it computes in the host's memory
  std::string missing;         // a feature that hearth needs and the card does not have; "" if it has all
  uint64_t largest_block = 0;  // bytes that one allocation of its memory may have
  bool dots = false;           // dot products of four bytes in one instruction; of a driver in software, at no cost
};

// One process-wide instance of Vulkan, with the validation layers if $HEARTH_VULKAN_VALIDATION is set.
// UnsupportedError if there is no libvulkan.
class Instance {
 public:
  static std::shared_ptr<Instance> shared();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // Graphics cards first, those with the most memory in front; then drivers in software.
  const std::vector<CardDescription>& cards() const { return cards_; }
  Validation& validation() { return validation_; }

 private:
  friend class Card;
  Instance();

  Validation validation_;
  Functions vk_;
  VkInstance instance_ = nullptr;
  std::vector<VkPhysicalDevice> physical_;
  std::vector<CardDescription> cards_;
};

// The device of one card, with one queue.
class Card {
 public:
  // UsageError if there is no such card; UnsupportedError if it lacks a feature that hearth needs. narrow: it is used as the smallest
  // cards, with memory in blocks of at most 128 MiB and nothing that only some cards have.
  Card(int index, bool narrow);
  bool narrow() const { return narrow_; }
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const Functions& vk() const { return vk_; }
  Instance& instance() const { return *instance_; }
  VkDevice device() const { return device_; }
  VkQueue queue() const { return queue_; }
  uint32_t family() const { return family_; }
  const CardDescription& description() const { return description_; }
  const VkPhysicalDeviceProperties& properties() const { return properties_; }
  const VkPhysicalDeviceMemoryProperties& memory() const { return memory_; }
  // Bytes of the card's memory that are free for this process, as the driver says; all of it if the driver does not say.
  int64_t free_memory() const;

 private:
  const std::shared_ptr<Instance> instance_;
  CardDescription description_;
  const bool narrow_;
  Functions vk_;
  VkPhysicalDevice physical_ = nullptr;
  VkPhysicalDeviceProperties properties_{};
  VkPhysicalDeviceMemoryProperties memory_{};
  bool tells_budget_ = false;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  uint32_t family_ = 0;
};

}  // namespace hearth::vulkan
