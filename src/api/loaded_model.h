// What stands behind a Model, and what is told of its runs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/hashes.h"
#include "core/backend.h"
#include "hearth/hearth.h"
#include "models/image_model.h"

namespace hearth::api {

struct LoadedModel {
  std::string name, refiner;  // the folders'; refiner: empty without
  std::unique_ptr<Backend> device;
  std::unique_ptr<models::ImageModel> pipeline;
  std::unique_ptr<WeightHashes> hashes;
  std::atomic<double> load_seconds = 0;
};

// A run, as the report and the pictures' metadata tell it.
struct Run {
  const Request& request;
  uint64_t seed = 0, variation_seed = 0;
  const models::ResolvedImage& resolved;
  const models::MemoryPlan& plan;
  const std::vector<models::ComponentReport>& components;  // as they were loaded
  std::optional<int64_t> tile = {};                        // side in pixels of what the autoencoder decoded at once
  double seconds = 0;
  int64_t memory_peak = 0;  // of the device's buffers, weights included
};

std::string device_name(const Backend& device);                // "cpu avx2"
std::string precision_of(const models::ImageModel& pipeline);  // of the denoiser's weights, "f16"
std::string describe(LoadedModel& model);                      // Model::description()
// Generation::report; `debug` is DebugObserver's, or null.
std::string write_report(LoadedModel& model, const Run& run, const models::ImageResult& result, const std::vector<std::string>& warnings,
                         const nlohmann::json& debug);
// Fills in `parameters` and `json` of a batch's picture.
void sign(Image& image, LoadedModel& model, const Run& run, int64_t index);

}  // namespace hearth::api
