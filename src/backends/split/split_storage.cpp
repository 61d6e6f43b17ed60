#include "backends/split/split_storage.h"

#include "core/backend.h"

namespace hearth::split {

Copies::State Copies::state() const {
  const std::lock_guard lock(mutex_);
  return {.on_card = memory_[int(Side::card)] != nullptr,
          .on_host = memory_[int(Side::host)] != nullptr,
          .floating = floating_,
          .pinned = pinned_};
}

const std::shared_ptr<const Storage>& Copies::ready(Side side) {
  std::shared_ptr<const Storage>& own = memory_[int(side)];
  if (own) return own;
  const std::shared_ptr<const Storage>& there = memory_[int(other(side))];
  std::shared_ptr<const Storage> made = sides_.at(side).allocate(bytes_);
  if (constant_) {
    Tensor all(made, {int64_t(bytes_ / size_of(constant_->dtype))}, constant_->dtype);
    sides_.at(side).fill(all, constant_->value);
  } else if (there) {
    sides_.transfer(other(side), there, made);
  }
  return own = std::move(made);
}

std::shared_ptr<const Storage> Copies::read(Side side) {
  const std::lock_guard lock(mutex_);
  return ready(side);
}

std::shared_ptr<const Storage> Copies::write(Side side, bool whole, bool floating) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Storage>& own = memory_[int(side)];
  if (!whole) ready(side);
  else if (!own) own = sides_.at(side).allocate(bytes_);
  memory_[int(other(side))] = nullptr;
  constant_.reset();
  floating_ = floating;
  return own;
}

void Copies::pin(Side side) {
  const std::lock_guard lock(mutex_);
  pinned_ = side;
}

void Copies::set(float value, DType dtype) {
  const std::lock_guard lock(mutex_);
  memory_[0] = memory_[1] = nullptr;
  if (value == 0) dtype = bytes_ % size_of(DType::f32) == 0 ? DType::f32 : DType::u8;  // the same bytes in every type
  constant_ = {value, dtype};
  floating_ = false;
}

void Copies::adopt(const Tensor& x) {
  Storage same = x.storage();
  same.data = x.raw();
  same.size = bytes_;
  const std::lock_guard lock(mutex_);
  memory_[int(Side::host)] = std::make_shared<const Storage>(std::move(same));
  memory_[int(Side::card)] = nullptr;
  constant_.reset();
}

}  // namespace hearth::split
