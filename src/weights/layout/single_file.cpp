#include "weights/layout/single_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "weights/checkpoint_files.h"
#include "weights/layout/widened.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string text_of(const Json& object, const char* key, const std::string& otherwise) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : otherwise;
}

// The values of a short tensor; nothing where they cannot be had without a backend.
std::vector<double> numbers_of(const TensorSource& source, const std::string& name, const TensorInfo& info) {
  const std::span<const std::byte> bytes = source.stored_bytes(name);
  std::vector<double> values(size_t(info.shape.numel()));
  if (!is_float(info.dtype) || bytes.size() != bytes_of(info.dtype, info.shape.numel())) return {};
  for (size_t i = 0; i < values.size(); ++i) {
    const std::byte* at = bytes.data() + i * size_of(info.dtype);
    const auto read = [at]<class T>(T value) { return std::memcpy(&value, at, sizeof value), value; };
    if (info.dtype == DType::f64) values[i] = read(0.0);
    else if (info.dtype == DType::f32) values[i] = double(read(0.0f));
    else values[i] = double(info.dtype == DType::f16 ? f16_to_f32(read(uint16_t())) : bf16_to_f32(read(uint16_t())));
  }
  return values;
}

double deviation(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / double(values.size());
  for (const double v : values) squares += (v - mean) * (v - mean);
  return values.size() < 2 ? 0 : std::sqrt(squares / double(values.size() - 1));
}

// "epsilon" or "v_prediction" where the file says so.
std::optional<std::string> prediction_of(const TensorList& tensors, const Metadata& metadata) {
  if (tensors.contains("v_pred")) return "v_prediction";
  const auto stated = metadata.find("modelspec.prediction_type");
  if (stated == metadata.end()) return std::nullopt;
  if (stated->second == "v" || stated->second == "v_prediction") return "v_prediction";
  return stated->second == "epsilon" ? std::optional<std::string>("epsilon") : std::nullopt;
}

struct Candidate {
  fs::path folder;
  std::string marker, prediction;
};

Candidate candidate_of(const fs::path& folder) {
  return {.folder = folder,
          .marker = text_of(load_json(folder / "model_index.json"), "_marker", ""),
          .prediction = text_of(load_json(published_file(folder, "scheduler/scheduler_config.json")), "prediction_type", "epsilon")};
}

// Chooses configurations for the file and notes what they do not say.
void choose(SingleFile& file, const fs::path& assets, const TensorSource& unet, const TensorSource& all, const Metadata& metadata) {
  const TensorList tensors = all.list();
  const std::string where = all.describe();
  const TensorList names = unet.list();
  const UnetGeometry geometry = geometry_of(names);
  std::vector<Candidate> candidates;
  for (const fs::path& folder : configs_with(assets, geometry)) candidates.push_back(candidate_of(folder));
  const bool marked = std::ranges::any_of(candidates, [&](const Candidate& c) { return tensors.contains(c.marker); });
  std::erase_if(candidates, [&](const Candidate& c) { return marked ? !tensors.contains(c.marker) : !c.marker.empty(); });
  if (candidates.empty())
    fail<UnsupportedError>("{}: its UNet ({}) has no published geometry; --config DIR gives the configurations", where,
                           geometry.describe());
  std::optional<std::string> prediction = prediction_of(tensors, metadata);
  const bool open_question = std::ranges::any_of(candidates, [&](const Candidate& c) { return c.prediction != candidates[0].prediction; });
  if (!prediction && open_question) {
    const std::string bias = "up_blocks.3.attentions.2.transformer_blocks.0.norm1.bias";
    const auto found = names.find(bias);
    constexpr double least_of_v = 0.09;
    if (found != names.end()) prediction = deviation(numbers_of(unet, bias, found->second)) > least_of_v ? "v_prediction" : "epsilon";
  }
  const Candidate* chosen = &candidates[0];
  for (const Candidate& c : candidates)
    if (prediction && c.prediction == *prediction) {
      chosen = &c;
      break;
    }
  file.configs = chosen->folder;
  if (prediction && chosen->prediction != *prediction) file.patch["prediction_type"] = Json(*prediction).dump();
  if (tensors.contains("ztsnr")) file.patch["rescale_betas_zero_snr"] = "true";
  for (const char* limit : {"sigma_min", "sigma_max"}) {
    const auto stated = tensors.find(fmt::format("edm_vpred.{}", limit));
    if (stated == tensors.end() || stated->second.shape.numel() != 1) continue;
    const auto value = numbers_of(all, stated->first, stated->second);
    if (!value.empty()) file.patch[limit] = Json(value[0]).dump();
  }
}

}  // namespace

fs::path published_file(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  const fs::path own = folder / file, index = folder / "model_index.json";
  if (fs::exists(own, error) || !fs::exists(index, error)) return own;
  const std::string base = text_of(load_json(index), "_base", "");
  const bool plain = !base.empty() && base.find_first_of("/\\") == base.npos && base != "..";
  const fs::path shared = folder.parent_path() / base / file;
  return plain && fs::exists(shared, error) ? shared : own;
}

std::vector<fs::path> configs_with(const fs::path& assets, const UnetGeometry& geometry) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(assets / "configs", error)) {
    if (!fs::exists(entry.path() / "model_index.json", error)) continue;
    const fs::path config = published_file(entry.path(), "unet/config.json");
    if (geometry_of(load_json(config)) == geometry) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

SingleFile open_single_file(const fs::path& path, const SingleFileOptions& options) {
  const auto opened = open_tensor_file(path);
  Metadata metadata;
  if (const auto* safetensors = dynamic_cast<const SafetensorsFile*>(opened.get())) metadata = safetensors->header().metadata;
  const auto source = widened(opened);
  const TensorList tensors = source->list();
  const std::vector<Section> sections = find_sections(tensors, path.string());

  SingleFile file{.contents = contents_of(tensors, sections)};
  if (sections.empty()) fail<UnsupportedError>("{}: holds {}, which cannot be run", path.string(), file.contents);
  for (const auto& tensor : tensors) {
    const std::string& name = tensor.first;
    const bool inside = std::ranges::any_of(sections, [&](const Section& s) { return name.starts_with(s.prefix); });
    if (!inside && !is_leftover(name)) file.unknown.push_back(name);
  }
  for (const Section& s : sections)
    file.components[s.component] = {.tensors = open_section(source, s, {.averaged = options.averaged && s.component == "unet"}),
                                    .files = {path},
                                    .naming = s.naming,
                                    .class_name = s.component == "vae" ? std::string(autoencoder_class(s)) : ""};

  const auto own = file.components.find("unet");
  const std::shared_ptr<TensorSource> unet = options.unet ? options.unet : own != file.components.end() ? own->second.tensors : nullptr;
  if (!unet) fail<WeightError>("{}: holds no UNet, only {}: give one with --unet", path.string(), file.contents);
  if (options.averaged && own == file.components.end())
    fail<WeightError>("{}: holds no UNet whose averaged weights could be taken", path.string());
  if (!options.config.empty()) file.configs = options.config;
  else if (options.assets.empty()) fail<UsageError>("{}: a single file needs configurations (--config DIR)", path.string());
  else choose(file, options.assets, *unet, *source, metadata);

  const fs::path config = published_file(file.configs, "unet/config.json");
  std::error_code error;
  if (own != file.components.end() && fs::exists(config, error) && has_class_embedding(config)) {
    const auto section = std::ranges::find(sections, "unet", &Section::component);
    own->second.tensors = open_section(source, *section, {.averaged = options.averaged, .class_embedding = true});
  }
  return file;
}

}  // namespace hearth
