#include "core/text/bytes.h"

#include <fmt/format.h>

namespace hearth {

std::pair<std::string, std::string> in_gigabytes(int64_t a, int64_t b) {
  const auto text = [](int64_t bytes, int decimals) { return fmt::format("{:.{}f}", double(bytes) * 1e-9, decimals); };
  int decimals = 2;
  while (a != b && decimals < 9 && text(a, decimals) == text(b, decimals)) ++decimals;
  return {text(a, decimals), text(b, decimals)};
}

}  // namespace hearth
