#include "backends/vulkan/arena.h"

#include <algorithm>

#include "core/error.h"

namespace hearth::vulkan {
namespace {

constexpr size_t usual_block = size_t(64) << 20;  // bytes

constexpr VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

VkBuffer make_buffer(const Card& card, size_t bytes) {
  const VkBufferCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = usage, .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
  VkBuffer buffer = nullptr;
  check(card.vk().vkCreateBuffer(card.device(), &info, nullptr, &buffer), "vkCreateBuffer");
  return buffer;
}

// nullptr if there is not enough memory.
VkDeviceMemory make_memory(const Card& card, size_t bytes, int type) {
  const VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo info{
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags, .allocationSize = bytes, .memoryTypeIndex = uint32_t(type)};
  VkDeviceMemory memory = nullptr;
  const VkResult result = card.vk().vkAllocateMemory(card.device(), &info, nullptr, &memory);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY) return nullptr;
  check(result, "vkAllocateMemory");
  return memory;
}

uint64_t address_of(const Card& card, VkBuffer buffer) {
  const VkBufferDeviceAddressInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer};
  return card.vk().vkGetBufferDeviceAddress(card.device(), &info);
}

}  // namespace

int memory_type(const Card& card, uint32_t allowed, VkMemoryPropertyFlags properties) {
  for (uint32_t i = 0; i < card.memory().memoryTypeCount; ++i)
    if ((allowed >> i & 1) && (card.memory().memoryTypes[i].propertyFlags & properties) == properties) return int(i);
  return -1;
}

struct Arena::Block {
  Block(const Card* card_, size_t bytes) : card(card_), size(bytes), offsets(bytes) {}
  ~Block() {
    if (buffer) card->vk().vkDestroyBuffer(card->device(), buffer, nullptr);
    if (memory) card->vk().vkFreeMemory(card->device(), memory, nullptr);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const Card* const card;
  const size_t size;
  OffsetAllocator offsets;
  VkBuffer buffer = nullptr;
  VkDeviceMemory memory = nullptr;
  uint64_t address = 0;
};

Arena::Arena(const Card* card, uint64_t largest_block, MemoryLedger& whole) : card_(card), largest_block_(largest_block), ledger_(&whole) {}

Arena::~Arena() {
  for (const auto& block : blocks_) ledger_.add(-int64_t(block->size));
}

std::unique_ptr<Arena::Block> Arena::new_block(size_t bytes) {
  auto block = std::make_unique<Block>(card_, bytes);
  if (card_) {
    const Functions& vk = card_->vk();
    block->buffer = make_buffer(*card_, bytes);
    VkMemoryRequirements needs;
    vk.vkGetBufferMemoryRequirements(card_->device(), block->buffer, &needs);
    const int type = memory_type(*card_, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (type < 0) fail<UnsupportedError>("vulkan: {} has no memory of its own", card_->description().name);
    block->memory = make_memory(*card_, needs.size, type);
    if (!block->memory) return nullptr;
    check(vk.vkBindBufferMemory(card_->device(), block->buffer, block->memory, 0), "vkBindBufferMemory");
    block->address = address_of(*card_, block->buffer);
  } else {
    block->address = next_address_;
    next_address_ += bytes;
  }
  ledger_.add(int64_t(bytes));
  return block;
}

Span Arena::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto in = [&](Block& block, size_t offset) { return Span{block.buffer, offset, block.address + offset}; };
  for (const auto& block : blocks_)
    if (const auto offset = block->offsets.take(bytes)) return in(*block, *offset);
  const size_t rounded = std::max<size_t>(alignment, (bytes + alignment - 1) / alignment * alignment);
  const std::string name = card_ ? card_->description().name : "the device";
  if (rounded > largest_block_)
    fail<UnsupportedError>("vulkan: {} has no blocks of {} bytes, at most of {}; a smaller image or --vae-tile needs less", name, rounded,
                           largest_block_);
  auto block = new_block(std::max<size_t>(rounded, std::min<uint64_t>(usual_block, largest_block_)));
  if (!block) block = new_block(rounded);
  if (!block)
    fail<Error>("vulkan: {} has no {} bytes of memory left, {} are in use; --gpu-memory or --gpu-layers leaves blocks on the CPU", name,
                rounded, ledger_.use().now);
  blocks_.push_back(std::move(block));
  return in(*blocks_.back(), *blocks_.back()->offsets.take(bytes));
}

void Arena::give(const Span& span) {
  const std::lock_guard lock(mutex_);
  for (const auto& block : blocks_)
    if (span.address >= block->address && span.address < block->address + block->size) return block->offsets.give(span.offset);
}

void Arena::release_unused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [&](const auto& block) {
    if (block->offsets.in_use() > 0) return false;
    ledger_.add(-int64_t(block->size));
    return true;
  });
}

HostBuffer::HostBuffer(const Card& card, size_t bytes, Use use) : card_(card), size_(bytes), buffer_(make_buffer(card, bytes)) {
  const Functions& vk = card.vk();
  VkMemoryRequirements needs;
  vk.vkGetBufferMemoryRequirements(card.device(), buffer_, &needs);
  constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  int type = use == Use::read ? memory_type(card, needs.memoryTypeBits, visible | VK_MEMORY_PROPERTY_HOST_CACHED_BIT) : -1;
  if (type < 0) type = memory_type(card, needs.memoryTypeBits, visible);
  if (type >= 0) memory_ = make_memory(card, needs.size, type);
  if (!memory_) fail<Error>("vulkan: {} bytes of memory for transfers cannot be allocated", bytes);
  check(vk.vkBindBufferMemory(card.device(), buffer_, memory_, 0), "vkBindBufferMemory");
  void* mapped = nullptr;
  check(vk.vkMapMemory(card.device(), memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
  data_ = static_cast<std::byte*>(mapped);
  address_ = address_of(card, buffer_);
}

HostBuffer::~HostBuffer() {
  if (buffer_) card_.vk().vkDestroyBuffer(card_.device(), buffer_, nullptr);
  if (memory_) card_.vk().vkFreeMemory(card_.device(), memory_, nullptr);
}

}  // namespace hearth::vulkan
