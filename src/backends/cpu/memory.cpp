#include "backends/cpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace hearth::cpu {
namespace {

constexpr size_t page = 4096, huge_page = size_t(2) << 20;
constexpr size_t beyond = 64;  // bytes after every block that AddressSanitizer watches

size_t machine_memory() { return size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE)); }

std::atomic<size_t> largest{0};

struct Scratch {
  ~Scratch() { resize(0); }
  void resize(size_t count) {
    std::free(data);
    MemoryLedger::process().add(-int64_t(size));
    data = nullptr;
    size = (count * sizeof(float) + page - 1) / page * page;
    if (size == 0) return;
    data = reinterpret_cast<float*>(aligned_memory(size));
    MemoryLedger::process().add(int64_t(size));
    for (size_t seen = largest; size > seen && !largest.compare_exchange_weak(seen, size);) {}
  }
  float* data = nullptr;
  size_t size = 0;
};

}  // namespace

std::byte* aligned_memory(size_t size) {
  const bool huge = size >= huge_page;
  void* block = nullptr;
  if (posix_memalign(&block, huge ? huge_page : size >= page ? page : 64, size) != 0)
    fail<Error>("memory: {} bytes cannot be allocated", size);
  if (huge) madvise(block, size, MADV_HUGEPAGE);
  return static_cast<std::byte*>(block);
}

// Halves the size until the process may reserve that much address space.
Arena::Region Arena::reserve() {
  for (size_t size = (machine_memory() / huge_page + 1) * huge_page; size >= huge_page; size = size / 2 / huge_page * huge_page) {
    void* region = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) continue;
    madvise(region, size, MADV_HUGEPAGE);  // optional: without huge pages it is only slower
    return {static_cast<std::byte*>(region), size};
  }
  fail<Error>("memory: address space for tensors cannot be reserved");
}

// Without memory: addresses that no process can have, so that any access crashes.
Arena::Arena(Behind behind, MemoryLedger& whole, std::shared_ptr<Arena> main)
    : main_(std::move(main)),
      ledger_(&whole),
      real_(behind == Behind::memory),
      region_(real_ ? reserve() : Region{reinterpret_cast<std::byte*>(uintptr_t(main_ ? 5 : 4) << 61), size_t(1) << 61}),
      offsets_(region_.size) {}

Arena::~Arena() {
  ledger_.add(-int64_t(counted_));
  if (!real_) return;
  ASAN_UNPOISON_MEMORY_REGION(region_.base, touched_);
  munmap(region_.base, region_.size);
}

std::shared_ptr<Arena> Arena::region() {
  return std::shared_ptr<Arena>(new Arena(real_ ? Behind::memory : Behind::nothing, ledger_, shared_from_this()));
}

std::shared_ptr<const void> Arena::count_mapped(int64_t bytes) {
  ledger_.add_mapped(bytes);
  return {this, [arena = shared_from_this(), bytes](const void*) { arena->ledger_.add_mapped(-bytes); }};
}

std::shared_ptr<std::byte> Arena::allocate(size_t bytes) {
  if (MemoryRegion* selected = RegionScope::current(); selected && !main_)
    if (auto* region = dynamic_cast<Arena*>(selected); region && region->main_.get() == this) return region->allocate(bytes);
  std::lock_guard lock(mutex_);
  const std::optional<size_t> offset = bytes > region_.size ? std::nullopt : offsets_.take(bytes + beyond);
  if (!offset) fail<Error>("memory: {} bytes cannot be allocated", bytes);
  count();
  std::byte* block = region_.base + *offset;
  if (real_) {
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    ASAN_POISON_MEMORY_REGION(block + bytes, beyond);
  }
  return {block, [arena = shared_from_this(), bytes](std::byte* p) { arena->give_back(p, bytes); }};
}

void Arena::give_back(std::byte* block, size_t bytes) {
  std::lock_guard lock(mutex_);
  if (real_) ASAN_POISON_MEMORY_REGION(block, bytes);
  offsets_.give(size_t(block - region_.base));
}

void Arena::release_cached() {
  std::lock_guard lock(mutex_);
  for (const auto& [begin, end] : offsets_.trim()) {
    const size_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (real_ && first < last) madvise(region_.base + first, last - first, MADV_DONTNEED);
  }
  count();
}

void Arena::count() {
  if (offsets_.reached() == counted_) return;
  ledger_.add(int64_t(offsets_.reached()) - int64_t(counted_));
  counted_ = offsets_.reached();
  touched_ = std::max(touched_, counted_);
}

float* thread_scratch(size_t count) {
  thread_local Scratch scratch;
  if (scratch.size < count * sizeof(float)) scratch.resize(count);
  return scratch.data;
}

size_t largest_scratch() { return largest; }

}  // namespace hearth::cpu
