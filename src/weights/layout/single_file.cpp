#include "weights/layout/single_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "weights/checkpoint_files.h"
#include "weights/layout/widened.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// The denoiser among the components that the user gives, or null.
const std::pair<const std::string, GivenComponent>* given_denoiser(const SingleFileOptions& options) {
  if (!options.given) return nullptr;
  for (const auto& named : *options.given)
    if (const Slot* slot = slot_of(options.families, named.first); slot && slot->role == ComponentRole::denoiser) return &named;
  return nullptr;
}

// "UNet", "--unet": of every denoiser that the families have.
std::pair<std::string, std::string> denoisers_in_words(std::span<const KnownFamily> families) {
  std::vector<std::string> names, flags;
  for (const Slot* slot : slots_of(families))
    if (slot->role == ComponentRole::denoiser) names.emplace_back(slot->spoken), flags.push_back(flag_of(slot->name));
  return {fmt::format("{}", fmt::join(names, " or ")), fmt::format("{}", fmt::join(flags, " or "))};
}

Json config_in(const fs::path& folder, std::string_view component, std::span<const KnownFamily> families) {
  const fs::path file = published_file(folder, fs::path(component) / "config.json", families);
  std::error_code error;
  return fs::exists(file, error) ? load_json(file) : Json();
}

}  // namespace

SingleFile open_single_file(const fs::path& path, const SingleFileOptions& options) {
  const auto opened = open_tensor_file(path);
  Metadata metadata;
  if (const auto* safetensors = dynamic_cast<const SafetensorsFile*>(opened.get())) metadata = safetensors->header().metadata;
  const auto source = widened(opened);
  const TensorList tensors = source->list();
  const std::vector<Section> sections = find_sections(tensors, options.families, path.string());

  SingleFile file{.contents = contents_of(tensors, sections, options.families)};
  if (sections.empty()) fail<UnsupportedError>("{}: holds {}, which cannot be run", path.string(), file.contents);
  file.unknown = unknown_names(tensors, sections, options.families);

  const Section* own = denoiser_of(sections);
  const auto* given = given_denoiser(options);
  if (!own && !given) {
    const auto [names, flags] = denoisers_in_words(options.families);
    fail<WeightError>("{}: holds no {}, only {}: give one with {}", path.string(), names, file.contents, flags);
  }
  const Slot& slot = given ? *slot_of(options.families, given->first) : own->slot();
  if (options.averaged && !own) fail<WeightError>("{}: holds no {} whose averaged weights could be taken", path.string(), slot.spoken);
  const std::shared_ptr<TensorSource> denoiser = given ? given->second.tensors : open_section(source, *own, {.averaged = options.averaged});
  const Deciding deciding{given ? *given->second.network : *own->network, slot, *denoiser};

  file.chosen = choose_configuration(deciding, *source, metadata, options.families);
  if (options.config.empty() && !file.chosen)
    fail<UnsupportedError>("{}: its {} ({}) has no published geometry; --config DIR gives the configurations", path.string(), slot.spoken,
                           deciding.network.geometry(denoiser->list()).description);
  file.configs = options.config.empty() ? file.chosen->configuration.folder : options.config;

  for (const Section& s : sections) {
    const Json config = config_in(file.configs, s.slot().name, options.families);
    file.parts.push_back({s.slots, given_by(source, s, {.config = &config, .averaged = options.averaged && &s == own})});
    file.parts.back().component.files = {path};
  }
  return file;
}

}  // namespace hearth
