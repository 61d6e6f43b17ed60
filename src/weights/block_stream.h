// The blocks of a component that do not all stay in memory. Threads of the stream's own load the next of them while a loop computes with
// the current one, so at most two are in memory for each loop.
//
// Which blocks stay is spread evenly over the network, so that there is as much time as possible to load each of the others. They are
// loaded as the rest of the component is; the others with the same code, the same checks and the same bits, alternately in two regions of
// the device's memory (core/memory.h): each is empty when a block is loaded into it, so they grow to the sizes of their largest blocks,
// however loading and computing interleave. What a dry run loads, it loads at once, in the same order: the plan has the same memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/memory.h"
#include "weights/scope.h"

namespace hearth {

// What the streams of a component did, in all its runs. Thread-safe.
class BlockUse {
 public:
  struct Totals {
    int64_t loads = 0;          // of blocks
    double load_seconds = 0;    // in the background
    double waited_seconds = 0;  // by loops, for blocks
  };
  Totals totals() const;
  void add(const Totals& more);

 private:
  mutable std::mutex mutex_;
  Totals totals_;
};

class BlockStream {
 public:
  using Build = std::function<std::shared_ptr<const void>(const Scope&)>;

  // Of `weights`; keeps the part `resident` of the blocks' bytes in memory, 0 to 1. Blocks on a card all stay there.
  BlockStream(Weights& weights, double resident);
  ~BlockStream();
  BlockStream(const BlockStream&) = delete;
  BlockStream& operator=(const BlockStream&) = delete;

  // Adds the block that build() makes from w; blocks are added in the order in which loops reach them. Its tensors count as read: names and
  // shapes are checked now. Returns its index.
  size_t add(const Scope& w, Build build);

  // The block, loaded if it is not in memory: waits for it. Errors of loading it: WeightError, IoError. Canceled.
  std::shared_ptr<const void> get(size_t index);
  // Starts to load the block that follows `index` among those that do not stay; after the last comes the first, for the next loop.
  void load_after(size_t index);
  // Call before a loop releases a block, so that no submitted work uses it any longer.
  void finish_work();

  // While it lives, a loop runs, which may have one block that is loaded ahead.
  class Loop {
   public:
    explicit Loop(BlockStream& stream);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

   private:
    BlockStream& stream_;
  };

  static int loading_threads(int of_device);  // how many threads load blocks while a device with `of_device` threads computes

  bool incomplete() const;  // not every block has been loaded, so the packed-weight cache is still to be written

 private:
  struct Entry {
    Scope scope;  // its weights are those of loading, and no longer valid
    Build build;
    std::shared_ptr<const void> kept;  // if it stays
    std::weak_ptr<const void> live;    // while a loop uses it
    bool wanted = false, loaded_before = false;
    std::exception_ptr failed;
  };
  struct Place {
    std::shared_ptr<MemoryRegion> region;
    std::weak_ptr<const void> block;  // in it
  };
  Place& empty_place();
  std::shared_ptr<const void> load(Entry& entry);
  void loaded_first();
  void want(size_t index);  // under mutex_
  void work();
  std::shared_ptr<const void> taken(size_t index);  // under mutex_; nullptr if it is not in memory

  Backend& device_;
  const double resident_;
  const Weights weights_;                // from which blocks are loaded again
  std::shared_ptr<const void> reading_;  // counts the part of a file that is in memory while a block is loaded
  int64_t largest_read_ = 0, bytes_ = 0, bytes_kept_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
  std::deque<Place> places_;  // of the thread that loads
  size_t loads_ = 0;          // of that thread
  size_t missing_ = 0;        // blocks that were never loaded
  std::deque<size_t> queue_;
  std::deque<std::pair<size_t, std::shared_ptr<const void>>> ahead_;  // loaded, and not yet reached
  size_t loops_ = 0;
  std::atomic<bool> stop_{false};
  std::thread worker_;
};

}  // namespace hearth
