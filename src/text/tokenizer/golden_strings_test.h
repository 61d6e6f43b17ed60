// Generates the strings of golden/strings.py.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::text {

// splitmix64 (Steele, Lea and Flood 2014).
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint64_t below(uint64_t n) { return next() % n; }

 private:
  uint64_t state_;
};

// golden/fragments.json.
struct Fragments {
  std::vector<std::string> words, space, emoji, code, marks;
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  static const Fragments& load();
};

std::string golden_string(uint64_t index, const std::vector<std::string>& special);

constexpr uint32_t fnv_start = 0x811c9dc5;
uint32_t hash_ids(std::span<const int32_t> ids, uint32_t h = fnv_start);
uint32_t hash_text(std::string_view text, uint32_t h = fnv_start);

}  // namespace hearth::text
