// Memory of the CPU backend: one region for tensors, weights and kernel buffers, and scratch of threads.
#pragma once

#include <memory>
#include <mutex>

#include "core/memory.h"
#include "core/offset_allocator.h"

namespace hearth::cpu {

// `size` bytes, 64-byte aligned, in huge pages if large; freed by std::free. Error if memory cannot be allocated.
std::byte* aligned_memory(size_t size);

// Blocks in one reserved region of address space as large as the machine's memory. Only used blocks are ever touched, and freed
// blocks are reused first. The ledger counts the region up to the highest block, because that much memory is resident; so does `whole`,
// which must outlive the blocks. Thread-safe.
class Arena final : public MemoryRegion, public std::enable_shared_from_this<Arena> {
 public:
  enum class Behind { memory, nothing };  // nothing: addresses for arithmetic only, never read or written

  Arena(Behind behind, MemoryLedger& whole) : Arena(behind, whole, nullptr) {}
  ~Arena() override;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // 64-byte aligned; freed with its last owner, which may outlive the backend. In a region of this arena if a RegionScope selects it.
  // Error if there is not enough memory.
  std::shared_ptr<std::byte> allocate(size_t bytes);
  // Returns the pages that no block uses to the system.
  void release_cached();
  MemoryLedger& ledger() { return ledger_; }
  // An arena that counts in this one's ledger.
  std::shared_ptr<Arena> region();
  std::shared_ptr<const void> count_mapped(int64_t bytes);

 private:
  Arena(Behind behind, MemoryLedger& whole, std::shared_ptr<Arena> main);
  void give_back(std::byte* block, size_t bytes);
  void count();  // under mutex_

  struct Region {
    std::byte* base;
    size_t size;
  };
  static Region reserve();

  const std::shared_ptr<Arena> main_;  // of a region
  std::mutex mutex_;
  MemoryLedger ledger_;
  const bool real_;
  const Region region_;
  OffsetAllocator offsets_;
  size_t counted_ = 0, touched_ = 0;  // end of the highest block: as counted in the ledger; ever
};

// At least `count` floats of the calling thread, 64-byte aligned, uninitialized, valid until the thread's next call. Must not be used
// across ThreadPool::run.
float* thread_scratch(size_t count);
// Most bytes of scratch that kernels request (scratch_test.cpp): blocks have fixed sizes, except for attention, 1.2 KiB per value of a
// head, 4 bytes per value of a row for norms, and 8 bytes per value that top_k keeps.
inline constexpr size_t most_scratch = size_t(4) << 20;
size_t largest_scratch();  // the most of any thread so far

}  // namespace hearth::cpu
