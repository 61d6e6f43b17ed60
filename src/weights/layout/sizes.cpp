#include "weights/layout/sizes.h"

#include <nlohmann/json.hpp>

namespace hearth {

int64_t axis_of(const TensorList& tensors, const std::string& name, int axis) {
  const Shape shape = shape_of(tensors, name);
  return shape.rank() <= axis ? 0 : shape[axis];
}

int64_t stated_integer(const nlohmann::json& config, const char* key, int64_t otherwise) {
  return config.is_object() && config.contains(key) && config[key].is_number_integer() ? config[key].get<int64_t>() : otherwise;
}

}  // namespace hearth
