// Reads and writes the keys of GGUF files that start with the architecture's name.
#pragma once

#include "weights/gguf/gguf_writer.h"

namespace hearth {

// "block_count" stands for "ARCHITECTURE.block_count". Errors: GgufMetadata.
class GgufKeys {
 public:
  GgufKeys(const GgufMetadata& metadata, std::string_view architecture) : metadata_(metadata), prefix_(std::string(architecture) + ".") {}

  const std::string& where() const { return metadata_.where(); }
  std::string name(std::string_view key) const { return prefix_ + std::string(key); }
  bool has(std::string_view key) const { return metadata_.has(name(key)); }
  // One integer, or a list of one per layer that are all equal; UnsupportedError if they differ.
  int64_t integer(std::string_view key, std::optional<int64_t> otherwise = {}) const;
  // A list of `count` integers, or one for all. WeightError for a list of another length.
  std::vector<int64_t> integers(std::string_view key, int64_t count) const;
  std::vector<int64_t> integers(std::string_view key) const { return metadata_.integers(name(key)); }  // a list of any length
  double number(std::string_view key, std::optional<double> otherwise = {}) const { return metadata_.number(name(key), otherwise); }
  bool flag(std::string_view key, std::optional<bool> otherwise = {}) const { return metadata_.boolean(name(key), otherwise); }
  std::string text(std::string_view key, const std::string& otherwise) const { return metadata_.text(name(key), otherwise); }

 private:
  const GgufMetadata& metadata_;
  std::string prefix_;
};

class GgufKeyWriter {
 public:
  // `where`: the configuration that is written, for messages.
  GgufKeyWriter(GgufValues& values, std::string_view architecture, std::string where)
      : values_(values), architecture_(architecture), where_(std::move(where)) {}

  void integer(std::string_view key, int64_t value) { values_.integer(full(key), value); }
  void integers(std::string_view key, std::span<const int64_t> values) {
    values_.i32s(full(key), std::vector<int32_t>(values.begin(), values.end()));
  }
  void f32(std::string_view key, double value) { values_.f32(full(key), float(value)); }
  void flag(std::string_view key, bool value) { values_.boolean(full(key), value); }
  void text(std::string_view key, std::string_view value) { values_.text(full(key), value); }
  // UnsupportedError: "… GGUF files of the architecture X cannot express WHAT".
  [[noreturn]] void cannot_express(std::string_view what) const;

 private:
  std::string full(std::string_view key) const { return architecture_ + "." + std::string(key); }

  GgufValues& values_;
  std::string architecture_, where_;
};

}  // namespace hearth
