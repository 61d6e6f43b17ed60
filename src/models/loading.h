// How a checkpoint is loaded, whatever its family, and what is told of it afterwards.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hearth/progress.h"
#include "weights/checkpoint.h"
#include "weights/weights.h"

namespace hearth::models {

struct LoadRequest {
  std::string variant;                                                           // "fp16": *.fp16.safetensors
  std::optional<WeightTypes> types;                                              // automatic_types() where absent
  std::map<std::string, std::optional<WeightTypes>, std::less<>> types_of_some;  // by component, in place of `types`
  std::map<std::string, Backend*, std::less<>> devices;                          // by component, in place of the model's; they outlive it
  std::filesystem::path cache;                   // folder of packed weights (weights/packed_cache.h); empty: none
  std::function<void(const std::string&)> warn;  // one line: a cache that cannot be used as it is
  OnProgress progress;                           // phase "load", in bytes of all components
  bool when_needed = false;                      // draw() loads what it needs; names and shapes are checked at once
  int64_t memory_limit = 0;                      // bytes that the process may take; 0: no limit. Loads when needed
  const Checkpoint* refiner = nullptr;           // does the last steps; its autoencoder is not used
  std::filesystem::path preview_decoder;         // file or folder of a small autoencoder that makes previews; empty: none

  const std::optional<WeightTypes>& types_of(std::string_view component) const {
    const auto own = types_of_some.find(component);
    return own == types_of_some.end() ? types : own->second;
  }
};

// What a component is for: when a run needs it, and which precision is asked for it.
enum class Role { text_encoder, denoiser, codec, preview };

// A component as it was loaded.
struct ComponentReport {
  std::string name, class_name;           // "unet", "UNet2DConditionModel"
  std::optional<Role> role = {};          // of image models
  std::vector<std::string> files;         // relative to the checkpoint
  std::map<std::string, int64_t> stored;  // type → number of values, as in the files
  std::string held;                       // "f16", or "as stored"
  std::string factors;                    // of its products: "f32" or "bf16"
  std::string device;                     // the backend's name
  // Of all tensors; in memory: neither tables that stay in the file nor what is loaded at its first use.
  int64_t parameters = 0, bytes = 0;
  std::vector<std::string> kept_wider;  // tensors that the type asked for would have spoiled
};

}  // namespace hearth::models
