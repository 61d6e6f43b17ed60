// Memory of the CPU backend: blocks for tensors that are kept for reuse, and scratch space of a thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace hearth::cpu {

// `size` bytes, 64-byte aligned, in huge pages where it is large; to be freed by std::free. Error when there is no more memory.
std::byte* aligned_memory(size_t size);

// Gives out 64-byte aligned blocks and keeps what comes back: the first touch of a fresh 268 MB activation costs more than a
// norm over it. Safe from any thread.
class BlockPool : public std::enable_shared_from_this<BlockPool> {
 public:
  ~BlockPool();
  // The block goes back to the pool when the last owner lets go of it. Error when the system has no more memory.
  std::shared_ptr<std::byte> allocate(size_t bytes);
  void release_cached();
  size_t cached_bytes() const;

 private:
  void give_back(std::byte* block, size_t size);
  void shrink_to(size_t bytes);  // under mutex_

  mutable std::mutex mutex_;
  std::multimap<size_t, std::byte*> free_;  // by size
  size_t cached_ = 0;
};

// At least `count` floats of the calling thread, 64-byte aligned, contents undefined, valid until its next call. Not for use
// across ThreadPool::run.
float* thread_scratch(size_t count);

}  // namespace hearth::cpu
