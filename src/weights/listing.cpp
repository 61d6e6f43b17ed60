#include "weights/listing.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace hearth {

std::string shortened_list(std::span<const std::string> items) {
  constexpr size_t shown = 10;
  std::string text = fmt::format("{}", fmt::join(items.first(std::min(items.size(), shown)), ", "));
  if (items.size() > shown) text += fmt::format(" and {} more", items.size() - shown);
  return text;
}

}  // namespace hearth
