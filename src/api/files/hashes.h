// The hashes of a model's weights, computed beside a run: reading gigabytes twice must not delay an image.
#pragma once

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hearth::api {

using Hashes = std::vector<std::pair<std::string, std::string>>;  // component → SHA-256 of its files, one after another

// Safe from any thread: a model may have several runs at the same time.
class WeightHashes {
 public:
  // `cache`: a folder that remembers the hashes of files that have not changed (weights/packed_cache.h), or none
  WeightHashes(std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> components, std::filesystem::path cache);
  ~WeightHashes();  // stops what runs

  void start();         // in a thread of its own, once
  const Hashes& get();  // waits for it. IoError where a file has gone

 private:
  std::shared_future<Hashes> running();  // what start() has begun, begun where it was not

  std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> components_;
  std::filesystem::path cache_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::shared_future<Hashes> running_;  // under mutex_
};

}  // namespace hearth::api
