#include "weights/layout/given_component.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files/file.h"
#include "core/files/json.h"
#include "weights/checkpoint_files.h"
#include "weights/gguf/gguf.h"
#include "weights/layout/float8.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// The section of this component; a text encoder that is the only one matches whatever its slot.
const Section* choose(std::span<const Section> sections, std::string_view component, std::span<const KnownFamily> families) {
  for (const Section& s : sections)
    if (std::ranges::find(s.slots, component, &Slot::name) != s.slots.end()) return &s;
  const Slot* wanted = slot_of(families, component);
  if (!wanted || wanted->role != ComponentRole::text_encoder) return nullptr;
  const auto is_text = [](const Section& s) { return s.slot().role == ComponentRole::text_encoder; };
  return std::ranges::count_if(sections, is_text) == 1 ? &*std::ranges::find_if(sections, is_text) : nullptr;
}

bool holds_encoder(const NetworkFiles& network, const TensorSource& tensors) {
  const auto first = [&](const auto& named) { return named.first.starts_with(network.encoder); };
  return network.encoder.empty() || std::ranges::any_of(tensors.list(), first);
}

// A component that `path` holds besides the one that it was given for.
std::optional<GivenComponent> find_beside(const fs::path& path, std::string_view component, std::span<const KnownFamily> families,
                                          const std::string& variant) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    if (!fs::exists(path / "model_index.json", error) || !fs::exists(path / component, error)) return std::nullopt;
    return open_given(path, component, families, variant);
  }
  const auto source = open_tensor_file(path);
  const std::vector<Section> sections = find_sections(source->list(), families, source->describe());
  return choose(sections, component, families) ? std::optional(open_given(path, component, families)) : std::nullopt;
}

}  // namespace

std::optional<std::string> GivenComponent::config_text() const {
  if (!config.empty()) return read_file(config, int64_t(1) << 28);
  if (!stated.empty()) return stated;
  return network->standard_config ? network->standard_config(tensors->list()) : std::nullopt;
}

Config GivenComponent::own_config() const { return Config::parse(config_text().value(), (config.empty() ? files.at(0) : config).string()); }

GivenComponent given_by(std::shared_ptr<TensorSource> source, const Section& section, const SectionOptions& options) {
  GivenComponent given{.tensors = nullptr,
                       .gguf = std::dynamic_pointer_cast<const GgufFile>(source),
                       .network = section.network,
                       .spelling = section.spelling,
                       .class_name = std::string(section.network->classes.front())};
  if (section.spelling->opening) {
    SelfDescribed opened = section.spelling->opening(source);
    given.tensors = std::move(opened.tensors), given.stated = std::move(opened.config);
  } else {
    given.tensors = open_section(std::move(source), section, options);
  }
  given.decoder_alone = !holds_encoder(*given.network, *given.tensors);
  return given;
}

std::map<std::string, GivenComponent> open_all_given(const std::map<std::string, fs::path>& paths, std::span<const KnownFamily> families,
                                                     const std::string& variant) {
  std::map<std::string, GivenComponent> all;
  for (const auto& [name, path] : paths) all[name] = open_given(path, name, families, variant);
  for (const KnownFamily& family : families)
    for (const auto& [name, path] : paths) {
      const auto is_this = [&name = name](const Slot* slot) { return slot->name == name && !slot->adds.empty(); };
      if (std::ranges::none_of(family.files->slots, is_this)) continue;
      for (const Slot* other : family.files->slots)
        if (!other->adds.empty() && !all.contains(std::string(other->name)))
          if (auto found = find_beside(path, other->name, families, variant)) all[std::string(other->name)] = std::move(*found);
    }
  return all;
}

GivenComponent open_given(const fs::path& path, std::string_view component, std::span<const KnownFamily> families,
                          const std::string& variant) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail<IoError>("{}: no such file or folder", path.string());
  std::vector<fs::path> files{path};
  fs::path config;
  std::string chosen;
  std::shared_ptr<TensorSource> source;
  if (fs::is_directory(status)) {
    const fs::path folder = fs::exists(path / "model_index.json", error) ? path / component : path;
    const std::vector<WeightFiles> sets = find_weight_files(folder);
    const auto has = [&](const std::string& wanted) { return std::ranges::find(sets, wanted, &WeightFiles::variant) != sets.end(); };
    const WeightFiles found = choose_weight_files(folder, has(variant) || !has("") ? variant : "");
    chosen = found.variant;
    source = open_weight_files(found);
    files = found.files;
    if (fs::exists(folder / "config.json", error)) config = folder / "config.json";
  } else {
    source = open_tensor_file(path);
  }
  if (const auto* split = dynamic_cast<const GgufFile*>(source.get())) files = split->paths();
  const std::string architecture = gguf_architecture(*source);
  source = with_float8_scales(std::move(source));
  const TensorList tensors = source->list();
  const std::vector<Section> sections = find_sections(tensors, families, source->describe());
  const Section* section = choose(sections, component, families);
  if (!section)
    fail<WeightError>("{}: holds no {}, only {}", source->describe(), label_of(families, component),
                      contents_of(tensors, sections, families, architecture));
  const nlohmann::json json = config.empty() ? nlohmann::json() : load_json(config);
  GivenComponent given = given_by(std::move(source), *section, {.config = &json});
  given.files = std::move(files), given.config = std::move(config), given.variant = std::move(chosen);
  return given;
}

}  // namespace hearth
