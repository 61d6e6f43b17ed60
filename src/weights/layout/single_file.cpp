#include "weights/layout/single_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files/json.h"
#include "weights/checkpoint_files.h"
#include "weights/gguf/gguf.h"
#include "weights/layout/float8.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* prediction_key = "modelspec.prediction_type";

// The denoiser among the components that the user gives, or nullptr.
const std::pair<const std::string, GivenComponent>* given_denoiser(const SingleFileOptions& options) {
  if (!options.given) return nullptr;
  for (const auto& named : *options.given)
    if (const Slot* slot = slot_of(options.families, named.first); slot && slot->role == ComponentRole::denoiser) return &named;
  return nullptr;
}

// "a, b or c".
std::string alternatives(const std::vector<std::string>& names) {
  std::string text = names.at(0);
  for (size_t i = 1; i < names.size(); ++i) text += (i + 1 < names.size() ? ", " : " or ") + names[i];
  return text;
}

// Names and flags of every denoiser of the families: "UNet", "--unet".
std::pair<std::string, std::string> denoisers_in_words(std::span<const KnownFamily> families) {
  std::vector<std::string> names, flags;
  for (const Slot* slot : slots_of(families))
    if (slot->role == ComponentRole::denoiser) names.emplace_back(slot->label), flags.push_back(flag_of(slot->name));
  return {alternatives(names), alternatives(flags)};
}

Json config_of(const Slot& slot, const SingleFileOptions& options, const std::optional<Chosen>& chosen) {
  const fs::path file = fs::path(slot.name) / "config.json";
  std::error_code error;
  for (const fs::path& folder : {options.config, chosen ? chosen->configuration.folder : fs::path()})
    if (!folder.empty())
      if (const fs::path found = published_file(folder, file, options.families); fs::exists(found, error)) return load_json(found);
  return {};
}

}  // namespace

SingleFile open_single_file(const fs::path& path, const SingleFileOptions& options) {
  const auto opened = open_tensor_file(path);
  Metadata metadata;
  if (const auto* safetensors = dynamic_cast<const SafetensorsFile*>(opened.get())) metadata = safetensors->header().metadata;
  if (const auto* gguf = dynamic_cast<const GgufFile*>(opened.get()); gguf && gguf->metadata().has(prediction_key))
    metadata[prediction_key] = gguf->metadata().text(prediction_key);
  const auto source = with_float8_scales(opened);
  const TensorList tensors = source->list();
  const std::vector<Section> sections = find_sections(tensors, options.families, path.string());

  SingleFile file{.contents = contents_of(tensors, sections, options.families, gguf_architecture(*opened))};
  if (sections.empty()) fail<UnsupportedError>("{}: cannot be run, because it holds {}", path.string(), file.contents);
  file.unknown = unknown_names(tensors, sections, options.families);

  const Section* own = denoiser_of(sections);
  const auto* given = given_denoiser(options);
  if (!own && !given) {
    const auto [names, flags] = denoisers_in_words(options.families);
    fail<WeightError>("{}: holds no {}, only {}: give one with {}", path.string(), names, file.contents, flags);
  }
  const Slot& slot = given ? *slot_of(options.families, given->first) : own->slot();
  if (options.averaged && !own) fail<WeightError>("{}: holds no {} whose averaged weights could be used", path.string(), slot.label);
  const std::shared_ptr<TensorSource> denoiser = given ? given->second.tensors : open_section(source, *own, {.averaged = options.averaged});
  const Deciding deciding{given ? *given->second.network : *own->network, slot, *denoiser};

  file.chosen = choose_configuration(deciding, *source, metadata, options.families);
  if (options.config.empty() && !file.chosen)
    fail<UnsupportedError>("{}: its {} ({}) matches no built-in configuration; give one with --config DIR", path.string(), slot.label,
                           deciding.network.geometry(denoiser->list()).description);
  for (const KnownFamily& family : options.families)
    if (file.chosen ? family.files == file.chosen->configuration.family
                    : std::ranges::find(family.files->places, &deciding.network, &NetworkPlace::network) != family.files->places.end())
      file.families.push_back(family.files);

  const auto* const split = dynamic_cast<const GgufFile*>(opened.get());
  for (const Section& s : sections) {
    const Json config = config_of(s.slot(), options, file.chosen);
    file.parts.push_back({s.slots, given_by(source, s, {.config = &config, .averaged = options.averaged && &s == own})});
    file.parts.back().component.files = split ? split->paths() : std::vector<fs::path>{path};
  }
  return file;
}

}  // namespace hearth
