// Memory of hearth's own buffers: what backends allocate for tensors, prepared weights and scratch, and the parts of mapped files that
// are used where they are.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hearth {

class MemoryWatch;

struct MemoryUse {
  int64_t now = 0;     // bytes in use
  int64_t peak = 0;    // most bytes in use at once since the ledger was created
  int64_t mapped = 0;  // of `now`: of mapped files
};

// Counts bytes in use. Each device has a ledger (Backend::ledger()) inside the process's ledger; each dry run has its own ledger.
// Thread-safe.
class MemoryLedger {
 public:
  // `whole` counts everything that this ledger counts, and must outlive it.
  explicit MemoryLedger(MemoryLedger* whole = nullptr) : whole_(whole) {}
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  void add(int64_t bytes);         // negative when freed
  void add_mapped(int64_t bytes);  // the same for parts of mapped files
  MemoryUse use() const;
  static MemoryLedger& process();  // all devices and the scratch of their threads

 private:
  friend class MemoryWatch;

  void change(int64_t bytes, int64_t mapped);

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

// A region of a device's memory of its own, for weights that come and go while everything else stays: they leave no holes elsewhere, and
// the region grows to what they take at most, however their allocations interleave with others (Backend::region()).
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
};

// While it lives, what the calling thread allocates on the region's device is in the region. Null: changes nothing.
class RegionScope {
 public:
  explicit RegionScope(MemoryRegion* region);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;
  static MemoryRegion* current();

 private:
  MemoryRegion* outer_;
};

int64_t process_peak_bytes();      // peak resident size of the process (VmHWM)
int64_t process_resident_bytes();  // current resident size of the process
int64_t system_available_bytes();  // memory available without swapping

}  // namespace hearth
