#include "text/tokenizer/charsmap.h"

#include <cstring>

#include "core/error.h"
#include "core/text/utf8.h"
#include "text/unicode.h"

namespace hearth::text::pipeline {
namespace {

// The fields of a unit of the trie.
bool has_leaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t label(uint32_t unit) { return unit & (1u << 31 | 0xff); }
uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }
uint32_t value(uint32_t unit) { return unit & ((1u << 31) - 1); }

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

Charsmap Charsmap::from_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  for (const char c : text) {
    const int six = base64_value(c);
    if (six < 0) fail<WeightError>("tokenizer: precompiled_charsmap holds '{}', expected base64", std::string(1, c));
    bits = bits << 6 | uint32_t(six);
    if ((count += 6) >= 8) bytes += char(bits >> (count -= 8) & 0xff);
  }
  return from_bytes(bytes);
}

Charsmap Charsmap::from_bytes(std::string_view bytes) {
  Charsmap map;
  if (bytes.empty()) return map;
  uint32_t size = 0;
  if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
  if (bytes.size() < sizeof size || size % sizeof(uint32_t) != 0 || size > bytes.size() - sizeof size)
    fail<WeightError>("tokenizer: precompiled_charsmap has {} bytes, but its trie has {}", bytes.size(), size);
  map.trie_.resize(size / sizeof(uint32_t));
  std::memcpy(map.trie_.data(), bytes.data() + sizeof size, size);
  map.texts_ = bytes.substr(sizeof size + size);
  return map;
}

Charsmap::Entry Charsmap::find(std::string_view key, Which which) const {
  Entry found;
  if (trie_.empty()) return found;
  size_t node = offset(trie_[0]);
  for (size_t i = 0; i < key.size() && key[i] != 0; ++i) {
    node ^= uint8_t(key[i]);
    if (node >= trie_.size() || label(trie_[node]) != uint8_t(key[i])) break;
    const bool leaf = has_leaf(trie_[node]);
    node ^= offset(trie_[node]);
    if (!leaf) continue;
    if (node >= trie_.size() || value(trie_[node]) > texts_.size()) break;
    const std::string_view rest = std::string_view(texts_).substr(value(trie_[node]));
    found = {i + 1, rest.substr(0, rest.find('\0'))};
    if (which == Which::shortest) break;
  }
  return found;
}

std::string Charsmap::normalize(std::string_view utf8) const {
  std::string out;
  out.reserve(utf8.size());
  size_t begin = 0;
  for (const size_t end : grapheme_ends(utf8)) {
    const std::string_view grapheme = utf8.substr(begin, end - begin);
    begin = end;
    if (grapheme.size() < 6) {
      if (const Entry entry = find(grapheme, Which::shortest); entry.length > 0) {
        out += entry.replacement;
        continue;
      }
    }
    for (size_t at = 0; at < grapheme.size();) {
      const std::string_view character = grapheme.substr(at, sequence_length(grapheme[at]));
      const Entry entry = find(character, Which::shortest);
      out += entry.length > 0 ? entry.replacement : character;
      at += character.size();
    }
  }
  return valid_utf8(out);
}

std::string Charsmap::normalize_longest(std::string_view utf8) const {
  std::string out;
  for (size_t at = 0; at < utf8.size();) {
    const Entry entry = find(utf8.substr(at), Which::longest);
    const size_t length = entry.length > 0 ? entry.length : sequence_length(utf8[at]);
    out += entry.length > 0 ? entry.replacement : utf8.substr(at, length);
    at += length;
  }
  return valid_utf8(out);
}

}  // namespace hearth::text::pipeline
