#include "weights/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "weights/published_names.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

std::string config_name(const Component& component) {
  const auto is_a = [&](std::string_view kind) { return component.class_name.find(kind) != std::string::npos; };
  if (is_a("Scheduler")) return "scheduler_config.json";
  if (is_a("Tokenizer")) return "tokenizer_config.json";
  if (is_a("FeatureExtractor") || is_a("ImageProcessor")) return "preprocessor_config.json";
  return "config.json";
}

// An entry of model_index.json: [library, class] is a component, [null, null] an absent one, anything else a setting.
std::optional<Component> as_component(const std::string& name, const nlohmann::json& value, const std::string& where) {
  if (!value.is_array() || name.starts_with('_')) return std::nullopt;
  if (value.size() == 2 && value[0].is_null() && value[1].is_null()) return std::nullopt;
  if (value.size() != 2 || !value[0].is_string() || !value[1].is_string())
    fail<IoError>("{}: component '{}' is {}, needed [library, class]", where, name, value.dump());
  if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos)
    fail<IoError>("{}: '{}' is no name of a component", where, name);
  return Component{name, value[0], value[1]};
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& root) {
  std::error_code error;
  const fs::file_status status = fs::status(root, error);
  if (!fs::exists(status)) fail<IoError>("{}: no such folder", root.string());
  if (!fs::is_directory(status)) fail<IoError>("{}: not a folder, needed a diffusers folder with model_index.json", root.string());
  if (fs::is_empty(root, error)) fail<IoError>("{}: the folder is empty, needed a diffusers folder with model_index.json", root.string());
  if (error) fail<IoError>("{}: cannot be listed: {}", root.string(), error.message());
  const fs::path file = root / "model_index.json";
  if (!fs::exists(file, error)) fail<IoError>("{}: has no model_index.json, which a diffusers folder needs", root.string());

  Checkpoint checkpoint;
  checkpoint.root_ = root;
  checkpoint.index_ = Config::load(file);
  checkpoint.pipeline_class_ = checkpoint.index_.text("_class_name");
  const nlohmann::json entries = load_json(file);
  for (const auto& [name, value] : entries.items()) {
    if (value.is_array()) checkpoint.index_.no_effect({name});
    if (const auto component = as_component(name, value, file.string())) checkpoint.components_.push_back(*component);
  }
  return checkpoint;
}

const Component* Checkpoint::find(std::string_view name) const {
  const auto found = std::ranges::find(components_, name, &Component::name);
  return found == components_.end() ? nullptr : &*found;
}

const Component& Checkpoint::component(std::string_view name) const {
  const Component* found = find(name);
  if (!found) fail<WeightError>("{}: model_index.json has no component '{}', which {} needs", root_.string(), name, pipeline_class_);
  return *found;
}

fs::path Checkpoint::folder(std::string_view name) const {
  const fs::path path = root_ / component(name).name;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    fail<IoError>("{}: no such folder, which model_index.json names for the component '{}'", path.string(), name);
  return path;
}

void Checkpoint::require_class(std::string_view name, std::initializer_list<std::string_view> classes) const {
  const Component& found = component(name);
  if (std::ranges::find(classes, found.class_name) == classes.end())
    fail<UnsupportedError>("{}: component '{}' has the class {}, only {} can be run", root_.string(), name, found.class_name,
                           fmt::join(classes, ", "));
}

Config Checkpoint::config(std::string_view name) const { return Config::load(folder(name) / config_name(component(name))); }

WeightFiles Checkpoint::files(std::string_view name, const std::string& variant) const {
  const fs::path own = folder(name);
  const auto has_variant = [&](const fs::path& folder) {
    return std::ranges::any_of(find_weight_files(folder), [&](const WeightFiles& set) { return set.variant == variant; });
  };
  if (!variant.empty() && !has_variant(own))
    for (const Component& other : components_)
      if (std::error_code ignored; fs::is_directory(root_ / other.name, ignored) && has_variant(root_ / other.name))
        return choose_weight_files(own, "");
  return choose_weight_files(own, variant);
}

std::shared_ptr<TensorSource> Checkpoint::tensors(std::string_view name, const std::string& variant) const {
  return aliased(open_weight_files(files(name, variant)), published_aliases(component(name).class_name));
}

std::vector<std::string> Checkpoint::ignored(std::string_view name) const { return ignored_tensors(component(name).class_name); }

}  // namespace hearth
