// The metadata of a GGUF file: typed values by key ("general.name"), decoded from the mapped file on request.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
std::string_view name_of(GgufType type);  // "u32", "text", …
size_t size_of(GgufType type);            // bytes of a number or boolean; 0 for text and array

struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;  // of an array
  uint64_t count = 1;               // elements of an array
  std::string_view bytes;           // as in the file: little endian; an 8-byte length before each text; elements without gaps

  std::string describe() const;  // "u32", "array of 3 texts"
};

// The returned views are valid while the file lives.
class GgufMetadata {
 public:
  explicit GgufMetadata(std::string where = {}) : where_(std::move(where)) {}

  const std::string& where() const { return where_; }  // for messages: the file's path
  const GgufValue* find(std::string_view key) const;   // nullptr if it does not exist
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }
  bool add(std::string key, const GgufValue& value) { return values_.emplace(std::move(key), value).second; }  // false for a duplicate

  // The value; if the key is missing, the default; without a default, WeightError. WeightError that names key and type for a value of
  // another type. An integer may have any of the eight integer types if its value fits in a signed 64-bit integer; a number may also be f32
  // or f64.
  int64_t integer(std::string_view key, std::optional<int64_t> otherwise = {}) const;
  double number(std::string_view key, std::optional<double> otherwise = {}) const;
  bool boolean(std::string_view key, std::optional<bool> otherwise = {}) const;
  std::string text(std::string_view key, std::optional<std::string> otherwise = {}) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string_view> texts(std::string_view key) const;

 private:
  const GgufValue& needed(std::string_view key, std::string_view what) const;
  const GgufValue& array(std::string_view key, std::string_view what) const;
  [[noreturn]] void wrong_type(std::string_view key, const GgufValue& value, std::string_view what) const;

  std::string where_;
  std::map<std::string, GgufValue, std::less<>> values_;
};

}  // namespace hearth
