// Where pulled models are: README.md tells the layout.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "hub/listing.h"
#include "hub/model_name.h"

namespace hearth::hub {

// The folder of a model, and beside it what pull() keeps for itself: pulled.json, the lock, partial files.
struct CachePlace {
  std::filesystem::path model, own;
};
// `revision` other than "main" has folders of its own.
CachePlace cache_place(const std::filesystem::path& cache, const ModelName& name, const std::string& revision);

// pulled.json: what the last complete pull left.
struct Pulled {
  std::string commit;
  std::map<std::string, RemoteFile> files;  // by path; verified
};
// Empty where there is none, or where it cannot be read: then files are verified again.
Pulled load_pulled(const CachePlace& place);
void save_pulled(const CachePlace& place, const Pulled& pulled);
bool is_pulled(const CachePlace& place);

// Held while one process pulls a model. IoError where another holds it.
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
