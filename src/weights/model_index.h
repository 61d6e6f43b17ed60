// model_index.json: the components of a checkpoint in the layout of diffusers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hearth {

struct Component {
  std::string name, library, class_name;  // "unet", "diffusers", "UNet2DConditionModel"
};

// An entry [library, class] is a component, [null, null] or null an absent one, anything else a setting. An entry that is none of these is
// an IoError whose message starts with `where`.
std::vector<Component> components_of(const nlohmann::json& index, const std::string& where);

// Decided by the class: schedulers, tokenizers and image processors have none.
bool has_weights(const Component& component);
bool is_scheduler(const Component& component);
std::string config_file_name(const Component& component);  // "config.json"; for those, "scheduler_config.json" and the like
// All files that are not weights, of which it has some: config_file_name(), for tokenizers also vocabularies.
std::vector<std::string> text_files(const Component& component);

}  // namespace hearth
