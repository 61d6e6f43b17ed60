// The families that this build knows. A family is a folder here; its entry() is the only thing that it tells the rest.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text_to_image.h"
#include "weights/checkpoint.h"

namespace hearth::models {

// What stands in the way of a component's use: one line, as opening it would throw; empty where nothing does.
struct ComponentCheck {
  std::string component;  // "unet"; "checkpoint" for what concerns several
  std::string problem;
};

struct Entry {
  std::string_view name;                    // "sd1"
  std::string_view summary;                 // one line for `hearth list models`
  std::vector<std::string_view> pipelines;  // the classes in model_index.json that it runs
  // Loads everything; all or nothing. The checkpoint must outlive nothing: what is needed of it is kept.
  std::unique_ptr<TextToImage> (*open)(const Checkpoint& checkpoint, Backend& device, const LoadRequest& request);
  // Builds every component without its numbers: what is missing, misshapen, unread or not supported. Reads headers only.
  std::vector<ComponentCheck> (*check)(const Checkpoint& checkpoint, const std::string& variant);
};

std::span<const Entry> entries();

// The family of a checkpoint, by the pipeline class in its model_index.json. UnsupportedError names the class and those that
// there are.
const Entry& find_family(const Checkpoint& checkpoint);

}  // namespace hearth::models
