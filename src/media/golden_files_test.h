// For tests: the files of golden/, their JSON, and the base64-encoded bytes in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "media/pixels.h"
#include "support/golden.h"

namespace hearth::test {

inline std::filesystem::path golden_file(const std::string& name) { return folder_of(__FILE__) / "golden" / name; }
inline nlohmann::json golden_json(const std::string& name) { return nlohmann::json::parse(std::ifstream(golden_file(name))); }

inline std::vector<uint8_t> from_base64(const std::string& text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | uint32_t(digits.find(c));
    if ((count += 6) >= 8) bytes.push_back(uint8_t(bits >> (count -= 8)));
  }
  return bytes;
}

inline Pixels random_pixels(int64_t W, int64_t H, unsigned seed) {
  Pixels p{.width = W, .height = H, .rgb = {}};
  for (int64_t i = 0; i < W * H * 3; ++i) p.rgb.push_back(uint8_t((seed = seed * 1664525u + 1013904223u) >> 24));
  return p;
}

}  // namespace hearth::test
