#include "text/tokenizer/golden_strings_test.h"

#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "core/text/utf8.h"
#include "support/golden.h"

namespace hearth::text {

uint64_t SplitMix::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

const Fragments& Fragments::load() {
  static const Fragments loaded = [] {
    const nlohmann::json json = load_json(test::folder_of(__FILE__) / "golden/fragments.json");
    Fragments f;
    json.at("words").get_to(f.words);
    json.at("space").get_to(f.space);
    json.at("emoji").get_to(f.emoji);
    json.at("code").get_to(f.code);
    json.at("marks").get_to(f.marks);
    json.at("ranges").get_to(f.ranges);
    return f;
  }();
  return loaded;
}

std::string golden_string(uint64_t index, const std::vector<std::string>& special) {
  const Fragments& f = Fragments::load();
  SplitMix random(index * 7919 + 1);
  const auto one_of = [&random](const std::vector<std::string>& list) { return list[random.below(list.size())]; };
  std::string text, part;
  bool first = true;
  for (uint64_t n = 1 + random.below(14); n > 0; --n) {
    const uint64_t kind = random.below(16);
    if (kind < 5) {
      part = one_of(f.words);
    } else if (kind == 5) {
      part = ' ';
      part += one_of(f.words);
    } else if (kind == 6) {
      part = one_of(f.space);
    } else if (kind == 7) {
      const uint64_t value = random.next();
      part = std::to_string(value >> random.below(64));
    } else if (kind == 8) {
      const auto [low, high] = f.ranges[random.below(f.ranges.size())];
      part.clear();
      append_utf8(part, char32_t(low + random.below(high - low + 1)));
    } else if (kind == 9 && !special.empty()) {
      part = one_of(special);
    } else if (kind == 10) {
      part = one_of(f.emoji);
    } else if (kind == 11) {
      part = one_of(f.code);
    } else if (kind == 12 && !first) {
      const std::string before = part;
      for (uint64_t times = random.below(3); times > 0; --times) part += before;
    } else if (kind == 13 && index % 10 == 9) {
      part.clear();
      for (uint64_t bytes = 1 + random.below(4); bytes > 0; --bytes) part += char(random.below(256));
    } else if (kind == 14) {
      part = char(0x21 + random.below(94));
    } else {
      part = one_of(f.marks);
    }
    first = false;
    text += part;
  }
  return text;
}

namespace {
uint32_t fnv(uint8_t byte, uint32_t h) { return (h ^ byte) * 0x01000193; }
}  // namespace

uint32_t hash_ids(std::span<const int32_t> ids, uint32_t h) {
  for (const int32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8) h = fnv(uint8_t(uint32_t(id) >> shift), h);
  return fnv(0xff, h);
}

uint32_t hash_text(std::string_view text, uint32_t h) {
  for (const char byte : text) h = fnv(uint8_t(byte), h);
  return fnv(0xff, h);
}

}  // namespace hearth::text
