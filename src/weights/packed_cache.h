// The packed-weight cache: weights that a backend has packed, kept on disk so that the next run maps them instead.
//
// There is one file for each component (or part of one that is loaded separately), kernel path and choice of dtypes, named by the hash of
// everything that its contents depend on. It is written atomically (several processes may write the same one), and every byte is checked
// before use:
//
//   "hearthP2"
//   weights, each at a multiple of 64 bytes from the file's start
//   JSON {"key", "weights": {name: {"shape", "kind", "hold", "factors", "offset", "bytes", "sum"}}}
//   offset, size and sum of the JSON (8 bytes each, little endian)
//
// Weights are written as they are added, so that a network whose blocks are not all in memory at once (weights/blocks.h) is cached too.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/files/file.h"
#include "core/files/mapped_file.h"
#include "core/weight.h"
#include "weights/weights.h"

namespace hearth {

class ThreadPool;

// Creates the folder if it does not exist. IoError if that fails or the folder is not writable.
void require_cache_folder(const std::filesystem::path& folder);

// SHA-256 of the files' concatenated bytes. `folder` stores the hashes by path, size, inode and modification time, so that each file is
// read only once. IoError; Canceled.
std::string remembered_hash(const std::filesystem::path& folder, std::span<const std::filesystem::path> files);

class PackedCache {
 public:
  // `key` states everything that the contents depend on. A file that is damaged, cut off or foreign is ignored, reported to `warn` in one
  // line, and rewritten by finish().
  PackedCache(const std::filesystem::path& folder, std::string key, std::function<void(const std::string&)> warn);

  struct Weight {
    Shape shape;
    WeightKind kind;
    WeightForm form;  // as it is held: may be wider than requested
    std::shared_ptr<const std::byte> data;
    size_t bytes;
  };
  // nullopt if the file lacks the weight or it is damaged. The data are mapped and 64-byte aligned, and their pages are dropped with the
  // last owner.
  std::optional<Weight> find(const std::string& name, const Shape& shape, WeightKind kind, ThreadPool& threads);
  // Adds a weight that find() did not return and that the backend has packed since; does nothing for one that was added before. A failed
  // write (a full disk) is reported to `warn` in one line.
  void add(const std::string& name, const Weight& weight, ThreadPool& threads);
  // Call after the last weight: the file appears if anything was added, with the weights that were found or added.
  void finish();

 private:
  struct Entry {
    Shape shape;
    WeightKind kind;
    WeightForm form;
    uint64_t offset, bytes, sum;
  };
  void read();
  void write(const std::string& name, Entry entry, const std::byte* data);
  void give_up(const std::exception& e);

  std::filesystem::path file_;
  std::string key_;
  std::function<void(const std::string&)> warn_;
  std::shared_ptr<const MappedFile> mapping_;
  std::map<std::string, Entry> entries_;  // of the mapped file
  std::set<std::string> found_;           // of these
  std::unique_ptr<FileWriter> writer_;    // of the new file
  std::map<std::string, Entry> written_;
  uint64_t end_ = 0;     // of the new file so far
  bool closed_ = false;  // the new file is complete, or cannot be written
};

// UnsupportedError if the backend's weights cannot be cached, IoError if the folder can be neither used nor created. Does nothing if
// `folder` is empty.
void require_cache(const std::filesystem::path& folder, const Backend& backend);

// The cache of a component's weights in the requested `types`, or of the named part if it is loaded separately. nullptr if `folder` is
// empty. Errors: require_cache().
std::unique_ptr<PackedCache> open_cache(const std::filesystem::path& folder, std::span<const std::filesystem::path> files,
                                        const WeightTypes& types, const Backend& backend, std::function<void(const std::string&)> warn,
                                        const std::string& part = {});

}  // namespace hearth
