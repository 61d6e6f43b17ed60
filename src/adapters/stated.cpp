#include "adapters/stated.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace hearth::adapters {
namespace {

using Json = nlohmann::json;

// A pattern names a module by the end of its name; PEFT also accepts regular expressions.
const Json* matching(const AdapterFile& file, const Json& patterns, const std::string& module) {
  if (!patterns.is_object()) return nullptr;
  const Json* found = nullptr;
  for (const auto& [pattern, value] : patterns.items()) {
    if (pattern.find_first_of("*+?[](){}|^$\\") != pattern.npos)
      fail<UnsupportedError>("{}: the pattern '{}' of ranks or alphas, expected names of modules", file.path.string(), pattern);
    const bool fits = module.ends_with(pattern) && (module.size() == pattern.size() || module[module.size() - pattern.size() - 1] == '.');
    if (fits) found = &value;
  }
  return found;
}

const Json* number_in(const Json* value) { return value && value->is_number() ? value : nullptr; }

}  // namespace

void check_stated(const AdapterFile& file) {
  if (!file.stated) return;
  const Json& json = *file.stated;
  if (!json.is_object()) fail<IoError>("{}: its configuration is not an object", file.path.string());
  const auto refuse = [&](const std::string& what) {
    fail<UnsupportedError>("{}: {}, which hearth does not support", file.path.string(), what);
  };
  for (const auto& [key, value] : json.items()) {
    const std::string name = key.substr(key.rfind('.') + 1);
    if (name == "peft_type" && value.is_string() && value != "LORA" && value != "IA3")
      refuse("an adapter of PEFT's type " + value.get<std::string>());
    if (name == "fan_in_fan_out" && value == true) refuse("fan_in_fan_out");
    if (name == "lora_bias" && value == true) refuse("lora_bias");
    if (name == "modules_to_save" && value.is_array() && !value.empty()) refuse("whole modules beside the adapter (modules_to_save)");
    if (name == "bias" && value.is_string() && value != "none") refuse("biases beside the adapter");
  }
}

double stated_scale(const AdapterFile& file, const Module& module, int64_t rank) {
  if (!file.stated) return 1;
  // "unet." of a file with several components; "" of adapter_config.json.
  const std::string component = module.name.substr(0, module.name.find('.') + 1);
  const auto stated = [&](const char* key) -> const Json* {
    for (const std::string& prefix : {component, std::string()})
      if (const auto found = file.stated->find(prefix + key); found != file.stated->end()) return &*found;
    return nullptr;
  };
  const Json* alpha = number_in(stated("lora_alpha"));
  if (const Json* patterns = stated("alpha_pattern"))
    if (const Json* own = number_in(matching(file, *patterns, module.name))) alpha = own;
  if (!alpha) return 1;
  const Json* stabilized = stated("use_rslora");
  const double r = double(rank);
  return alpha->get<double>() / (stabilized && *stabilized == true ? std::sqrt(r) : r);
}

}  // namespace hearth::adapters
