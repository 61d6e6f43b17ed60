// A card's memory for tensors and weights: large blocks from the driver, divided among them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/vulkan/card.h"
#include "core/memory.h"
#include "core/offset_allocator.h"

namespace hearth::vulkan {

// Part of a buffer, and its address as shaders see it.
struct Span {
  VkBuffer buffer = nullptr;
  uint64_t offset = 0, address = 0;
};

// Thread-safe. Shaders run in the order of submission, so memory that is freed while they still use it may be given to later ones.
class Arena {
 public:
  // Without a card: addresses for arithmetic only, so that a dry run places its tensors as the run does. `card` and `whole` must outlive
  // it.
  Arena(const Card* card, uint64_t largest_block, MemoryLedger& whole);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  static constexpr size_t alignment = OffsetAllocator::alignment;

  // Error if the card's memory does not suffice.
  Span take(size_t bytes);
  void give(const Span& span);
  void release_unused();  // returns blocks without a tensor to the driver; nothing may be running
  MemoryLedger& ledger() { return ledger_; }

 private:
  struct Block;

  std::unique_ptr<Block> new_block(size_t bytes);  // nullptr if there is not enough memory

  const Card* const card_;
  const uint64_t largest_block_;
  std::mutex mutex_;
  MemoryLedger ledger_;
  std::vector<std::unique_ptr<Block>> blocks_;  // under mutex_
  uint64_t next_address_ = uint64_t(1) << 32;   // of a dry run's next block
};

// The index of a memory type with all `properties`, or −1. Bit i of `allowed` says whether type i may be used.
int memory_type(const Card& card, uint32_t allowed, VkMemoryPropertyFlags properties);

// A buffer of its own that the CPU writes or reads, mapped as long as it lives.
class HostBuffer {
 public:
  enum class Use { write, read };
  HostBuffer(const Card& card, size_t bytes, Use use);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  VkBuffer buffer() const { return buffer_; }
  std::byte* data() const { return data_; }
  uint64_t address() const { return address_; }
  size_t size() const { return size_; }

 private:
  const Card& card_;
  const size_t size_;
  VkBuffer buffer_ = nullptr;
  VkDeviceMemory memory_ = nullptr;
  std::byte* data_ = nullptr;
  uint64_t address_ = 0;
};

}  // namespace hearth::vulkan
