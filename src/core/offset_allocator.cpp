#include "core/offset_allocator.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <iterator>

namespace hearth {

OffsetAllocator::OffsetAllocator(size_t capacity) { add_hole(0, capacity / alignment * alignment); }

std::optional<size_t> OffsetAllocator::take(size_t bytes) {
  if (bytes > SIZE_MAX - alignment) return std::nullopt;
  const size_t size = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  const auto fitting = by_size_.lower_bound({size, 0});
  if (fitting == by_size_.end()) return std::nullopt;
  const auto hole = holes_.find(fitting->second);
  const auto [begin, end] = *hole;
  remove_hole(hole);
  if (begin + size < end) add_hole(begin + size, end);
  used_.emplace(begin, begin + size);
  in_use_ += size;
  reached_ = std::max(reached_, begin + size);
  return begin;
}

void OffsetAllocator::give(size_t offset) {
  const auto block = used_.find(offset);
  assert(block != used_.end());
  size_t begin = block->first, end = block->second;
  used_.erase(block);
  in_use_ -= end - begin;
  auto after = holes_.lower_bound(begin);
  if (after != holes_.begin())
    if (const auto before = std::prev(after); before->second == begin) {
      begin = before->first;
      remove_hole(before);
    }
  if (after != holes_.end() && after->first == end) {
    end = after->second;
    remove_hole(after);
  }
  add_hole(begin, end);
}

std::vector<OffsetAllocator::Range> OffsetAllocator::trim() {
  std::vector<Range> ranges;
  for (const auto& [begin, end] : holes_)
    if (begin < reached_) ranges.push_back({begin, std::min(end, reached_)});
  reached_ = used_.empty() ? 0 : used_.rbegin()->second;
  return ranges;
}

void OffsetAllocator::add_hole(size_t begin, size_t end) {
  holes_.emplace(begin, end);
  by_size_.emplace(end - begin, begin);
}

void OffsetAllocator::remove_hole(std::map<size_t, size_t>::iterator hole) {
  by_size_.erase({hole->second - hole->first, hole->first});
  holes_.erase(hole);
}

}  // namespace hearth
