#include "core/memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace hearth {
namespace {

int64_t kilobytes_of(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key, 0) == 0) return std::stoll(line.substr(key.size())) * 1024;
  return 0;
}

}  // namespace

void MemoryLedger::add(int64_t bytes) { change(bytes, 0); }
void MemoryLedger::add_mapped(int64_t bytes) { change(bytes, bytes); }

void MemoryLedger::change(int64_t bytes, int64_t mapped) {
  for (MemoryLedger* ledger = this; ledger; ledger = ledger->whole_) {
    const std::lock_guard lock(ledger->mutex_);
    ledger->use_.mapped += mapped;
    const int64_t now = ledger->use_.now += bytes;
    ledger->use_.peak = std::max(ledger->use_.peak, now);
    for (MemoryWatch* watch : ledger->watches_) watch->peak_ = std::max(watch->peak_, now);
  }
}

MemoryUse MemoryLedger::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

MemoryLedger& MemoryLedger::process() {
  static MemoryLedger& ledger = *new MemoryLedger;  // never destroyed: tensors of static objects are freed late
  return ledger;
}

MemoryWatch::MemoryWatch(MemoryLedger& ledger) : ledger_(ledger) {
  const std::lock_guard lock(ledger_.mutex_);
  peak_ = ledger_.use_.now;
  ledger_.watches_.push_back(this);
}

MemoryWatch::~MemoryWatch() {
  const std::lock_guard lock(ledger_.mutex_);
  std::erase(ledger_.watches_, this);
}

int64_t MemoryWatch::peak() const {
  const std::lock_guard lock(ledger_.mutex_);
  return peak_;
}

namespace {
thread_local MemoryRegion* region_in_use = nullptr;
}

RegionScope::RegionScope(MemoryRegion* region) : outer_(region_in_use) {
  if (region) region_in_use = region;
}
RegionScope::~RegionScope() { region_in_use = outer_; }
MemoryRegion* RegionScope::current() { return region_in_use; }

int64_t process_peak_bytes() { return kilobytes_of("/proc/self/status", "VmHWM:"); }
int64_t process_resident_bytes() { return kilobytes_of("/proc/self/status", "VmRSS:"); }
int64_t system_available_bytes() { return kilobytes_of("/proc/meminfo", "MemAvailable:"); }

}  // namespace hearth
