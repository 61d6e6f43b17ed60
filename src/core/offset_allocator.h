// Where blocks lie in one region of memory. Offsets only: the same answers, and so the same high-water mark, with memory
// behind them (backends/cpu) and without (a dry run).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace hearth {

// Best fit: the smallest hole that is large enough, the lowest of equal ones; neighboring holes are one. Deterministic: a
// function of the calls so far.
class OffsetAllocator {
 public:
  static constexpr size_t alignment = 64;

  struct Range {
    size_t begin = 0, end = 0;
  };

  explicit OffsetAllocator(size_t capacity);

  // Offset of a block of `bytes`, rounded up to the alignment (0 counts as 1); nothing when no hole is large enough.
  std::optional<size_t> take(size_t bytes);
  void give(size_t offset);  // what take() returned, once

  size_t in_use() const { return in_use_; }    // bytes, rounding included
  size_t reached() const { return reached_; }  // end of the highest block since the last trim(): what has been touched
  // Holes below reached(); afterwards that is the end of the highest block in use.
  std::vector<Range> trim();

 private:
  void add_hole(size_t begin, size_t end);
  void remove_hole(std::map<size_t, size_t>::iterator hole);

  std::map<size_t, size_t> used_, holes_;        // begin → end
  std::set<std::pair<size_t, size_t>> by_size_;  // of the holes: size, begin
  size_t in_use_ = 0, reached_ = 0;
};

}  // namespace hearth
