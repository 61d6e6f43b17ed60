// safetensors: named tensors in one memory-mapped file, read without trusting a byte of it.
//
//   u64 N, little endian | N bytes of JSON | data
//   JSON: {"name": {"dtype": "F16", "shape": [2, 3], "data_offsets": [begin, end]}, …, "__metadata__": {"key": "text"}}
//
// Opening checks everything before anything is used: N ≤ 100 MB and inside the file; well-formed JSON without a repeated
// name or an unknown field; end − begin = elements × size without overflow; the tensors fill the data section, in any order,
// without hole or overlap. Data may begin at any address: what is not aligned is copied.
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
  std::string type;             // as the file spells it, "F16"
  TensorInfo info;              // info.unreadable for a type or rank that hearth does not know
  uint64_t begin = 0, end = 0;  // bytes, from the start of the data section
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> tensors;
  Metadata metadata;
};

// Reads and checks a header for a data section of `data_bytes`. IoError that begins with `where` and names tensor and field.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& where);

class SafetensorsFile : public TensorSource {
 public:
  // Maps the file. IoError when it cannot be opened or is not a sound safetensors file.
  static std::shared_ptr<SafetensorsFile> open(const std::filesystem::path& path);
  // One that lies in bytes [begin, end) of a mapped file; `where` is what messages call it.
  static std::shared_ptr<SafetensorsFile> inside(std::shared_ptr<const MappedFile> mapping, uint64_t begin, uint64_t end,
                                                 const std::filesystem::path& where);

  const std::filesystem::path& path() const { return path_; }
  const SafetensorsHeader& header() const { return header_; }
  uint64_t file_bytes() const { return end_ - begin_; }

  std::string describe() const override { return path_.string(); }
  std::map<std::string, TensorInfo> list() const override;
  bool has(const std::string& name) const override { return header_.tensors.contains(name); }
  // A view of the mapped bytes (a copy where they are not aligned). IoError when the file was written to since it was opened (a
  // file put in its place does no harm); WeightError for a name that is not there, UnsupportedError
  // for a type or rank that hearth does not know.
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override;
  // Lets the system drop the tensor's pages from memory; they come back from the file when read again.
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

// Writes contiguous tensors (widest elements first, then by name, so that all are aligned) with core/files/file.h's write_file: the
// file is there whole or not at all. IoError when it cannot be written; ShapeError for a strided tensor.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors, const Metadata& metadata = {});

}  // namespace hearth
