#include "weights/gguf/gguf_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/files/file.h"
#include "core/observe.h"
#include "weights/gguf/gguf_types.h"

namespace hearth {
namespace {

constexpr size_t alignment = 32;

template <class T> void append(std::string& to, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  to.append(raw, sizeof value);
}

void append_text(std::string& to, std::string_view text) {
  append<uint64_t>(to, text.size());
  to += text;
}

size_t padding_after(size_t bytes) { return (alignment - bytes % alignment) % alignment; }

}  // namespace

void GgufValues::begin(std::string_view key, GgufType type) {
  if (std::ranges::find(keys_, key) != keys_.end()) fail<UsageError>("gguf: the key '{}' is written twice", key);
  keys_.emplace_back(key);
  append_text(bytes_, key);
  append(bytes_, uint32_t(type));
}

void GgufValues::begin_array(std::string_view key, GgufType element, size_t count) {
  begin(key, GgufType::array);
  append(bytes_, uint32_t(element));
  append<uint64_t>(bytes_, count);
}

void GgufValues::integer(std::string_view key, int64_t value, GgufType type) {
  const auto put = [&]<class T>() {
    if (!std::in_range<T>(value)) fail<UsageError>("gguf: '{}' = {} does not fit into {}", key, value, name_of(type));
    begin(key, type);
    append(bytes_, T(value));
  };
  switch (type) {
    case GgufType::u8: return put.operator()<uint8_t>();
    case GgufType::i8: return put.operator()<int8_t>();
    case GgufType::u16: return put.operator()<uint16_t>();
    case GgufType::i16: return put.operator()<int16_t>();
    case GgufType::u32: return put.operator()<uint32_t>();
    case GgufType::i32: return put.operator()<int32_t>();
    case GgufType::u64: return put.operator()<uint64_t>();
    case GgufType::i64: return put.operator()<int64_t>();
    default: fail<UsageError>("gguf: '{}' cannot be written as {}", key, name_of(type));
  }
}

void GgufValues::f32(std::string_view key, float value) {
  begin(key, GgufType::f32);
  append(bytes_, value);
}

void GgufValues::boolean(std::string_view key, bool value) {
  begin(key, GgufType::boolean);
  append<uint8_t>(bytes_, value);
}

void GgufValues::text(std::string_view key, std::string_view value) {
  begin(key, GgufType::text);
  append_text(bytes_, value);
}

void GgufValues::texts(std::string_view key, std::span<const std::string> values) {
  begin_array(key, GgufType::text, values.size());
  for (const std::string& value : values) append_text(bytes_, value);
}

void GgufValues::i32s(std::string_view key, std::span<const int32_t> values) {
  begin_array(key, GgufType::i32, values.size());
  for (int32_t value : values) append(bytes_, value);
}

void GgufValues::f32s(std::string_view key, std::span<const float> values) {
  begin_array(key, GgufType::f32, values.size());
  for (float value : values) append(bytes_, value);
}

void GgufValues::copy(std::string_view key, const GgufValue& value) {
  if (value.type == GgufType::array) begin_array(key, value.element, size_t(value.count));
  else begin(key, value.type);
  bytes_ += value.bytes;
}

void write_gguf(const std::filesystem::path& path, const GgufValues& values, std::span<const GgufTensor> tensors,
                const std::function<void(size_t index, const WriteBytes& write)>& data) {
  std::string head = "GGUF";
  append<uint32_t>(head, 3);
  append<uint64_t>(head, tensors.size());
  append<uint64_t>(head, values.count());
  head += values.bytes();
  uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    const GgufTensorType* type = gguf_tensor_type(tensor.dtype);
    if (!type) fail<UnsupportedError>("gguf: '{}' has the type {}, which GGUF does not support", tensor.name, name_of(tensor.dtype));
    append_text(head, tensor.name);
    append(head, uint32_t(tensor.shape.rank()));
    for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis) append(head, uint64_t(tensor.shape[axis]));
    append(head, type->id);
    append(head, offset);
    const size_t bytes = bytes_of(tensor.dtype, tensor.shape.numel());
    offset += bytes + padding_after(bytes);
  }
  head.append(padding_after(head.size()), '\0');

  FileWriter file(path);
  file.write(head);
  for (size_t i = 0; i < tensors.size(); ++i) {
    check_canceled();
    size_t written = 0;
    data(i, [&](std::span<const std::byte> bytes) {
      file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      written += bytes.size();
    });
    if (const size_t needed = bytes_of(tensors[i].dtype, tensors[i].shape.numel()); written != needed)
      fail<UsageError>("gguf: '{}' got {} bytes, expected {}", tensors[i].name, written, needed);
    file.write(std::string(padding_after(written), '\0'));
  }
  file.commit();
}

}  // namespace hearth
