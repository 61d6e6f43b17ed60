#include "weights/gguf/gguf_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "weights/gguf/gguf_types.h"

namespace hearth {
namespace {

// The part of the file that has not been read.
class Cursor {
 public:
  Cursor(std::string_view file, const std::string& where) : file_(file), where_(where) {}

  size_t position() const { return position_; }
  size_t left() const { return file_.size() - position_; }

  std::string_view bytes(uint64_t count, std::string_view what) {
    if (count > left())
      fail<IoError>("{}: {} at byte {} needs {} bytes, {} are left: the file is cut off or its header is wrong", where_, what, position_,
                    count, left());
    const std::string_view taken = file_.substr(position_, size_t(count));
    position_ += size_t(count);
    return taken;
  }
  template <class T> T number(std::string_view what) {
    T value;
    std::memcpy(&value, bytes(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string_view text(std::string_view what) { return bytes(number<uint64_t>(what), what); }
  std::string name(std::string_view what) {
    const std::string_view name = text(what);
    constexpr size_t longest = 65535;  // of keys, by the specification of the format
    if (name.size() > longest) fail<IoError>("{}: {} has {} bytes, at most {} are allowed", where_, what, name.size(), longest);
    return std::string(name);
  }
  // A count of items of at least `least` bytes each.
  uint64_t count(uint64_t least, std::string_view what) {
    const auto n = number<uint64_t>(what);
    if (n > left() / least)
      fail<IoError>("{}: {} {} at byte {} need at least {} bytes each, {} bytes are left", where_, n, what, position_, least, left());
    return n;
  }
  GgufType type(std::string_view key) {
    const auto id = number<uint32_t>(key);
    if (id > uint32_t(GgufType::f64)) fail<IoError>("{}: '{}' has the type {}, which does not exist", where_, key, id);
    return GgufType(id);
  }
  GgufValue value(std::string_view key) {
    GgufValue value{.type = type(key)};
    if (value.type == GgufType::array) {
      value.element = type(key);
      if (value.element == GgufType::array) fail<UnsupportedError>("{}: '{}' is an array of arrays, which is not supported", where_, key);
      const bool texts = value.element == GgufType::text;
      value.count = count(texts ? 8 : size_of(value.element), fmt::format("elements of '{}'", key));
      if (!texts) {
        value.bytes = bytes(value.count * size_of(value.element), key);
        return value;
      }
    }
    const size_t begin = position_;
    if (const size_t size = size_of(value.type)) bytes(size, key);
    else
      for (uint64_t i = 0; i < value.count; ++i) text(key);
    value.bytes = file_.substr(begin, position_ - begin);
    return value;
  }

 private:
  std::string_view file_;
  const std::string& where_;
  size_t position_ = 0;
};

uint32_t checked_version(Cursor& in, const std::string& where) {
  if (in.left() < 8 || in.bytes(4, "magic") != "GGUF") fail<IoError>("{}: does not start with 'GGUF': it is not a GGUF file", where);
  const auto version = in.number<uint32_t>("version");
  if (version != 0 && (version & 0xffff) == 0) fail<UnsupportedError>("{}: is a big-endian GGUF file, expected a little-endian one", where);
  if (version != 2 && version != 3) fail<UnsupportedError>("{}: is GGUF version {}, expected 2 or 3", where, version);
  return version;
}

// Reads one tensor; its offsets are relative to the data section. `where` ends with its name.
GgufEntry tensor(Cursor& in, const std::string& where) {
  GgufEntry entry;
  const auto rank = in.number<uint32_t>("a tensor's rank");
  if (rank > 4) fail<IoError>("{} has {} axes, at most 4 are allowed", where, rank);
  uint64_t dims[4], elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    dims[i] = in.number<uint64_t>("a tensor's dimension");
    if (dims[i] > uint64_t(INT64_MAX) || __builtin_mul_overflow(elements, std::max<uint64_t>(dims[i], 1), &elements) ||
        elements > uint64_t(INT64_MAX))
      fail<IoError>("{} has more elements than any file can hold", where);
  }
  for (uint32_t i = rank; i > 0; --i) entry.info.shape.push_back(int64_t(dims[i - 1]));  // ggml's first axis is the innermost
  if (std::count(dims, dims + rank, uint64_t(0)) > 0) elements = 0;

  const auto id = in.number<uint32_t>("a tensor's type");
  entry.begin = entry.end = in.number<uint64_t>("a tensor's offset");
  const GgufTensorType* type = gguf_tensor_type(id);
  entry.type = type ? std::string(type->name) : fmt::format("{}", id);
  if (!type || type->block.bytes == 0) {  // of unknown size
    entry.info.unreadable =
        type ? fmt::format("has the type {}, which GGUF has removed", type->name) : fmt::format("has the type {}, which is unknown", id);
    return entry;
  }
  if (type->dtype) entry.info.dtype = *type->dtype;
  else entry.info.unreadable = fmt::format("has the type {}, which is not supported", type->name);

  const uint64_t row = rank > 0 ? dims[0] : 1, values = uint64_t(type->block.values);
  if (row % values != 0) fail<IoError>("{} has rows of {} values, {} needs a multiple of {}", where, row, type->name, values);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / values, uint64_t(type->block.bytes), &bytes) ||
      __builtin_add_overflow(entry.begin, bytes, &entry.end))
    fail<IoError>("{} has more bytes than any file can hold", where);
  return entry;
}

// Another shape of the same values, which programs for image models state as "comfy.gguf.orig_shape.NAME": block types had needed longer
// rows.
void restore_shape(const GgufMetadata& metadata, const std::string& name, TensorInfo& info) {
  const std::string key = "comfy.gguf.orig_shape." + name;
  if (!metadata.has(key) || !info.unreadable.empty()) return;
  Shape shape;
  int64_t values = 1;
  const std::vector<int64_t> sizes = metadata.integers(key);
  bool fits = !sizes.empty() && sizes.size() <= size_t(Shape::max_rank);
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= 0 && !__builtin_mul_overflow(values, sizes[i], &values);
    shape.push_back(sizes[i]);
  }
  if (!fits || values != info.shape.numel())
    fail<IoError>("{}: '{}' is [{}], expected a shape of the {} values of the tensor, {}", metadata.where(), key, fmt::join(sizes, ", "),
                  info.shape.numel(), info.shape);
  info.shape = shape;
}

uint64_t alignment_of(const GgufMetadata& metadata) {
  const int64_t alignment = metadata.integer("general.alignment", 32);
  if (alignment <= 0 || !std::has_single_bit(uint64_t(alignment)))
    fail<IoError>("{}: general.alignment is {}, expected a power of two", metadata.where(), alignment);
  return uint64_t(alignment);
}

// Checks that every tensor is inside the file, aligned and does not overlap another. Converts offsets into positions in the file.
void place(GgufHeader& header, uint64_t size, const std::string& where) {
  std::vector<std::pair<const std::string, GgufEntry>*> by_place;
  const uint64_t data_bytes = size - header.data_start;
  for (auto& named : header.tensors) {
    auto& [name, entry] = named;
    if (entry.begin % header.alignment != 0)
      fail<IoError>("{}: tensor '{}' starts at byte {} of the data, expected a multiple of {}", where, name, entry.begin, header.alignment);
    if (entry.end > data_bytes)
      fail<IoError>("{}: tensor '{}' is at bytes [{}, {}) of {} bytes of data: the file is cut off or its header is wrong", where, name,
                    entry.begin, entry.end, data_bytes);
    by_place.push_back(&named);
  }
  std::ranges::sort(by_place, {}, [](auto* named) { return std::pair(named->second.begin, named->second.end); });
  uint64_t filled = 0;
  for (auto* named : by_place) {
    auto& [name, entry] = *named;
    if (entry.begin < filled) fail<IoError>("{}: tensor '{}' overlaps the one before it", where, name);
    filled = entry.end;
    entry.begin += header.data_start;
    entry.end += header.data_start;
  }
}

}  // namespace

GgufHeader parse_gguf_header(std::string_view file, const std::string& where) {
  Cursor in(file, where);
  GgufHeader header;
  header.metadata = GgufMetadata(where);
  header.version = checked_version(in, where);
  const uint64_t tensors = in.count(24, "tensors"), values = in.count(13, "metadata values");
  for (uint64_t i = 0; i < values; ++i) {
    const std::string key = in.name("a metadata key");
    if (!header.metadata.add(key, in.value(key))) fail<IoError>("{}: has the metadata key '{}' twice", where, key);
  }
  header.alignment = alignment_of(header.metadata);
  for (uint64_t i = 0; i < tensors; ++i) {
    const std::string name = in.name("a tensor's name");
    const auto [entry, is_new] = header.tensors.emplace(name, tensor(in, fmt::format("{}: tensor '{}'", where, name)));
    if (!is_new) fail<IoError>("{}: has the tensor '{}' twice", where, name);
    restore_shape(header.metadata, name, entry->second.info);
  }
  const uint64_t padding = (header.alignment - in.position() % header.alignment) % header.alignment;
  // A file of metadata alone may end without padding.
  header.data_start = tensors == 0 ? in.position() : in.position() + in.bytes(padding, "padding before the data").size();
  place(header, file.size(), where);
  return header;
}

}  // namespace hearth
