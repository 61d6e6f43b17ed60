// Writes GGUF files (format: weights/gguf/gguf.h), version 3, with tensors aligned to 32 bytes. Holds only one piece of a tensor in memory.
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

// Metadata in the order in which they are added. UsageError for a duplicate key.
class GgufValues {
 public:
  // `type`: u8, i8, u16, i16, u32, i32, u64 or i64. UsageError if it cannot hold the value.
  void integer(std::string_view key, int64_t value, GgufType type = GgufType::u32);
  void f32(std::string_view key, float value);
  void boolean(std::string_view key, bool value);
  void text(std::string_view key, std::string_view value);
  void texts(std::string_view key, std::span<const std::string> values);
  void i32s(std::string_view key, std::span<const int32_t> values);
  void f32s(std::string_view key, std::span<const float> values);
  void copy(std::string_view key, const GgufValue& value);  // unchanged, from another file

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

// Writes the file atomically. `data(i, write)` passes all bytes of tensors[i] to `write`, in any number of pieces. IoError if the file
// cannot be written; UnsupportedError for a dtype that GGUF lacks; UsageError if the byte count of a tensor does not match its shape.
using WriteBytes = std::function<void(std::span<const std::byte>)>;
void write_gguf(const std::filesystem::path& path, const GgufValues& values, std::span<const GgufTensor> tensors,
                const std::function<void(size_t index, const WriteBytes& write)>& data);

}  // namespace hearth
