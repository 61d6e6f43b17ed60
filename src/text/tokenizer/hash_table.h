// A hash table from 64-bit keys to small values, with open addressing, for the inner loops.
#pragma once

#include <cstdint>
#include <vector>

namespace hearth::text::pipeline {

inline uint64_t mixed(uint64_t key) {
  key *= 0x9e3779b97f4a7c15;
  return key ^ key >> 32;
}

// Every key except ~0 is allowed.
template <class Value> class HashTable {
 public:
  // The value of the key, which is inserted if it does not exist.
  Value& operator[](uint64_t key) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    if (slot.key == none) {
      slot.key = key;
      ++count_;
    }
    return slot.value;
  }
  // nullptr if there is none.
  const Value* find(uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(key)];
    return slot.key == none ? nullptr : &slot.value;
  }

 private:
  static constexpr uint64_t none = ~uint64_t(0);
  struct Slot {
    uint64_t key = none;
    Value value{};
  };

  size_t place(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = mixed(key) & mask;
    while (slots_[at].key != none && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != none) slots_[place(slot.key)] = slot;
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace hearth::text::pipeline
