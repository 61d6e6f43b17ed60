#include "server/api/base64.h"

#include <array>
#include <cstdint>

namespace hearth::server {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> values = [] {
  std::array<int8_t, 256> all{};
  all.fill(-1);
  for (size_t i = 0; i < alphabet.size(); ++i) all[uint8_t(alphabet[i])] = int8_t(i);
  all[uint8_t('-')] = 62, all[uint8_t('_')] = 63;
  return all;
}();

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < left ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= left ? alphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  int bits = 0;
  size_t digits = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      if (++padding > 2) return {};
      continue;
    }
    const int8_t value = values[uint8_t(c)];
    if (value < 0 || padding > 0) return {};
    group = group << 6 | uint32_t(value);
    ++digits, bits += 6;
    if (bits >= 8) out += char(group >> (bits -= 8) & 255);
  }
  if (digits % 4 == 1 || (padding > 0 && (digits + padding) % 4 != 0)) return {};
  return out;
}

}  // namespace hearth::server
