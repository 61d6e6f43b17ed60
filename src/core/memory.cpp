#include "core/memory.h"

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

void MemoryLedger::add(int64_t bytes) {
  const int64_t now = now_.fetch_add(bytes) + bytes;
  for (int64_t seen = peak_.load(); now > seen && !peak_.compare_exchange_weak(seen, now);) {}
}

MemoryUse MemoryLedger::use() const { return {now_.load(), peak_.load()}; }
void MemoryLedger::reset_peak() { peak_.store(now_.load()); }

MemoryLedger& MemoryLedger::process() {
  static MemoryLedger ledger;
  return ledger;
}

int64_t process_peak_bytes() { return kilobytes_of("/proc/self/status", "VmHWM:"); }
int64_t process_resident_bytes() { return kilobytes_of("/proc/self/status", "VmRSS:"); }
int64_t system_available_bytes() { return kilobytes_of("/proc/meminfo", "MemAvailable:"); }

}  // namespace hearth
