// The hub cache; README.md describes its layout.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "hub/listing.h"
#include "hub/model_name.h"

namespace hearth::hub {

// The folder of a model, and the one in which pull() keeps its own files: pulled.json, the lock, partial files.
struct CachePlace {
  std::filesystem::path model, own;
};
// A `revision` other than "main" has its own folders.
CachePlace cache_place(const std::filesystem::path& cache, const ModelName& name, const std::string& revision);

// pulled.json: the files of the last complete pull.
struct Pulled {
  std::string commit;
  std::map<std::string, RemoteFile> files;  // by path; verified
};
// Empty if there is none or it cannot be read; pull() then verifies the files again.
Pulled load_pulled(const CachePlace& place);
void save_pulled(const CachePlace& place, const Pulled& pulled);
bool is_pulled(const CachePlace& place);

// Held while a process pulls a model. IoError if another process holds it.
class PullLock {
 public:
  PullLock(const CachePlace& place, const std::string& model);
  ~PullLock();
  PullLock(const PullLock&) = delete;
  PullLock& operator=(const PullLock&) = delete;

 private:
  int file_;
};

}  // namespace hearth::hub
