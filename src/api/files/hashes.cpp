#include "api/files/hashes.h"

#include "core/files/sha256.h"
#include "core/observe.h"
#include "weights/packed_cache.h"

namespace hearth::api {

WeightHashes::WeightHashes(std::vector<std::pair<std::string, std::vector<std::filesystem::path>>> components, std::filesystem::path cache)
    : components_(std::move(components)), cache_(std::move(cache)) {}

WeightHashes::~WeightHashes() { stop_ = true; }

void WeightHashes::start() { running(); }

// The reference stays valid as long as running_, which shares the result.
const Hashes& WeightHashes::get() { return running().get(); }

std::shared_future<Hashes> WeightHashes::running() {
  const std::lock_guard lock(mutex_);
  if (!running_.valid())
    running_ = std::async(std::launch::async, [this] {
                 const CancelScope cancel(stop_);
                 Hashes hashes;
                 for (const auto& [component, files] : components_)
                   hashes.emplace_back(component, cache_.empty() ? sha256_of_files(files) : remembered_hash(cache_, files));
                 return hashes;
               }).share();
  return running_;
}

}  // namespace hearth::api
