// The memory of a split backend's tensors: up to two copies of the same bytes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "core/side.h"
#include "core/tensor.h"

namespace hearth::split {

inline Side other(Side side) { return side == Side::card ? Side::host : Side::card; }

// The two backends, and what went between them.
class Sides {
 public:
  virtual ~Sides() = default;
  virtual Backend& at(Side side) = 0;
  // Copies all bytes from one side's memory to the other's.
  virtual void transfer(Side from, const std::shared_ptr<const Storage>& x, const std::shared_ptr<const Storage>& y) = 0;
};

// The copies of one storage. Memory is taken on a side when the storage is first written or read there; a write frees the other copy.
// Safe from several threads that read.
class Copies {
 public:
  Copies(Sides& sides, size_t bytes) : sides_(sides), bytes_(bytes) {}

  struct State {
    bool on_card = false, on_host = false;  // where the contents are
    bool floating = false;                  // uploaded, and not yet used by an op that decides where it belongs
    std::optional<Side> pinned;             // it belongs there
    bool on(Side side) const { return side == Side::card ? on_card : on_host; }
    bool has_contents() const { return on_card || on_host; }
  };
  State state() const;

  // The contents on a side, brought there if they are only on the other.
  std::shared_ptr<const Storage> read(Side side);
  // Memory on a side for a write, the only copy from then on. whole: the old contents are not needed.
  std::shared_ptr<const Storage> write(Side side, bool whole, bool floating);
  void pin(Side side);
  // All elements, of this type, have this value; no memory is needed until it is used.
  void set(float value, DType dtype);
  // The same memory as a tensor of the host that never changes.
  void adopt(const Tensor& x);

 private:
  const std::shared_ptr<const Storage>& ready(Side side);  // under mutex_

  Sides& sides_;
  const size_t bytes_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Storage> memory_[2];  // by side; null if the contents are not there
  struct Constant {
    float value;
    DType dtype;
  };
  std::optional<Constant> constant_;
  bool floating_ = false;
  std::optional<Side> pinned_;
};

}  // namespace hearth::split
