#include "api/places.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "api/assets.h"
#include "hub/local_model.h"
#include "models/checkpoints.h"

namespace hearth {

std::vector<ComponentInfo> list_components() {
  std::vector<ComponentInfo> all;
  for (const Slot* slot : slots_of(models::image_files())) {
    const std::string flag = flag_of(*slot), precise = slot->role == ComponentRole::text_encoder    ? "--text-encoder"
                                                       : slot->role == ComponentRole::image_encoder ? "--image-encoder"
                                                                                                    : flag;
    all.push_back({.name = std::string(slot->name),
                   .label = std::string(slot->label),
                   .flag = flag,
                   .precision_flag = precise + "-precision",
                   .device_flag = precise + "-device",
                   .role = slot->role,
                   .adds = std::string(slot->adds)});
  }
  return all;
}

namespace api {

CheckpointPlaces places_of(const std::filesystem::path& path, const OpenOptions& options) {
  CheckpointPlaces places{.config = hub::local_model(options.config), .variant = options.variant, .averaged = options.ema};
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) places.assets = assets_folder();
  std::vector<std::string> names;
  for (const ComponentInfo& component : list_components()) names.push_back(component.name);
  for (const auto& [name, component] : options.components) {
    if (std::ranges::find(names, name) == names.end())
      fail<UsageError>("open: unknown component '{}', expected one of {}", name, fmt::join(names, ", "));
    if (!component.path.empty()) places.components[name] = hub::local_model(component.path);
  }
  return places;
}

}  // namespace api
}  // namespace hearth
