#include "weights/offload.h"

#include <algorithm>
#include <string_view>

namespace hearth {
namespace {

bool is_number(std::string_view part) { return !part.empty() && part.find_first_not_of("0123456789") == part.npos; }

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string block_of(const std::string& tensor) {
  const std::vector<std::string_view> parts = parts_of(tensor);
  size_t last = 1;  // of the block's own parts
  while (last < parts.size() && !is_number(parts[last])) ++last;
  if (last == parts.size()) return "";
  const std::string_view list = parts[last - 1];
  if (list == "down_blocks" || list == "up_blocks") {
    if (last + 1 < parts.size() && is_number(parts[last + 1])) last += 1;
    else if (last + 2 < parts.size() && is_number(parts[last + 2])) last += 2;
  }
  if (last + 2 >= parts.size()) return "";
  const std::string_view& end = parts[last];
  return tensor.substr(0, size_t(end.data() + end.size() - tensor.data()));
}

std::vector<std::string> blocks_of(std::span<const std::string> tensors) {
  std::vector<std::string> blocks;
  std::set<std::string> seen;
  for (const std::string& tensor : tensors)
    if (std::string block = block_of(tensor); !block.empty() && seen.insert(block).second) blocks.push_back(std::move(block));
  return blocks;
}

Offload::Offload(std::span<const std::string> blocks, int64_t on_card)
    : all_(blocks.empty() ? on_card > 0 : on_card >= std::ssize(blocks)) {
  const auto first = blocks.first(size_t(std::clamp<int64_t>(on_card, 0, std::ssize(blocks))));
  on_card_.insert(first.begin(), first.end());
}

Side Offload::side_of(const std::string& tensor) const { return all_ || on_card_.contains(block_of(tensor)) ? Side::card : Side::host; }

}  // namespace hearth
