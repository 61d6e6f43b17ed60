#include "backends/cpu/memory.h"

#include <sys/mman.h>

#include <cstdlib>

#include "core/error.h"
#include "core/memory.h"

namespace hearth::cpu {
namespace {

constexpr size_t keep_at_most = size_t(1) << 29;  // bytes that lie idle for reuse

// Steps of at most an eighth, so that slightly different sizes share a block.
size_t rounded(size_t bytes) {
  size_t step = 64;
  while (step * 16 <= bytes) step *= 2;
  return std::max<size_t>(64, (bytes + step - 1) / step * step);
}

struct Scratch {
  ~Scratch() { resize(0); }
  void resize(size_t count) {
    std::free(data);
    MemoryLedger::process().add(-int64_t(size));
    data = nullptr;
    size = count == 0 ? 0 : rounded(count * sizeof(float));
    if (size == 0) return;
    data = reinterpret_cast<float*>(aligned_memory(size));
    MemoryLedger::process().add(int64_t(size));
  }
  float* data = nullptr;
  size_t size = 0;
};

}  // namespace

std::byte* aligned_memory(size_t size) {
  constexpr size_t page = 4096, huge_page = size_t(2) << 20;
  const bool huge = size >= huge_page;
  void* block = nullptr;
  if (posix_memalign(&block, huge ? huge_page : size >= page ? page : 64, size) != 0)
    fail<Error>("memory: {} bytes are not to be had", size);
  if (huge) madvise(block, size, MADV_HUGEPAGE);  // a request: without huge pages it is only slower
  return static_cast<std::byte*>(block);
}

BlockPool::~BlockPool() { release_cached(); }

std::shared_ptr<std::byte> BlockPool::allocate(size_t bytes) {
  const size_t size = rounded(bytes);
  std::byte* block = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = free_.lower_bound(size); found != free_.end() && found->first == size) {
      block = found->second;
      free_.erase(found);
      cached_ -= size;
    } else if (cached_ + size > keep_at_most) {
      shrink_to(keep_at_most / 2);  // other sizes are wanted now
    }
  }
  if (!block) block = aligned_memory(size);
  MemoryLedger::process().add(int64_t(size));
  return {block, [pool = shared_from_this(), size](std::byte* p) { pool->give_back(p, size); }};
}

void BlockPool::give_back(std::byte* block, size_t size) {
  MemoryLedger::process().add(-int64_t(size));
  std::lock_guard lock(mutex_);
  if (size > keep_at_most) return std::free(block);
  shrink_to(keep_at_most - size);
  free_.emplace(size, block);
  cached_ += size;
}

void BlockPool::shrink_to(size_t bytes) {
  while (cached_ > bytes) {
    const auto largest = std::prev(free_.end());
    cached_ -= largest->first;
    std::free(largest->second);
    free_.erase(largest);
  }
}

void BlockPool::release_cached() {
  std::lock_guard lock(mutex_);
  shrink_to(0);
}

size_t BlockPool::cached_bytes() const {
  std::lock_guard lock(mutex_);
  return cached_;
}

float* thread_scratch(size_t count) {
  thread_local Scratch scratch;
  if (scratch.size < count * sizeof(float)) scratch.resize(count);
  return scratch.data;
}

}  // namespace hearth::cpu
