// model_index.json: the components of a checkpoint as diffusers lays it out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hearth {

struct Component {
  std::string name, library, class_name;  // "unet", "diffusers", "UNet2DConditionModel"
};

// An entry [library, class] is a component, [null, null] or null an absent one, anything else a setting. IoError that begins with `where`
// for one that is neither.
std::vector<Component> components_of(const nlohmann::json& index, const std::string& where);

// By its class: schedulers, tokenizers and processors of images have none.
bool has_weights(const Component& component);
bool is_scheduler(const Component& component);
std::string config_file_name(const Component& component);  // "config.json"; "scheduler_config.json" and its kin for those

}  // namespace hearth
