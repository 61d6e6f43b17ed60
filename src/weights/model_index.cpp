#include "weights/model_index.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"

namespace hearth {
namespace {

bool is_a(const Component& component, std::string_view kind) { return component.class_name.find(kind) != std::string::npos; }

std::optional<Component> as_component(const std::string& name, const nlohmann::json& value, const std::string& where) {
  if (!value.is_array() || name.starts_with('_')) return std::nullopt;
  if (value.size() == 2 && value[0].is_null() && value[1].is_null()) return std::nullopt;
  if (value.size() != 2 || !value[0].is_string() || !value[1].is_string())
    fail<IoError>("{}: component '{}' is {}, expected [library, class]", where, name, value.dump());
  if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos)
    fail<IoError>("{}: '{}' is not a valid component name", where, name);
  return Component{name, value[0], value[1]};
}

}  // namespace

std::vector<Component> components_of(const nlohmann::json& index, const std::string& where) {
  std::vector<Component> components;
  for (const auto& [name, value] : index.items())
    if (const auto component = as_component(name, value, where)) components.push_back(*component);
  return components;
}

bool is_scheduler(const Component& component) { return is_a(component, "Scheduler"); }

std::string config_file_name(const Component& component) {
  if (is_scheduler(component)) return "scheduler_config.json";
  if (is_a(component, "FeatureExtractor") || is_a(component, "ImageProcessor")) return "preprocessor_config.json";
  if (is_a(component, "Tokenizer") || is_a(component, "Processor")) return "tokenizer_config.json";
  return "config.json";
}

std::vector<std::string> text_files(const Component& component) {
  std::vector<std::string> files{config_file_name(component)};
  if (files[0] == "tokenizer_config.json")
    files.insert(files.end(), {"vocab.json", "merges.txt", "special_tokens_map.json", "added_tokens.json", "tokenizer.json", "spiece.model",
                               "tokenizer.model", "chat_template.jinja", "chat_template.json", "vocab.txt", "preprocessor_config.json"});
  return files;
}

bool has_weights(const Component& component) { return config_file_name(component) == "config.json"; }

}  // namespace hearth
