// Assembles GGUF files byte by byte, without checks, so that tests can write malformed ones.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace hearth::test {

class GgufBytes {
 public:
  explicit GgufBytes(uint64_t tensors, uint64_t values, uint32_t version = 3) {
    bytes = "GGUF";
    number<uint32_t>(version);
    number<uint64_t>(tensors);
    number<uint64_t>(values);
  }
  template <class T> GgufBytes& number(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof value);
    return *this;
  }
  GgufBytes& text(std::string_view value) {
    number<uint64_t>(value.size());
    bytes += value;
    return *this;
  }
  GgufBytes& raw(std::string_view value) {
    bytes += value;
    return *this;
  }
  template <class T> GgufBytes& value(std::string_view key, uint32_t type, T number_) {
    text(key);
    number<uint32_t>(type);
    return number(number_);
  }
  GgufBytes& tensor(std::string_view name, std::initializer_list<uint64_t> sizes, uint32_t type, uint64_t offset) {
    text(name);
    number<uint32_t>(uint32_t(sizes.size()));
    for (uint64_t size : sizes) number<uint64_t>(size);
    number<uint32_t>(type);
    return number<uint64_t>(offset);
  }
  GgufBytes& data(size_t count, size_t alignment = 32) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment + count, '\1');
    return *this;
  }

  std::string bytes;
};

}  // namespace hearth::test
