// The hashes of a model's weights, computed beside a run: reading gigabytes twice must not delay a picture.
#pragma once

#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

namespace hearth::api {

using Hashes = std::vector<std::pair<std::string, std::string>>;  // component → SHA-256 of its files, one after another

class WeightHashes {
 public:
  explicit WeightHashes(std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> components);
  ~WeightHashes();  // stops what runs

  void start();         // in a thread of its own, once
  const Hashes& get();  // waits for it. IoError where a file has gone

 private:
  std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> components_;
  std::atomic<bool> stop_{false};
  std::shared_future<Hashes> running_;
};

}  // namespace hearth::api
