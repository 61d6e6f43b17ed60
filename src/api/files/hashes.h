// Hashes of a model's weights, computed in parallel with a run, because reading gigabytes again would delay an image.
#pragma once

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hearth::api {

using Hashes = std::vector<std::pair<std::string, std::string>>;  // component → SHA-256 of its concatenated files

// Thread-safe: a model may have several concurrent runs.
class WeightHashes {
 public:
  // `cache`: a folder that stores the hashes of unchanged files (weights/packed_cache.h); empty: none.
  WeightHashes(std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> components, std::filesystem::path cache);
  ~WeightHashes();  // stops the computation

  void start();         // once, in a separate thread
  const Hashes& get();  // waits for the result; IoError if a file no longer exists

 private:
  std::shared_future<Hashes> running();  // starts the computation unless it has started

  std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> components_;
  std::filesystem::path cache_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::shared_future<Hashes> running_;  // under mutex_
};

}  // namespace hearth::api
