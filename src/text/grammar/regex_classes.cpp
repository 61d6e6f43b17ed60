#include "text/grammar/regex_classes.h"

#include <unicode/uniset.h>

#include <algorithm>

namespace hearth::text::grammar {

std::vector<CharRange> digit_ranges() { return {{'0', '9'}}; }
std::vector<CharRange> word_ranges() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
std::vector<CharRange> space_ranges() {
  return {{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
          {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
}
std::vector<CharRange> line_break_ranges() { return {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}; }

std::optional<std::vector<CharRange>> property_ranges(const std::string& property) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '=';
  };
  if (property.empty() || !std::all_of(property.begin(), property.end(), plain)) return std::nullopt;
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeSet set(icu::UnicodeString::fromUTF8("[\\p{" + property + "}]"), status);
  if (U_FAILURE(status) != 0) return std::nullopt;
  std::vector<CharRange> ranges;
  for (int32_t i = 0; i < set.getRangeCount(); ++i) ranges.push_back({char32_t(set.getRangeStart(i)), char32_t(set.getRangeEnd(i))});
  return ranges;
}

}  // namespace hearth::text::grammar
