#include "weights/gguf/gguf_metadata.h"

#include <array>
#include <bit>
#include <cstring>

#include "core/error.h"

namespace hearth {

static_assert(std::endian::native == std::endian::little, "numbers are used without byte swapping");

namespace {

constexpr std::array<std::string_view, 13> names{"u8",      "i8",   "u16",   "i16", "u32", "i32", "f32",
                                                 "boolean", "text", "array", "u64", "i64", "f64"};  // in the order of GgufType

template <class T> T read_as(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// The integer of `type` at p; nullopt if it is not an integer or does not fit in int64_t.
std::optional<int64_t> integer_at(GgufType type, const char* p) {
  switch (type) {
    case GgufType::u8: return read_as<uint8_t>(p);
    case GgufType::i8: return read_as<int8_t>(p);
    case GgufType::u16: return read_as<uint16_t>(p);
    case GgufType::i16: return read_as<int16_t>(p);
    case GgufType::u32: return read_as<uint32_t>(p);
    case GgufType::i32: return read_as<int32_t>(p);
    case GgufType::i64: return read_as<int64_t>(p);
    case GgufType::u64:
      if (const auto value = read_as<uint64_t>(p); value <= uint64_t(INT64_MAX)) return int64_t(value);
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<double> number_at(GgufType type, const char* p) {
  if (type == GgufType::f32) return double(read_as<float>(p));
  if (type == GgufType::f64) return read_as<double>(p);
  if (const auto value = integer_at(type, p)) return double(*value);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(GgufType type) { return names[size_t(type)]; }

std::string GgufValue::describe() const {
  if (type != GgufType::array) return std::string(name_of(type));
  return fmt::format("array of {} {}", count, name_of(element));
}

size_t size_of(GgufType type) {
  constexpr std::array<uint8_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return sizes[size_t(type)];
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void GgufMetadata::wrong_type(std::string_view key, const GgufValue& value, std::string_view what) const {
  fail<WeightError>("{}: '{}' is of type {}, expected {}", where_, key, value.describe(), what);
}

const GgufValue& GgufMetadata::needed(std::string_view key, std::string_view what) const {
  const GgufValue* value = find(key);
  if (!value) fail<WeightError>("{}: has no '{}', expected {}", where_, key, what);
  return *value;
}

const GgufValue& GgufMetadata::array(std::string_view key, std::string_view what) const {
  const GgufValue& value = needed(key, what);
  if (value.type != GgufType::array) wrong_type(key, value, what);
  return value;
}

int64_t GgufMetadata::integer(std::string_view key, std::optional<int64_t> otherwise) const {
  if (otherwise && !has(key)) return *otherwise;
  constexpr std::string_view what = "an integer of at most 63 bits";
  const GgufValue& value = needed(key, what);
  const auto number = integer_at(value.type, value.bytes.data());
  if (!number) wrong_type(key, value, what);
  return *number;
}

double GgufMetadata::number(std::string_view key, std::optional<double> otherwise) const {
  if (otherwise && !has(key)) return *otherwise;
  const GgufValue& value = needed(key, "a number");
  const auto number = number_at(value.type, value.bytes.data());
  if (!number) wrong_type(key, value, "a number");
  return *number;
}

bool GgufMetadata::boolean(std::string_view key, std::optional<bool> otherwise) const {
  if (otherwise && !has(key)) return *otherwise;
  const GgufValue& value = needed(key, "a boolean");
  if (value.type != GgufType::boolean) wrong_type(key, value, "a boolean");
  return value.bytes.front() != 0;
}

std::string GgufMetadata::text(std::string_view key, std::optional<std::string> otherwise) const {
  if (otherwise && !has(key)) return *otherwise;
  const GgufValue& value = needed(key, "a text");
  if (value.type != GgufType::text) wrong_type(key, value, "a text");
  return std::string(value.bytes.substr(8));
}

std::vector<int64_t> GgufMetadata::integers(std::string_view key) const {
  constexpr std::string_view what = "an array of integers of at most 63 bits";
  const GgufValue& value = array(key, what);
  std::vector<int64_t> all;
  all.reserve(size_t(value.count));
  for (size_t i = 0; i < value.count; ++i) {
    const auto number = integer_at(value.element, value.bytes.data() + i * size_of(value.element));
    if (!number) wrong_type(key, value, what);
    all.push_back(*number);
  }
  return all;
}

std::vector<double> GgufMetadata::numbers(std::string_view key) const {
  constexpr std::string_view what = "an array of numbers";
  const GgufValue& value = array(key, what);
  std::vector<double> all;
  all.reserve(size_t(value.count));
  for (size_t i = 0; i < value.count; ++i) {
    const auto number = number_at(value.element, value.bytes.data() + i * size_of(value.element));
    if (!number) wrong_type(key, value, what);
    all.push_back(*number);
  }
  return all;
}

std::vector<std::string_view> GgufMetadata::texts(std::string_view key) const {
  constexpr std::string_view what = "an array of texts";
  const GgufValue& value = array(key, what);
  if (value.element != GgufType::text) wrong_type(key, value, what);
  std::vector<std::string_view> all;
  all.reserve(size_t(value.count));
  for (std::string_view rest = value.bytes; !rest.empty();) {
    const auto length = size_t(read_as<uint64_t>(rest.data()));
    all.push_back(rest.substr(8, length));
    rest.remove_prefix(8 + length);
  }
  return all;
}

}  // namespace hearth
