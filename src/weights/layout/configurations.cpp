#include "weights/layout/configurations.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "weights/model_index.h"
#include "weights/stored_numbers.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string text_of(const Json& object, const char* key, const std::string& otherwise = {}) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : otherwise;
}

struct Candidate {
  Configuration configuration;
  std::string marker, prediction;
};

Candidate candidate_of(const Configuration& configuration, std::span<const KnownFamily> families) {
  const fs::path file = configuration.folder / "model_index.json";
  const Json index = load_json(file);
  Candidate candidate{configuration, text_of(index, "_marker"), {}};
  for (const Component& c : components_of(index, file.string()))
    if (is_scheduler(c)) {
      const Json scheduler = load_json(published_file(configuration.folder, fs::path(c.name) / config_file_name(c), families));
      candidate.prediction = text_of(scheduler, "prediction_type", "epsilon");
    }
  return candidate;
}

const Prediction* prediction_named(const ImageFiles& family, std::string_view type) {
  const auto found = std::ranges::find(family.predictions, type, &Prediction::type);
  return found == family.predictions.end() ? nullptr : &*found;
}

// The prediction type that the file states, or nullptr.
const Prediction* stated_prediction(const ImageFiles& family, const TensorList& tensors, const Metadata& metadata) {
  for (const Prediction& p : family.predictions)
    if (!p.marker.empty() && tensors.contains(std::string(p.marker))) return &p;
  const auto stated = metadata.find("modelspec.prediction_type");
  if (stated == metadata.end()) return nullptr;
  for (const Prediction& p : family.predictions)
    if (std::ranges::find(p.stated, stated->second) != p.stated.end()) return &p;
  return nullptr;
}

void read_marker(const SchedulerMarker& marker, const TensorSource& file, const TensorList& tensors, Chosen& chosen) {
  const auto found = tensors.find(std::string(marker.tensor));
  if (found == tensors.end()) return;
  if (marker.value.empty()) {
    const auto number = stored_numbers(file, found->first);
    if (number.size() != 1) return;
    chosen.patch[std::string(marker.key)] = Json(number[0]).dump();
  } else {
    chosen.patch[std::string(marker.key)] = marker.value;
  }
  if (!marker.label.empty()) chosen.changes.emplace_back(marker.label);
}

}  // namespace

fs::path published_file(const fs::path& folder, const fs::path& file, std::span<const KnownFamily> families) {
  std::error_code error;
  fs::path at = folder;
  for (int bases = 0; bases < 8; ++bases) {  // a base may have one of its own
    if (fs::exists(at / file, error)) return at / file;
    if (!fs::exists(at / "model_index.json", error)) break;
    const std::string base = text_of(load_json(at / "model_index.json"), "_base");
    if (base.empty() || base.find_first_of("/\\") != base.npos || base == "..") break;
    std::vector<fs::path> beside{at.parent_path()};
    for (const KnownFamily& family : families) beside.push_back(family.configurations);
    const auto found = std::ranges::find_if(beside, [&](const fs::path& place) { return fs::is_directory(place / base, error); });
    if (found == beside.end()) break;
    at = *found / base;
  }
  return folder / file;
}

std::vector<Configuration> configurations_with(const Deciding& denoiser, std::span<const KnownFamily> families) {
  std::vector<Configuration> found;
  const Geometry geometry = denoiser.network.geometry(denoiser.tensors.list());
  for (const KnownFamily& family : families) {
    std::vector<fs::path> folders;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(family.configurations, error)) folders.push_back(entry.path());
    std::ranges::sort(folders);
    for (const fs::path& folder : folders) {
      if (!fs::exists(folder / "model_index.json", error)) continue;
      const fs::path config = published_file(folder, fs::path(denoiser.slot.name) / "config.json", families);
      if (fs::exists(config, error) && denoiser.network.stated_geometry(load_json(config)) == geometry)
        found.push_back({family.files, folder});
    }
  }
  return found;
}

std::optional<Chosen> choose_configuration(const Deciding& denoiser, const TensorSource& file, const Metadata& metadata,
                                           std::span<const KnownFamily> families) {
  const TensorList tensors = file.list();
  std::vector<Candidate> candidates;
  for (const Configuration& c : configurations_with(denoiser, families)) candidates.push_back(candidate_of(c, families));
  const bool marked = std::ranges::any_of(candidates, [&](const Candidate& c) { return tensors.contains(c.marker); });
  std::erase_if(candidates, [&](const Candidate& c) { return marked ? !tensors.contains(c.marker) : !c.marker.empty(); });
  if (candidates.empty()) return std::nullopt;
  const ImageFiles& family = *candidates[0].configuration.family;
  const Prediction* prediction = stated_prediction(family, tensors, metadata);
  const bool open_question = std::ranges::any_of(candidates, [&](const Candidate& c) { return c.prediction != candidates[0].prediction; });
  if (!prediction && open_question && family.guess_prediction)
    if (const auto type = family.guess_prediction(denoiser.tensors)) prediction = prediction_named(family, *type);
  const auto agrees = [&](const Candidate& c) { return prediction && c.prediction == prediction->type; };
  const auto agreeing = std::ranges::find_if(candidates, agrees);
  const Candidate& taken = agreeing == candidates.end() ? candidates[0] : *agreeing;
  Chosen chosen{.configuration = taken.configuration};
  if (prediction && !agrees(taken)) {
    chosen.patch["prediction_type"] = Json(prediction->type).dump();
    if (!prediction->label.empty()) chosen.changes.emplace_back(prediction->label);
  }
  for (const SchedulerMarker& marker : taken.configuration.family->markers) read_marker(marker, file, tensors, chosen);
  return chosen;
}

}  // namespace hearth
