#include "weights/block_stream.h"

#include <algorithm>
#include <chrono>

#include "core/backend.h"
#include "core/error.h"
#include "core/observe.h"
#include "core/threads.h"
#include "weights/packed_cache.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

BlockUse::Totals BlockUse::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

void BlockUse::add(const Totals& more) {
  const std::lock_guard lock(mutex_);
  totals_.loads += more.loads;
  totals_.load_seconds += more.load_seconds;
  totals_.waited_seconds += more.waited_seconds;
}

BlockStream::BlockStream(Weights& weights, double resident) : device_(weights.backend()), resident_(resident), weights_(weights.again()) {}

BlockStream::~BlockStream() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

size_t BlockStream::add(const Scope& w, Build build) {
  Weights& weights = w.weights();
  const int64_t before = weights.report().bytes_stored;
  weights.take_largest_read();
  weights.without_loading([&] { build(w); });
  const int64_t bytes = weights.report().bytes_stored - before;
  const bool on_card = weights.side_of(w.path() + ".block.weight") == Side::card;
  if (!on_card) bytes_ += bytes;
  const bool stays = on_card || double(bytes_kept_ + bytes) <= resident_ * double(bytes_);
  Entry entry{.scope = w, .build = std::move(build), .kept = nullptr, .live = {}, .failed = nullptr};
  if (stays) {
    if (!on_card) bytes_kept_ += bytes;
    if (weights.sound()) entry.kept = entry.build(w);
  } else {
    ++missing_;
    largest_read_ = std::max(largest_read_, weights.take_largest_read());
  }
  weights.count_block(stays);
  entries_.push_back(std::move(entry));
  return entries_.size() - 1;
}

// Concurrent loops need more than two.
BlockStream::Place& BlockStream::empty_place() {
  while (places_.size() < 2) places_.push_back({.region = device_.region(), .block = {}});
  Place& next = places_[loads_++ % 2];
  if (next.block.expired()) return next;
  const auto empty = std::ranges::find_if(places_, [](const Place& place) { return place.block.expired(); });
  return empty != places_.end() ? *empty : places_.emplace_back(Place{.region = device_.region(), .block = {}});
}

std::shared_ptr<const void> BlockStream::load(Entry& entry) {
  const auto start = Clock::now();
  Place& place = empty_place();
  const RegionScope in_region(place.region.get());
  Weights weights = weights_.again();
  std::shared_ptr<const void> block = entry.build(entry.scope.in(weights));
  weights.finish();
  place.block = block;
  if (const auto& use = weights_.options().use) use->add({.loads = 1, .load_seconds = since(start)});
  if (!std::exchange(entry.loaded_before, true)) loaded_first();
  return block;
}

// After the last block, the packed-weight cache has all weights.
void BlockStream::loaded_first() {
  {
    const std::lock_guard lock(mutex_);
    if (--missing_ > 0) return;
  }
  if (const auto& cache = weights_.options().cache) cache->finish();
}

std::shared_ptr<const void> BlockStream::taken(size_t index) {
  const auto found = std::ranges::find(ahead_, index, &std::pair<size_t, std::shared_ptr<const void>>::first);
  if (found == ahead_.end()) return entries_[index].live.lock();
  std::shared_ptr<const void> block = std::move(found->second);
  ahead_.erase(found);
  return block;
}

void BlockStream::want(size_t index) {
  Entry& entry = entries_[index];
  if (entry.wanted || entry.failed) return;
  entry.wanted = true;
  queue_.push_back(index);
  if (!worker_.joinable() && device_.computes())
    worker_ = std::thread([this] {
      const CancelScope canceled_by(stop_);
      ThreadPool pool(loading_threads(device_.threads().size()));
      const ThreadPool::Scope with(pool);
      work();
    });
  changed_.notify_all();
}

std::shared_ptr<const void> BlockStream::get(size_t index) {
  Entry& entry = entries_.at(index);
  if (entry.kept) return entry.kept;
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  if (!reading_) reading_ = device_.count_mapped(largest_read_);
  for (;;) {
    if (auto block = taken(index)) {
      if (const auto& use = weights_.options().use) use->add({.waited_seconds = since(start)});
      return block;
    }
    if (entry.failed && !entry.wanted) std::rethrow_exception(std::exchange(entry.failed, nullptr));
    want(index);
    if (!device_.computes()) {
      lock.unlock();
      work();
      lock.lock();
      continue;
    }
    changed_.wait_for(lock, std::chrono::milliseconds(50));
    check_canceled();
  }
}

void BlockStream::load_after(size_t index) {
  std::unique_lock lock(mutex_);
  for (size_t i = 1; i < entries_.size(); ++i) {
    const size_t next = (index + i) % entries_.size();
    Entry& entry = entries_[next];
    if (entry.kept) continue;
    const bool there = std::ranges::find(ahead_, next, &std::pair<size_t, std::shared_ptr<const void>>::first) != ahead_.end();
    if (there || !entry.live.expired()) return;
    want(next);
    lock.unlock();
    if (!device_.computes()) work();
    return;
  }
}

// The stream's thread. In a dry run, the caller, which returns when there is nothing left to load.
void BlockStream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (queue_.empty() && !device_.computes()) return;
    changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const size_t index = queue_.front();
    queue_.pop_front();
    Entry& entry = entries_[index];
    // A loop that ended early may have left a block that was loaded ahead.
    std::vector<std::shared_ptr<const void>> left;
    while (ahead_.size() >= std::max<size_t>(1, loops_)) left.push_back(std::move(ahead_.front().second)), ahead_.pop_front();
    lock.unlock();
    left.clear();
    std::shared_ptr<const void> block;
    std::exception_ptr failed;
    try {
      block = load(entry);
    } catch (const Canceled&) {  // the loop that waits for the block is canceled as well
    } catch (...) { failed = std::current_exception(); }
    lock.lock();
    entry.wanted = false;
    entry.failed = failed;
    if (block) {
      entry.live = block;
      ahead_.emplace_back(index, std::move(block));
    }
    changed_.notify_all();
  }
}

// Packing takes a few percent of the time that products with the weights take.
int BlockStream::loading_threads(int of_device) { return std::clamp(of_device / 8, 1, 8); }

void BlockStream::finish_work() {
  if (&device_.host() != &device_) device_.finish();
}

BlockStream::Loop::Loop(BlockStream& stream) : stream_(stream) {
  const std::lock_guard lock(stream_.mutex_);
  ++stream_.loops_;
}

BlockStream::Loop::~Loop() {
  const std::lock_guard lock(stream_.mutex_);
  --stream_.loops_;
}

bool BlockStream::incomplete() const {
  const std::lock_guard lock(mutex_);
  return missing_ > 0;
}

}  // namespace hearth
