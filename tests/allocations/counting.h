// Counts what this program asks of the C library's memory functions, C++'s new included, on all threads.
#pragma once

#include <cstdint>
#include <functional>

namespace hearth::test {

struct Allocations {
  int64_t calls = 0;      // of malloc, calloc, realloc and the aligned ones
  int64_t largest = 0;    // bytes asked for at one time
  int64_t in_pieces = 0;  // calls while a piece of work ran (core/threads.h: where subnormal numbers are flushed, and nowhere else)
  int64_t aligned = 0;    // calls of posix_memalign and the like: scratch memory of threads
  int64_t mapped = 0;     // calls of mmap by the program itself
};

Allocations allocations_of(const std::function<void()>& run);

}  // namespace hearth::test
