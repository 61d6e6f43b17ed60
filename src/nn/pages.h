// Pages of a pool, and which of them a text uses. A page has room for the keys and values of some consecutive positions; texts that begin
// with the same tokens share their pages.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace hearth::nn {

// The pages of a pool by number, with the number of users of each. Not thread-safe.
class PagePool {
 public:
  explicit PagePool(int64_t count);

  int64_t count() const { return std::ssize(users_); }
  int64_t free() const { return std::ssize(free_); }
  int64_t users(int32_t page) const { return users_.at(size_t(page)); }
  // A free page, with one user. Only if free() > 0.
  int32_t take();
  void share(int32_t page);    // one user more
  void release(int32_t page);  // one user less; without users the page is free

 private:
  std::vector<int32_t> users_, free_;
};

// The pages of one text: entry i is the page of positions i·size … (i + 1)·size − 1, or `none` if they are forgotten.
class PageTable {
 public:
  static constexpr int32_t none = -1;

  PageTable(std::shared_ptr<PagePool> pool, int64_t size) : pool_(std::move(pool)), size_(size) {}
  ~PageTable() { truncate(0); }
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  int64_t size() const { return size_; }  // of a page, in positions
  PagePool& pool() const { return *pool_; }
  std::span<const int32_t> pages() const { return pages_; }
  int64_t oldest() const { return first_ * size_; }  // the first position that is not forgotten
  int64_t end() const { return std::ssize(pages_) * size_; }

  // How many pages positions below `length` need in addition.
  int64_t missing(int64_t length) const { return std::max<int64_t>(0, (length + size_ - 1) / size_ - std::ssize(pages_)); }
  void extend(int64_t length);    // takes them; only if there are enough free pages
  void truncate(int64_t length);  // releases the pages that have only positions from `length` on
  void forget(int64_t oldest);    // releases the pages that have only positions before `oldest`
  // The next page is one that another text has filled; `none` for positions that are not needed, only at the beginning.
  void append(int32_t page);
  // Exchanges entry i by a page of its own.  Returns the old and the new page.
  std::pair<int32_t, int32_t> replace(int64_t i);
  // i32 [pages] on the device.
  Tensor on(Backend& device) const;

 private:
  std::shared_ptr<PagePool> pool_;
  int64_t size_, first_ = 0;
  std::vector<int32_t> pages_;
  mutable Tensor on_device_;
};

}  // namespace hearth::nn
