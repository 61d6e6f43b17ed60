#include "allocations/counting.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

constinit std::atomic<bool> counting{false};
constinit std::atomic<int64_t> calls{0}, largest{0}, in_pieces{0}, aligned{0}, mapped{0};

bool inside_a_piece() { return (__builtin_ia32_stmxcsr() & 0x8040) != 0; }

void count(size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  ++calls;
  if (inside_a_piece()) ++in_pieces;
  for (int64_t seen = largest; int64_t(bytes) > seen && !largest.compare_exchange_weak(seen, int64_t(bytes));) {}
}

void count_aligned(size_t bytes) {
  count(bytes);
  if (counting.load(std::memory_order_relaxed)) ++aligned;
}

}  // namespace

// glibc's own names of the functions that are replaced below.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) noexcept {
  count(size);
  return __libc_malloc(size);
}
void* calloc(size_t n, size_t size) noexcept {
  count(n * size);
  return __libc_calloc(n, size);
}
void* realloc(void* block, size_t size) noexcept {
  count(size);
  return __libc_realloc(block, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  count_aligned(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  count_aligned(size);
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}
void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) noexcept {
  if (counting.load(std::memory_order_relaxed)) ++mapped;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, file, offset));
}
}

namespace hearth::test {

Allocations allocations_of(const std::function<void()>& run) {
  calls = largest = in_pieces = aligned = mapped = 0;
  counting = true;
  run();
  counting = false;
  return {.calls = calls, .largest = largest, .in_pieces = in_pieces, .aligned = aligned, .mapped = mapped};
}

}  // namespace hearth::test
