// How much memory hearth's own buffers take: what backends allocate for tensors, prepared weights and scratch.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace hearth {

class MemoryWatch;

struct MemoryUse {
  int64_t now = 0;   // bytes in use
  int64_t peak = 0;  // most bytes in use at one time since the ledger began
};

// Bytes in use, counted. Each device has a ledger (Backend::ledger()) within the process's, and each dry run one of its own.
// Safe from any thread.
class MemoryLedger {
 public:
  // What this ledger counts, `whole` counts, too; it must outlive this one.
  explicit MemoryLedger(MemoryLedger* whole = nullptr) : whole_(whole) {}
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  void add(int64_t bytes);  // negative when freed
  MemoryUse use() const;
  static MemoryLedger& process();  // of all devices, and of the scratch of their threads

 private:
  friend class MemoryWatch;

  MemoryLedger* const whole_;
  mutable std::mutex mutex_;
  MemoryUse use_;                      // under mutex_
  std::vector<MemoryWatch*> watches_;  // under mutex_
};

// Sees the most that a ledger counts while the watch lives. Several may watch one ledger at the same time, each from its own beginning.
//
//   const MemoryWatch watch(device.ledger());
//   … the run …
//   watch.peak()
class MemoryWatch {
 public:
  explicit MemoryWatch(MemoryLedger& ledger);  // which must outlive it
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  int64_t peak() const;  // most bytes in use at one time since the watch began

 private:
  friend class MemoryLedger;

  MemoryLedger& ledger_;
  int64_t peak_;  // under the ledger's mutex
};

int64_t process_peak_bytes();      // the process's largest resident size (VmHWM), as the system counts it
int64_t process_resident_bytes();  // what is resident now
int64_t system_available_bytes();  // memory that can still be had without swapping

}  // namespace hearth
