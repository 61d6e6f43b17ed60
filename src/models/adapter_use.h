// A request's adapter as src/adapters takes it.
#pragma once

#include "adapters/adapters.h"
#include "hearth/hearth.h"
#include "weights/checkpoint.h"

namespace hearth::models {

inline adapters::AdapterUse use_of(const Lora& lora) {
  adapters::AdapterUse use{.path = lora.file, .strength = lora.scale, .text_strength = lora.text_scale.value_or(lora.scale)};
  for (const auto& [pattern, factor] : lora.parts) use.parts.push_back({pattern, factor});
  return use;
}

// The networks of an image checkpoint that adapters may change.
std::vector<adapters::AdaptedNetwork> adapted_networks(const Checkpoint& checkpoint, const std::string& variant);

}  // namespace hearth::models
