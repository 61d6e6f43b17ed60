// Memory of hearth's own buffers: what backends allocate for tensors, prepared weights and scratch.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace hearth {

class MemoryWatch;

struct MemoryUse {
  int64_t now = 0;   // bytes in use
  int64_t peak = 0;  // most bytes in use at once since the ledger was created
};

// Counts bytes in use. Each device has a ledger (Backend::ledger()) inside the process's ledger; each dry run has its own ledger.
// Thread-safe.
class MemoryLedger {
 public:
  // `whole` counts everything that this ledger counts, and must outlive it.
  explicit MemoryLedger(MemoryLedger* whole = nullptr) : whole_(whole) {}
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  void add(int64_t bytes);  // negative when freed
  MemoryUse use() const;
  static MemoryLedger& process();  // all devices and the scratch of their threads

 private:
  friend class MemoryWatch;

  MemoryLedger* const whole_;
  mutable std::mutex mutex_;
  MemoryUse use_;                      // under mutex_
  std::vector<MemoryWatch*> watches_;  // under mutex_
};

// Records the peak of a ledger while the watch lives. Several watches may observe one ledger at once, each from its own start.
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

  int64_t peak() const;  // most bytes in use at once since the watch was created

 private:
  friend class MemoryLedger;

  MemoryLedger& ledger_;
  int64_t peak_;  // under the ledger's mutex
};

int64_t process_peak_bytes();      // peak resident size of the process (VmHWM)
int64_t process_resident_bytes();  // current resident size of the process
int64_t system_available_bytes();  // memory available without swapping

}  // namespace hearth
