// Counts this program's calls of the C library's memory functions, including C++'s new, on all threads.
#pragma once

#include <cstdint>
#include <functional>

namespace hearth::test {

struct Allocations {
  int64_t calls = 0;      // of malloc, calloc, realloc and the aligned ones
  int64_t largest = 0;    // bytes requested in one call
  int64_t in_pieces = 0;  // calls while a piece of work ran (recognized by flushed subnormals, core/threads.h)
  int64_t aligned = 0;    // calls of posix_memalign and the like: scratch memory of threads
  int64_t mapped = 0;     // calls of mmap by the program itself
};

Allocations allocations_of(const std::function<void()>& run);

}  // namespace hearth::test
