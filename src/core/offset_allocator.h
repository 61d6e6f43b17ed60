// Places blocks in one region of memory. It works on offsets only, so that a device with memory (backends/cpu) and a dry run get the
// same placement and the same high-water mark.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace hearth {

// Best fit: the smallest hole that is large enough, the lowest if several have that size; adjacent holes merge. Deterministic: the
// result depends only on the calls so far.
class OffsetAllocator {
 public:
  static constexpr size_t alignment = 64;

  struct Range {
    size_t begin = 0, end = 0;
  };

  explicit OffsetAllocator(size_t capacity);

  // Offset of a block of `bytes`, rounded up to the alignment (0 counts as 1); nullopt if no hole is large enough.
  std::optional<size_t> take(size_t bytes);
  void give(size_t offset);  // frees a block that take() returned

  size_t in_use() const { return in_use_; }    // bytes, rounding included
  size_t reached() const { return reached_; }  // end of the highest block since the last trim(): the memory touched
  // Returns the holes below reached(), and lowers reached() to the end of the highest block in use.
  std::vector<Range> trim();

 private:
  void add_hole(size_t begin, size_t end);
  void remove_hole(std::map<size_t, size_t>::iterator hole);

  std::map<size_t, size_t> used_, holes_;        // begin → end
  std::set<std::pair<size_t, size_t>> by_size_;  // of the holes: size, begin
  size_t in_use_ = 0, reached_ = 0;
};

}  // namespace hearth
