// Writes GGUF files (format: weights/gguf/gguf.h), version 3, tensors aligned to 32 bytes, without holding more than one piece of a tensor.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "weights/gguf/gguf_metadata.h"

namespace hearth {

// Metadata in the order in which they are added. UsageError for a key twice.
class GgufValues {
 public:
  // u8, i8, u16, i16, u32, i32, u64 or i64. UsageError where the type cannot hold it.
  void integer(std::string_view key, int64_t value, GgufType type = GgufType::u32);
  void f32(std::string_view key, float value);
  void boolean(std::string_view key, bool value);
  void text(std::string_view key, std::string_view value);
  void texts(std::string_view key, std::span<const std::string> values);
  void i32s(std::string_view key, std::span<const int32_t> values);
  void f32s(std::string_view key, std::span<const float> values);
  void copy(std::string_view key, const GgufValue& value);  // as it is in another file

  uint64_t count() const { return keys_.size(); }
  const std::string& bytes() const { return bytes_; }

 private:
  void begin(std::string_view key, GgufType type);
  void begin_array(std::string_view key, GgufType element, size_t count);

  std::vector<std::string> keys_;
  std::string bytes_;
};

struct GgufTensor {
  std::string name;
  DType dtype;
  Shape shape;  // outermost axis first; at most 4
};

// The file appears whole or not at all. `data(i, write)` hands over all bytes of tensors[i], in as many pieces as it likes.
// IoError when the file cannot be written; UnsupportedError for a type that GGUF lacks; UsageError for a tensor whose bytes are not
// as many as its shape needs.
using WriteBytes = std::function<void(std::span<const std::byte>)>;
void write_gguf(const std::filesystem::path& path, const GgufValues& values, std::span<const GgufTensor> tensors,
                const std::function<void(size_t index, const WriteBytes& write)>& data);

}  // namespace hearth
