// GGUF: named tensors, many of them of block types, and typed metadata in one memory-mapped file or several.
//
//   "GGUF" | u32 version | u64 tensors | u64 values | values | tensors | padding | data
//   value:  text key | u32 type | value            (text: u64 length and bytes; array: u32 element type, u64 count, elements)
//   tensor: text name | u32 rank | u64 sizes, innermost first | u32 type | u64 offset into the data
//
// Little endian, versions 2 and 3. Opening a file checks everything before anything is used: every count and length against the remaining
// bytes, so that a corrupt count allocates nothing; that no key or tensor is duplicated; that each tensor is aligned to general.alignment
// (default 32), consists of whole blocks, is inside the data and does not overlap another. An unsupported type (TQ1_0, NVFP4, …)
// is an error only when the tensor is requested.
//
// Some image models have the key "comfy.gguf.orig_shape.NAME" for a tensor that was reshaped to rows of whole blocks: the tensor has that
// shape here, and its blocks may cross its rows. ggml does not store leading axes of size 1 (TensorInfo::short_rank).
//
// A split model ("name-00001-of-00003.gguf", keys split.no, split.count, split.tensors.count) can be opened by any of its files; the
// metadata come from the first. All files must exist, agree on their count and hold the tensors that they declare.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "core/files/mapped_file.h"
#include "weights/gguf/gguf_header.h"

namespace hearth {

class GgufFile : public TensorSource {
 public:
  // Whether `path` is a file that starts with the magic of GGUF.
  static bool is_one(const std::filesystem::path& path);
  // Maps the file, or all files of a split model. IoError if one cannot be opened or is malformed, UnsupportedError for a big-endian file,
  // another version or an array of arrays.
  static std::shared_ptr<GgufFile> open(const std::filesystem::path& path);

  const GgufMetadata& metadata() const { return shards_.front().header.metadata; }          // its texts are valid while the file lives
  std::string architecture() const { return metadata().text("general.architecture", ""); }  // "flux"; empty if the file states none
  std::vector<std::filesystem::path> paths() const;                                         // one, or the split files in order
  uint64_t file_bytes() const;                                                              // of all files
  const std::map<std::string, GgufEntry>& entries(size_t shard) const { return shards_.at(shard).header.tensors; }

  // The bytes of a tensor, valid while the file lives.
  std::string_view bytes(size_t shard, const GgufEntry& entry) const;

  std::string describe() const override { return path_.string(); }
  std::map<std::string, TensorInfo> list() const override;
  bool has(const std::string& name) const override { return owners_.contains(name); }
  // A view of the mapped bytes, outermost axis first: a weight with N outputs and K inputs is [N, K]. A copy if the elements are not
  // aligned. IoError if the file was modified since it was opened; WeightError for an unknown name; UnsupportedError for an unsupported
  // type.
  Tensor read(const std::string& name, const Shape& wanted, Backend& backend) override;
  std::span<const std::byte> stored_bytes(const std::string& name) const override;
  bool mapped(const std::string& name) const override;
  // Lets the system drop the tensor's pages from memory; the next access reads them from the file again.
  void release(const std::string& name) override;
  void release_all() override;  // only tensors that are no longer in use
  void require_unchanged() const override;

 private:
  struct Shard {  // one file of a split model, or the only file
    std::filesystem::path path;
    std::shared_ptr<const MappedFile> mapping;
    GgufHeader header;
  };
  // The file that holds a tensor, and the storage that read() returned for it.
  struct Owner {
    const Shard* shard;
    const GgufEntry* entry;
    std::weak_ptr<const Storage> held;  // under mutex_
  };
  static Shard open_shard(const std::filesystem::path& path);
  static std::vector<Shard> open_shards(const std::filesystem::path& path);
  static void release(const Owner& owner);

  std::filesystem::path path_;
  std::vector<Shard> shards_;
  std::map<std::string, Owner> owners_;
  std::mutex mutex_;
};

// That of a source that is a GGUF file; empty for others.
std::string gguf_architecture(const TensorSource& source);

}  // namespace hearth
