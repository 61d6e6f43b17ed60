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

std::string size_text(int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", double(bytes) / 1e3);
  return bytes < 1'000'000'000 ? fmt::format("{:.1f} MB", double(bytes) / 1e6) : fmt::format("{:.2f} GB", double(bytes) / 1e9);
}

}  // namespace hearth
