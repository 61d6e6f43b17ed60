// Memory of the CPU backend: one region for tensors, weights and what kernels need for themselves, and scratch of a thread.
#pragma once

#include <memory>
#include <mutex>

#include "core/memory.h"
#include "core/offset_allocator.h"

namespace hearth::cpu {

// `size` bytes, 64-byte aligned, in huge pages where it is large; to be freed by std::free. Error when there is no more memory.
std::byte* aligned_memory(size_t size);

// Blocks in one reserved region of address space as large as the machine's memory. Only what is used is ever touched: what is
// given back is taken again first. The ledger counts the region up to the highest block, because so much memory it takes; so does `whole`,
// which must outlive the blocks. Safe from any thread.
class Arena : public std::enable_shared_from_this<Arena> {
 public:
  enum class Behind { memory, nothing };  // nothing: addresses that may be computed with, never read or written

  Arena(Behind behind, MemoryLedger& whole);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // 64-byte aligned; given back when the last owner lets go of it, which may be after the backend. Error when it does not fit.
  std::shared_ptr<std::byte> allocate(size_t bytes);
  // Lets the system have the pages that no block is using.
  void release_cached();
  MemoryLedger& ledger() { return ledger_; }

 private:
  void give_back(std::byte* block, size_t bytes);
  void count();  // under mutex_

  struct Region {
    std::byte* base;
    size_t size;
  };
  static Region reserve();

  std::mutex mutex_;
  MemoryLedger ledger_;
  const bool real_;
  const Region region_;
  OffsetAllocator offsets_;
  size_t counted_ = 0, touched_ = 0;  // reached by blocks: as the ledger has it; ever
};

// At least `count` floats of the calling thread, 64-byte aligned, contents undefined, valid until its next call. Not for use
// across ThreadPool::run.
float* thread_scratch(size_t count);
// Bytes that kernels ask of it at most (scratch_test.cpp): blocks are of fixed sizes, but for attention, 1.2 KiB for each number of a
// head, 4 bytes for each number of a row that a norm takes, 8 for each that top_k keeps.
inline constexpr size_t most_scratch = size_t(4) << 20;
size_t largest_scratch();  // the most that any thread has had so far

}  // namespace hearth::cpu
