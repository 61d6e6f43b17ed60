// A map that forgets what was used least recently. Any thread may use it at any time.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace hearth::text::grammar {

template <class Key, class Value> class Lru {
 public:
  // `capacity` bounds the sum of the costs of what is kept.
  explicit Lru(size_t capacity) : capacity_(capacity) {}

  std::shared_ptr<const Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  // Keeps the value, unless it alone costs more than the capacity. A value that is there already stays.
  void insert(const Key& key, std::shared_ptr<const Value> value, size_t cost) {
    const std::lock_guard lock(mutex_);
    if (cost > capacity_ || places_.count(key) > 0) return;
    entries_.push_front({key, std::move(value), cost});
    places_.emplace(key, entries_.begin());
    used_ += cost;
    while (used_ > capacity_) {
      used_ -= entries_.back().cost;
      places_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Value> value;
    size_t cost;
  };
  mutable std::mutex mutex_;
  size_t capacity_, used_ = 0;
  std::list<Entry> entries_;  // the most recently used first
  std::map<Key, typename std::list<Entry>::iterator> places_;
};

}  // namespace hearth::text::grammar
