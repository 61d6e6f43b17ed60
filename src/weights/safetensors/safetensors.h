// safetensors: named tensors in one memory-mapped file, read as untrusted input.
//
//   u64 N, little endian | N bytes of JSON | data
//   JSON: {"name": {"dtype": "F16", "shape": [2, 3], "data_offsets": [begin, end]}, …, "__metadata__": {"key": "text"}}
//
// Opening a file checks everything before anything is used: N ≤ 100 MB and inside the file; well-formed JSON without a duplicate name or an
// unknown field; end − begin = elements × size without overflow; the tensors fill the data section, in any order, without gaps or overlaps.
// Data may start at any address: unaligned tensors are copied.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/files/mapped_file.h"
#include "weights/weights.h"

namespace hearth {

using Metadata = std::map<std::string, std::string>;

struct SafetensorsEntry {
  std::string type;             // the name in the file, "F16"
  TensorInfo info;              // info.unreadable is set for an unsupported type or rank
  uint64_t begin = 0, end = 0;  // bytes, from the start of the data section
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> tensors;
  Metadata metadata;
};

// Reads and checks a header for a data section of `data_bytes` bytes. IoError with a message that starts with `where` and names tensor and
// field.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& where);

class SafetensorsFile : public TensorSource {
 public:
  // Maps the file. IoError if it cannot be opened or is malformed.
  static std::shared_ptr<SafetensorsFile> open(const std::filesystem::path& path);
  // A safetensors file in bytes [begin, end) of a mapped file; `where` is its name in messages.
  static std::shared_ptr<SafetensorsFile> inside(std::shared_ptr<const MappedFile> mapping, uint64_t begin, uint64_t end,
                                                 const std::filesystem::path& where);

  const std::filesystem::path& path() const { return path_; }
  const SafetensorsHeader& header() const { return header_; }
  uint64_t file_bytes() const { return end_ - begin_; }

  std::string describe() const override { return path_.string(); }
  std::map<std::string, TensorInfo> list() const override;
  bool has(const std::string& name) const override { return header_.tensors.contains(name); }
  // A view of the mapped bytes, or a copy if they are not aligned. IoError if the file was modified since it was opened (replacing it by
  // another file is harmless); WeightError for an unknown name; UnsupportedError for an unsupported type or rank.
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override;
  // Lets the system drop the tensor's pages from memory; the next access reads them from the file again.
  void release(const std::string& name) override;
  std::span<const std::byte> stored_bytes(const std::string& name) const override;
  bool mapped(const std::string& name) const override;
  void release_all() override;
  void require_unchanged() const override;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> mapping_;
  SafetensorsHeader header_;
  uint64_t begin_ = 0, end_ = 0, data_start_ = 0;  // from the start of the mapping
};

// Writes contiguous tensors atomically (core/files/file.h), widest elements first, then by name, so that all are aligned. IoError if the
// file cannot be written; ShapeError for a strided tensor.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors, const Metadata& metadata = {});

}  // namespace hearth
