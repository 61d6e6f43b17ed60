// GGUF: named tensors, many of them of block types, and typed metadata in one memory-mapped file, or in several parts.
//
//   "GGUF" | u32 version | u64 tensors | u64 values | values | tensors | padding | data
//   value:  text key | u32 type | value            (text: u64 length and bytes; array: u32 element type, u64 count, elements)
//   tensor: text name | u32 rank | u64 sizes, innermost first | u32 type | u64 offset into the data
//
// Little endian, versions 2 and 3. Opening checks everything before anything is used: every count and length against the bytes
// that are left, so that nothing is allocated for what is not there; no key or tensor twice; each tensor aligned to
// general.alignment (default 32), in whole blocks, inside the data and apart from the others. A type that hearth does not read
// (IQ2_XXS, TQ1_0, NVFP4, …) is an error only when the tensor is asked for.
//
// A model in parts ("name-00001-of-00003.gguf", keys split.no, split.count, split.tensors.count) may be opened by any of them; the
// metadata are those of the first. All parts must be there, agree on their number and hold the tensors that they promise.
#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "core/files/mapped_file.h"
#include "weights/gguf/gguf_header.h"

namespace hearth {

class GgufFile : public TensorSource {
 public:
  // Whether a file is there that begins as one.
  static bool is_one(const std::filesystem::path& path);
  // Maps the file, or all its parts. IoError when one cannot be opened or is not sound, UnsupportedError for a big-endian file,
  // another version and an array of arrays.
  static std::shared_ptr<GgufFile> open(const std::filesystem::path& path);

  const GgufMetadata& metadata() const { return parts_.front().header.metadata; }  // its texts are valid while the file lives
  std::vector<std::filesystem::path> paths() const;                                // one, or the parts in order
  uint64_t file_bytes() const;                                                     // of all parts
  const std::map<std::string, GgufEntry>& entries(size_t part) const { return parts_.at(part).header.tensors; }

  // What a tensor of a part consists of, valid while the file lives.
  std::string_view bytes(size_t part, const GgufEntry& entry) const;

  std::string describe() const override { return path_.string(); }
  std::map<std::string, TensorInfo> list() const override;
  bool has(const std::string& name) const override { return owners_.contains(name); }
  // A view of the mapped bytes, outermost axis first: a weight of N outputs and K inputs is [N, K]. A copy where an element
  // is not aligned. IoError when the file was written to since it was opened; WeightError for a name that is not there,
  // UnsupportedError for a type that hearth does not read.
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override;
  bool mapped(const std::string& name) const override;
  // The system may drop the tensor's pages from memory; they come back from the file when touched again.
  void release(const std::string& name) override;
  void release_all() override;  // of the tensors that nobody holds any more
  void require_unchanged() const override;

 private:
  struct Part {
    std::filesystem::path path;
    std::shared_ptr<const MappedFile> mapping;
    GgufHeader header;
  };
  // Where a tensor is, and what was given out of it.
  struct Owner {
    const Part* part;
    const GgufEntry* entry;
    std::weak_ptr<const Storage> held;
  };
  static Part open_part(const std::filesystem::path& path);
  static std::vector<Part> open_parts(const std::filesystem::path& path);
  static void release(const Owner& owner);

  std::filesystem::path path_;
  std::vector<Part> parts_;
  std::map<std::string, Owner> owners_;
};

}  // namespace hearth
