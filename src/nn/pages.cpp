#include "nn/pages.h"

#include <algorithm>
#include <stdexcept>

#include "core/backend.h"

namespace hearth::nn {

// Pages are taken from the lowest number on, so that a pool of one text is filled in order.
PagePool::PagePool(int64_t count) : users_(size_t(count)) {
  for (int64_t page = count; page-- > 0;) free_.push_back(int32_t(page));
}

int32_t PagePool::take() {
  if (free_.empty()) throw std::logic_error("pages: none is free");
  const int32_t page = free_.back();
  free_.pop_back();
  users_[size_t(page)] = 1;
  return page;
}

void PagePool::share(int32_t page) {
  if (users_.at(size_t(page)) == 0) throw std::logic_error("pages: a free page is shared");
  ++users_[size_t(page)];
}

void PagePool::release(int32_t page) {
  if (users_.at(size_t(page)) == 0) throw std::logic_error("pages: a free page is released");
  if (--users_[size_t(page)] == 0) free_.push_back(page);
}

void PageTable::extend(int64_t length) {
  for (int64_t count = missing(length); count > 0; --count) pages_.push_back(pool_->take());
  on_device_ = {};
}

void PageTable::truncate(int64_t length) {
  while (std::ssize(pages_) > (length + size_ - 1) / size_) {
    if (pages_.back() != none) pool_->release(pages_.back());
    pages_.pop_back();
  }
  first_ = std::min(first_, std::ssize(pages_));
  on_device_ = {};
}

void PageTable::forget(int64_t oldest) {
  for (; first_ < std::min(oldest / size_, std::ssize(pages_)); ++first_) {
    pool_->release(pages_[size_t(first_)]);
    pages_[size_t(first_)] = none;
    on_device_ = {};
  }
}

void PageTable::append(int32_t page) {
  if (page != none) {
    pool_->share(page);
  } else {
    if (first_ != std::ssize(pages_)) throw std::logic_error("pages: forgotten positions behind others");
    ++first_;
  }
  pages_.push_back(page);
  on_device_ = {};
}

std::pair<int32_t, int32_t> PageTable::replace(int64_t i) {
  const int32_t old = pages_.at(size_t(i)), own = pool_->take();
  pool_->release(old);
  pages_[size_t(i)] = own;
  on_device_ = {};
  return {old, own};
}

Tensor PageTable::on(Backend& device) const {
  if (!on_device_) on_device_ = Tensor::from(device, {std::ssize(pages_)}, pages_);
  return on_device_;
}

}  // namespace hearth::nn
