// Weights as a backend has prepared them, kept on disk between runs: what was packed once is mapped the next time.
//
// One file for each component (and part of one that is loaded by itself), kernel path and choice of types, named by the hash of all that
// its contents depend on. It appears whole or not at all (several processes may write the same one), and every byte of it is checked before
// use:
//
//   "hearthP1" · size and sum of the JSON (8 bytes each, little endian)
//   JSON {"key", "weights": {name: {"shape", "kind", "hold", "factors", "offset", "bytes", "sum"}}}
//   weights, each at a multiple of 64 bytes from the file's start; offsets count from the first
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/files/mapped_file.h"
#include "core/weight.h"
#include "weights/weights.h"

namespace hearth {

class ThreadPool;

// Makes the folder when it is not there. IoError when that cannot be, or when nothing can be written in it.
void require_cache_folder(const std::filesystem::path& folder);

// SHA-256 of the files' bytes, one after another. What was read once is remembered in `folder` by path, size, inode and time of change.
// IoError; Canceled.
std::string remembered_hash(const std::filesystem::path& folder, std::span<const std::filesystem::path> files);

class PackedCache {
 public:
  // `key` tells everything that the contents depend on. A file that is damaged, cut off or foreign is passed over, with one line to
  // `warn`, and written anew by finish().
  PackedCache(const std::filesystem::path& folder, std::string key, std::function<void(const std::string&)> warn);

  struct Weight {
    Shape shape;
    WeightKind kind;
    WeightForm form;  // as it is held: may be wider than what was asked
    std::shared_ptr<const std::byte> data;
    size_t bytes;
  };
  // Nothing where the file does not hold it unharmed. The data are mapped and 64-byte aligned.
  std::optional<Weight> find(const std::string& name, const Shape& shape, WeightKind kind, ThreadPool& threads);
  // A weight that was not found and has been prepared.
  void add(const std::string& name, Weight weight) { weights_.insert_or_assign(name, std::move(weight)), changed_ = true; }
  // All weights are there: writes the file if anything was added. What cannot be written (a full disk) is one line to `warn`.
  void finish(ThreadPool& threads);

 private:
  struct Entry {
    Shape shape;
    WeightKind kind;
    WeightForm form;
    uint64_t offset, bytes, sum;
  };
  void read();

  std::filesystem::path file_;
  std::string key_;
  std::function<void(const std::string&)> warn_;
  std::shared_ptr<const MappedFile> mapping_;
  uint64_t data_start_ = 0;
  std::map<std::string, Entry> entries_;   // of the mapped file
  std::map<std::string, Weight> weights_;  // found or added
  bool changed_ = false;
};

// UnsupportedError where the backend's weights cannot be kept, IoError where the folder can be neither used nor made. Nothing for an
// empty name.
void require_cache(const std::filesystem::path& folder, const Backend& backend);

// The cache of a component's weights as `types` asks for them; of a part that is loaded by itself, where one is named. nullptr
// without a folder. Errors: require_cache().
std::unique_ptr<PackedCache> open_cache(const std::filesystem::path& folder, std::span<const std::filesystem::path> files,
                                        const WeightTypes& types, const Backend& backend, std::function<void(const std::string&)> warn,
                                        const std::string& part = {});

}  // namespace hearth
