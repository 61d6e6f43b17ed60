// How much memory hearth's own buffers take: what backends allocate for tensors, prepared weights and scratch.
#pragma once

#include <atomic>
#include <cstdint>

namespace hearth {

struct MemoryUse {
  int64_t now = 0;   // bytes in use
  int64_t peak = 0;  // most bytes in use at one time since the last reset
};

// Counters are per ledger: the process's own, and one for each dry run.
class MemoryLedger {
 public:
  void add(int64_t bytes);  // negative when freed; safe from any thread
  MemoryUse use() const;
  void reset_peak();
  static MemoryLedger& process();

 private:
  std::atomic<int64_t> now_{0}, peak_{0};
};

int64_t process_peak_bytes();      // the process's largest resident size (VmHWM), as the system counts it
int64_t process_resident_bytes();  // what is resident now
int64_t system_available_bytes();  // memory that can still be had without swapping

}  // namespace hearth
