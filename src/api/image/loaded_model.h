// Implementation of Model, and the reports of its runs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/files/hashes.h"
#include "core/backend.h"
#include "hearth/hearth.h"
#include "models/image_model.h"

namespace hearth {
class SplitBackend;  // backends/split/split_backend.h
}

namespace hearth::api {

struct LoadedModel {
  std::string name, refiner;  // names of the checkpoints; refiner: empty if there is none
  std::shared_ptr<Backend> device;
  std::vector<std::shared_ptr<Backend>> others;  // devices of components that are not on `device`, each once
  std::unique_ptr<models::ImageModel> pipeline;
  std::unique_ptr<WeightHashes> hashes;
  std::atomic<double> load_seconds = 0;
};

// A run, as described by the report and the images' metadata.
struct Run {
  const Request& requested;
  Request used;  // used_request.h
  const models::ResolvedImage& resolved;
  const models::MemoryPlan& plan;
  const std::vector<models::ComponentReport>& components;  // as loaded
  double seconds = 0;
  int64_t ended_after = 0;  // Generation::ended_after
  int64_t memory_peak = 0;  // of the devices' buffers, including weights
  int64_t card_peak = 0;    // of the cards of devices that are divided
};

std::vector<SplitBackend*> divided_devices(const LoadedModel& model);
std::string device_name(const Backend& device);  // "cpu avx2"
std::string describe(LoadedModel& model);        // Model::description()
// Generation::report. `debug`: DebugObserver::report(), or null.
std::string write_report(LoadedModel& model, const Run& run, const models::ImageResult& result, const std::vector<std::string>& warnings,
                         const nlohmann::json& debug);
// Fills in `parameters` and `json` of an image. `used`: Run::used, for this image of the batch.
void sign(Image& image, LoadedModel& model, const Run& run, const Request& used);

}  // namespace hearth::api
