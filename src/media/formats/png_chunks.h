// For tests: the chunks of a PNG file, valid or not.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace hearth::test {

inline uint32_t png_number(const std::string& bytes, size_t at) {
  uint32_t v = 0;
  for (size_t i = 0; i < 4; ++i) v = v << 8 | uint8_t(bytes[at + i]);
  return v;
}

// Calls f(kind, start of the data, size) for each complete chunk.
template <class F> void for_chunks(const std::string& bytes, F f) {
  for (size_t at = 8; at + 12 <= bytes.size();) {
    const size_t size = png_number(bytes, at);
    if (size > bytes.size() - at - 12) return;
    f(bytes.substr(at + 4, 4), at + 8, size);
    at += 12 + size;
  }
}

// The same file with correct checksums, so that a change inside a chunk reaches the code after the check.
inline std::string with_checksums(std::string bytes) {
  for_chunks(std::string(bytes), [&](const std::string&, size_t begin, size_t size) {
    const auto crc = uint32_t(::crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + begin - 4), uInt(size + 4)));
    for (size_t i = 0; i < 4; ++i) bytes[begin + size + i] = char(crc >> (24 - 8 * i));
  });
  return bytes;
}

}  // namespace hearth::test
